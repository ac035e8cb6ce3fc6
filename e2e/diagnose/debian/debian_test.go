// SPDX-License-Identifier: Apache-2.0

// Package debian reads programs from outside, as Debian ships them: stripped and built by others.
// It compares snug's figures with those that the programs report of themselves.
package debian

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/figures"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// process is a line of `snug ps --json`.
type process struct {
	Exe        string  `json:"exe"`
	Go         string  `json:"go_version"`
	Procs      *int    `json:"gomaxprocs"`
	By         *string `json:"gomaxprocs_source"`
	GOGC       *int    `json:"gogc_percent"`
	GOMEMLIMIT *int64  `json:"gomemlimit_bytes"`
	Goal       *int64  `json:"heap_goal_bytes"`
	Cycles     *int64  `json:"collections"`
	Unknown    []struct{ Field, Why string }
}

// ps returns the figures of a process. It returns an error while a figure is unknown or the process
// is not a Go process, because a process that has just started may still change.
func ps(snug string, pid int) (process, error) {
	r, out, err := look(snug, pid)
	if err == nil && (r.Procs == nil || r.By == nil || r.GOGC == nil || r.Cycles == nil || r.Goal == nil || len(r.Unknown) > 0) {
		err = fmt.Errorf("unknown figures: %s", out)
	}
	return r, err
}

// look returns the figures of a process, and the document.
func look(snug string, pid int) (process, []byte, error) {
	var stderr bytes.Buffer
	cmd := exec.Command(snug, "ps", "--json", strconv.Itoa(pid))
	cmd.Env = append(os.Environ(), "XDG_CACHE_HOME="+filepath.Dir(snug))
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var d struct{ Processes []process }
	if err == nil {
		err = figures.Unmarshal(out, &d)
	}
	if err != nil || len(d.Processes) != 1 {
		return process{}, out, fmt.Errorf("%v\n%s%s", err, out, &stderr)
	}
	return d.Processes[0], out, nil
}

// start runs a program until the test ends. Of Go's variables, its environment has only env.
func start(t *testing.T, env []string, name string, args ...string) int {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v: install the packages of e2e/packages.txt", err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = 10 * time.Second // a container's process may keep the pipes open
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
		}
		if t.Failed() {
			t.Logf("output of %s:\n%s", name, said.String())
		}
	})
	return cmd.Process.Pid
}

// free returns an unused address on a loopback host of this process's own. On 127.0.0.1, another
// test could take the port first.
func free(t *testing.T) string {
	t.Helper()
	pid := os.Getpid()
	l, err := net.Listen("tcp", fmt.Sprintf("127.%d.%d.%d:0", 1+pid>>16, pid>>8&0xff, pid&0xff))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// metric returns a figure of a program's own /metrics.
func metric(page, name string) string {
	if m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` (\S+)$`).FindStringSubmatch(page); m != nil {
		return m[1]
	}
	return "nothing"
}

func metrics(address string) (string, error) {
	r, err := http.Get("http://" + address + "/metrics")
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return string(text), err
}

// hang bounds every wait.
const hang = 3 * time.Minute

