// SPDX-License-Identifier: Apache-2.0

package debian

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// newer are programs of later Debians, built with Go 1.24 to 1.27, some with both modules. Debian
// builds without go.mod, so none of them follows its quota, regardless of its Go (GODEBUG
// containermaxprocs=0). Names are suite/package.
var newer = []server{
	{
		name: "trixie-prometheus", file: "trixie/prometheus/usr/bin/prometheus", own: prometheusOwn,
		args: prometheus("--enable-feature=auto-gomaxprocs,auto-gomemlimit"), automaxprocs: true, automemlimit: true,
	},
	{name: "trixie-nats-server", file: "trixie/nats-server/usr/sbin/nats-server", args: nats, own: natsSays, automaxprocs: true},
	{name: "sid-prometheus", file: "sid/prometheus/usr/bin/prometheus", args: prometheus(), own: prometheusOwn, automaxprocs: true, automemlimit: true},
	{name: "sid-caddy", file: "sid/caddy/usr/bin/caddy", args: caddy, own: caddyOwn, automaxprocs: true, automemlimit: true},
	{name: "sid-node_exporter", file: "sid/prometheus-node-exporter/usr/bin/prometheus-node-exporter", args: nodeExporter, own: collected, sets: "main.main"},
	{name: "sid-etcd", file: "sid/etcd-server/usr/bin/etcd", args: etcd, own: said(`ready to serve client requests`, `"max-cpu-set":(\d+)`)},
}

// TestByItselfNewer is TestByItself for programs that this machine's Debian does not have. They are
// unpacked, not installed, and kept in the user's cache directory.
func TestByItselfNewer(t *testing.T) {
	gate.Root(t, "go")
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "snug-debian")
	fetch(t, dir)
	snug := filepath.Join(t.TempDir(), "snug")
	if err := programs.BuildTool(programs.Root(t), snug); err != nil {
		t.Fatal(err)
	}
	byItself(t, snug, newer, func(_ *testing.T, s *server) string { return filepath.Join(dir, s.file) })
}

// fetch gets the packages of newer, each into dir/suite/package. It runs apt with a state of its
// own and the archive of this machine's sources.
func fetch(t *testing.T, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*hang)
	defer cancel()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	work, err := os.MkdirTemp(dir, "fetch-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(work)
	run := func(dir string, args ...string) string {
		t.Helper()
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return string(out)
	}
	var apt []string
	for i := range newer {
		suite, rest, _ := strings.Cut(newer[i].file, "/")
		name, _, _ := strings.Cut(rest, "/")
		to := filepath.Join(dir, suite, name)
		if _, err := os.Stat(to); err == nil {
			continue
		}
		if apt == nil {
			archive, _, _ := strings.Cut(run(work, "apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Label: Debian"), "\n")
			sources := ""
			for _, s := range []string{"trixie", "sid"} {
				sources += fmt.Sprintf("deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n", archive, s)
			}
			for _, o := range []string{
				"Dir::Etc::sourcelist=" + write(t, work, "sources.list", sources), "Dir::Etc::sourceparts=-", "APT::Sandbox::User=root",
				"Dir::State=" + work, "Dir::State::status=/dev/null", "Dir::Cache=" + work, "Acquire::Languages=none",
			} {
				apt = append(apt, "-o", o)
			}
			run(work, append([]string{"apt-get", "update", "-qq"}, apt...)...)
		}
		at := filepath.Join(work, suite+"-"+name)
		if err := os.Mkdir(at, 0o755); err != nil {
			t.Fatal(err)
		}
		run(at, append(append([]string{"apt-get", "download", "-qq"}, apt...), name+"/"+suite)...)
		debs, _ := filepath.Glob(filepath.Join(at, "*.deb"))
		if len(debs) != 1 {
			t.Fatalf("%d packages of %s in %s", len(debs), name, suite)
		}
		run(at, "dpkg-deb", "-x", debs[0], "root")
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		// Renamed into place, so that a partial tree is never used.
		if err := os.Rename(filepath.Join(at, "root"), to); err != nil && !os.IsExist(err) {
			t.Fatal(err)
		}
	}
}

func caddy(t *testing.T, dir, address string) []string {
	return []string{"run", "--config", write(t, dir, "caddy.json", fmt.Sprintf(`{"admin": {"listen": %q, "origins": [%q]}}`, address, address))}
}

// caddyOwn waits until the log shows that automaxprocs was called.
func caddyOwn(r *running, dir, address string) (map[string]string, error) {
	if _, err := said(`maxprocs: `, `maxprocs: \w+ GOMAXPROCS=\D*(\d+)`)(r, dir, address); err != nil {
		return nil, err
	}
	return collected(r, dir, address)
}

// collected returns the figures of the Go collector on a program's /metrics.
func collected(_ *running, _, address string) (map[string]string, error) {
	text, err := get("http://" + address + "/metrics")
	if err != nil {
		return nil, err
	}
	page := string(text)
	return map[string]string{"GOMAXPROCS": metric(page, "go_sched_gomaxprocs_threads"), "GOMEMLIMIT": metric(page, "go_gc_gomemlimit_bytes")}, nil
}
