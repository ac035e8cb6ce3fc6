// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// server is a program, and how to get its own figures.
type server struct {
	name, file string
	args       func(t *testing.T, dir, address string) []string
	// own returns GOMAXPROCS and GOMEMLIMIT as the program itself reports them, if it does. It
	// returns an error until the program serves.
	own func(r *running, dir, address string) (map[string]string, error)
	// automaxprocs: with these arguments it calls automaxprocs.
	automaxprocs bool
	// automemlimit: it is linked, and called with these arguments.
	automemlimit bool
	// sets is the program's own function that sets GOMAXPROCS; "" = none.
	sets string
}

// servers are programs of this Debian, linked by different linkers, with and without code that sets
// GOMAXPROCS. All are stripped.
var servers = []server{
	{name: "prometheus", file: "prometheus", args: prometheus(), own: prometheusOwn},
	{name: "prometheus-auto", file: "prometheus", args: prometheus("--enable-feature=auto-gomaxprocs"), own: prometheusOwn, automaxprocs: true},
	{name: "nats-server", file: "nats-server", args: nats, own: natsSays, automaxprocs: true},
	{name: "etcd", file: "etcd", args: etcd, own: said(`ready to serve client requests`, `setting maximum number of CPUs to (\d+)`)},
	{name: "containerd", file: "containerd", args: containerd, own: containerdServes},
	{name: "influxd", file: "influxd", args: influxd, own: said(`Listening for signals`, ` maxprocs=(\d+)`)},
	{name: "node_exporter", file: "prometheus-node-exporter", args: nodeExporter, own: said(`Listening on`, `msg="Go MAXPROCS" procs=(\d+)`), sets: "main.main"},
	{name: "victoria-metrics", file: "victoria-metrics", args: func(_ *testing.T, dir, address string) []string {
		return []string{"-storageDataPath", dir, "-httpListenAddr", address}
	}, own: victoriaOwn, sets: "github.com/VictoriaMetrics/VictoriaMetrics/lib/cgroup.updateGOMAXPROCSToCPUQuota"},
}

// get returns the body of a page.
func get(url string) ([]byte, error) {
	r, err := http.Get(url)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, r.Status)
	}
	return io.ReadAll(r.Body)
}

// write writes a file for a program and returns its name.
func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// said returns a function that finds GOMAXPROCS in the log that a program writes at start.
func said(serves, procs string) func(r *running, _, _ string) (map[string]string, error) {
	word := regexp.MustCompile(procs)
	return func(r *running, _, _ string) (map[string]string, error) {
		text := r.said()
		m := word.FindStringSubmatch(text)
		if m == nil || !strings.Contains(text, serves) {
			return nil, errors.New("not in its log yet")
		}
		return map[string]string{"GOMAXPROCS": m[1]}, nil
	}
}

func prometheus(flags ...string) func(t *testing.T, dir, address string) []string {
	return func(t *testing.T, dir, address string) []string {
		config := write(t, dir, "prometheus.yml", "")
		return append(flags[:len(flags):len(flags)], "--config.file", config, "--storage.tsdb.path", dir, "--web.listen-address", address)
	}
}

func prometheusOwn(_ *running, _, address string) (map[string]string, error) {
	text, err := get("http://" + address + "/api/v1/status/runtimeinfo")
	if err != nil {
		return nil, err
	}
	var d struct {
		Data struct{ GOMAXPROCS, GOMEMLIMIT *json.Number }
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	own := map[string]string{}
	for name, n := range map[string]*json.Number{"GOMAXPROCS": d.Data.GOMAXPROCS, "GOMEMLIMIT": d.Data.GOMEMLIMIT} {
		if n != nil {
			own[name] = n.String()
		}
	}
	if own["GOMAXPROCS"] == "" {
		return nil, fmt.Errorf("no GOMAXPROCS: %s", text)
	}
	return own, nil
}

var natsSays = said(`maxprocs: `, `maxprocs: \w+ GOMAXPROCS="?(\d+)`)

// nats also has a page /varz, but its GOMAXPROCS is the one before automaxprocs.
func nats(t *testing.T, dir, address string) []string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	// The port -1 lets it choose a free one.
	return []string{"-D", "-a", host, "-p", "-1", "-m", port, "-sd", dir}
}

func etcd(t *testing.T, dir, address string) []string {
	client, peer := "http://"+address, "http://"+free(t)
	return []string{
		"--data-dir", dir, "--listen-client-urls", client, "--advertise-client-urls", client,
		"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
	}
}

func containerd(_ *testing.T, dir, _ string) []string {
	return []string{"--root", filepath.Join(dir, "root"), "--state", filepath.Join(dir, "state"), "--address", filepath.Join(dir, "socket")}
}

// containerdServes only waits for the socket: containerd does not report its figures.
func containerdServes(_ *running, dir, _ string) (map[string]string, error) {
	c, err := net.Dial("unix", filepath.Join(dir, "socket"))
	if err != nil {
		return nil, err
	}
	return nil, c.Close()
}

func influxd(t *testing.T, dir, address string) []string {
	return []string{"-config", write(t, dir, "influxdb.conf", fmt.Sprintf(`reporting-disabled = true
bind-address = %q
[meta]
dir = %q
[data]
dir = %q
wal-dir = %q
[http]
bind-address = %q
`, free(t), filepath.Join(dir, "meta"), filepath.Join(dir, "data"), filepath.Join(dir, "wal"), address))}
}

func nodeExporter(_ *testing.T, _, address string) []string {
	return []string{"--log.level=debug", "--web.listen-address", address}
}

func victoriaOwn(_ *running, _, address string) (map[string]string, error) {
	page, err := metrics(address)
	if err != nil {
		return nil, err
	}
	return map[string]string{"GOMAXPROCS": metric(page, "go_gomaxprocs")}, nil
}