// until calls f until it returns no error.
func until(t *testing.T, what string, f func() error) {
	t.Helper()
	for late := time.Now().Add(hang); ; time.Sleep(100 * time.Millisecond) {
		err := f()
		if err == nil {
			return
		}
		if time.Now().After(late) {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

func tool(t *testing.T) string {
	t.Helper()
	gate.Root(t, "debian")
	snug := filepath.Join(t.TempDir(), "snug")
	if err := programs.BuildTool(programs.Root(t), snug); err != nil {
		t.Fatal(err)
	}
	return snug
}

// TestOwnMetrics: snug's figures of etcd and prometheus equal those on their own pages.
func TestOwnMetrics(t *testing.T) {
	snug := tool(t)
	for _, c := range []struct {
		name  string
		env   []string
		args  func(dir, address string) []string
		procs int
		by    string
		gogc  int
		limit int64 // 0 = none
	}{
		{"etcd", []string{"GOMAXPROCS=4", "GOMEMLIMIT=300MiB"}, func(dir, address string) []string {
			peer := "http://" + free(t)
			return []string{
				"--data-dir", dir, "--listen-client-urls", "http://" + address, "--advertise-client-urls", "http://" + address,
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
			}
		}, 4, "environment", 100, 300 << 20},
		{"prometheus", []string{"GOGC=75", "GOMAXPROCS=3"}, func(dir, address string) []string {
			config := filepath.Join(dir, "prometheus.yml")
			if err := os.WriteFile(config, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			return []string{"--config.file", config, "--storage.tsdb.path", dir, "--web.listen-address", address}
		}, 3, "environment", 75, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			address := free(t)
			pid := start(t, c.env, c.name, c.args(t.TempDir(), address)...)
			until(t, "its own metrics", func() error { _, err := metrics(address); return err })
			// A collection between the two reads changes both figures: then read again.
			until(t, "the same figures", func() error {
				page, err := metrics(address)
				if err != nil {
					return err
				}
				r, err := ps(snug, pid)
				if err != nil {
					return err
				}
				if *r.Procs != c.procs || *r.By != c.by || *r.GOGC != c.gogc ||
					c.limit == 0 && r.GOMEMLIMIT != nil || c.limit != 0 && (r.GOMEMLIMIT == nil || *r.GOMEMLIMIT != c.limit) {
					t.Fatalf("%+v", r)
				}
				if own := `go_info{version="` + r.Go + `"}`; metric(page, own) != "1" {
					t.Fatalf("its metrics lack %s", own)
				}
				goal, err := strconv.ParseFloat(metric(page, "go_memstats_next_gc_bytes"), 64)
				if err != nil {
					return err
				}
				if count := metric(page, "go_gc_duration_seconds_count"); count != strconv.FormatInt(*r.Cycles, 10) || int64(goal) != *r.Goal {
					return fmt.Errorf("collections %d and goal %d, its metrics have %s and %v", *r.Cycles, *r.Goal, count, goal)
				}
				return nil
			})
		})
	}
}

// TestDaemons: programs that report no figures, linked by C linkers.
func TestDaemons(t *testing.T) {
	snug := tool(t)
	dir := t.TempDir()
	socket := filepath.Join(dir, "containerd.sock")
	look := func(pid int, env map[string]string) {
		t.Helper()
		until(t, "figures", func() error {
			r, err := ps(snug, pid)
			if err != nil {
				return err
			}
			procs, _ := strconv.Atoi(env["GOMAXPROCS"])
			gogc, _ := strconv.Atoi(env["GOGC"])
			if *r.Procs != procs || *r.By != "environment" || *r.GOGC != gogc || !strings.HasPrefix(r.Go, "go1.") {
				t.Fatalf("%s: GOMAXPROCS %d by %s, GOGC %d, %s; want %v", r.Exe, *r.Procs, *r.By, *r.GOGC, r.Go, env)
			}
			return nil
		})
	}
	pid := start(t, []string{"GOMAXPROCS=3", "GOGC=55"}, "containerd", "--root", filepath.Join(dir, "root"), "--state", filepath.Join(dir, "state"), "--address", socket)
	look(pid, map[string]string{"GOMAXPROCS": "3", "GOGC": "55"})
	until(t, "containerd's socket", func() error { _, err := os.Stat(socket); return err })
	pid = start(t, []string{"GOMAXPROCS=5", "GOGC=66"}, "dockerd", "--containerd", socket, "--iptables=false", "--ip6tables=false", "--bridge=none",
		"--data-root", filepath.Join(dir, "docker"), "--exec-root", filepath.Join(dir, "exec"), "--pidfile", filepath.Join(dir, "pid"), "-H", "unix://"+filepath.Join(dir, "docker.sock"))
	look(pid, map[string]string{"GOMAXPROCS": "5", "GOGC": "66"})
}
