// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
)

// server is a program, and how to make it tell what it uses.
type server struct {
	name, file string
	args       func(t *testing.T, dir, address string) []string
	// own are GOMAXPROCS and GOMEMLIMIT by the program's own word, those of them that it
	// tells; an error while it does not serve.
	own func(address, said string) (map[string]string, error)
	// automaxprocs: as it is started here it calls automaxprocs.
	automaxprocs bool
}

var servers = []server{
	{name: "prometheus", file: "prometheus", args: prometheus(), own: prometheusOwn},
	{name: "prometheus-auto", file: "prometheus", args: prometheus("--enable-feature=auto-gomaxprocs"), own: prometheusOwn, automaxprocs: true},
}

// answer is the body of a page.
func answer(url string) ([]byte, error) {
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

func prometheus(flags ...string) func(t *testing.T, dir, address string) []string {
	return func(t *testing.T, dir, address string) []string {
		config := filepath.Join(dir, "prometheus.yml")
		if err := os.WriteFile(config, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		return append(flags, "--config.file", config, "--storage.tsdb.path", dir, "--web.listen-address", address)
	}
}

func prometheusOwn(address, _ string) (map[string]string, error) {
	text, err := answer("http://" + address + "/api/v1/status/runtimeinfo")
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
