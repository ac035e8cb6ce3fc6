// SPDX-License-Identifier: Apache-2.0

// Package agent lets `snug agent` look at real Go processes in real groups that are named
// as a kubelet and a container runtime name them.
package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/snug-go/snug/e2e/internal/cgv1"
	"github.com/snug-go/snug/e2e/internal/gate"
	"github.com/snug-go/snug/e2e/internal/programs"
)

// target is a program that says when it is up, works if it is told to, and ends with its
// standard input.
const target = `package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

var kept []byte

func main() {
	runtime.GC()
	fmt.Println("ready")
	if len(os.Args) > 1 {
		for i := 0; i < 4; i++ {
			go func() {
				for {
					kept = make([]byte, 16<<10)
					for t := time.Now(); time.Since(t) < time.Millisecond; { // collections keep up
					}
				}
			}()
		}
	}
	io.Copy(io.Discard, os.Stdin)
}
`

// pod is a container, and the program in it.
type pod struct {
	uid, id   string
	class     string // "burstable", "besteffort", "" for guaranteed
	quota     int    // microseconds in 100 ms; 0 = none
	memory    int    // MiB; 0 = none
	toolchain string
	line      string
	env       []string
	work      bool
	pid       int
}

func (p *pod) groups() []string {
	path, all := "", []string{}
	for _, part := range []string{"kubepods", p.class, "pod" + p.uid, p.id} {
		if part != "" {
			path += "/" + part
			all = append(all, path)
		}
	}
	return all
}

func (p *pod) path() string { return p.groups()[len(p.groups())-1] }

// pods are some that a node may have.
func pods() map[string]*pod {
	id := func(digit string) string { return strings.Repeat(digit, 64) }
	uid := func(n int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", n) }
	return map[string]*pod{
		"old":   {uid: uid(1), id: id("1"), class: "burstable", quota: 50_000, memory: 256, toolchain: "go1.24.13", line: "1.24", env: []string{"GOMAXPROCS=8"}, work: true},
		"blind": {uid: uid(2), id: id("2"), quota: 100_000, memory: 256, toolchain: "go1.26.8", line: "1.24", env: []string{"GOMEMLIMIT=512MiB"}},
		"plain": {uid: uid(3), id: id("3"), class: "besteffort", toolchain: "go1.26.8", line: "1.26", env: []string{"SECRET=hunter2"}},
	}
}

// start builds the tool and runs all pods, from inside their groups.
func start(t *testing.T, all map[string]*pod) (snug string) {
	t.Helper()
	base := cgv1.New(t, "cpu", "memory")
	groups := map[string]map[string]map[string]string{"cpu": {}, "memory": {}}
	for _, p := range all {
		for _, g := range p.groups() {
			groups["cpu"][g], groups["memory"][g] = map[string]string{}, map[string]string{}
		}
	}
	for _, p := range all {
		if p.quota > 0 {
			groups["cpu"][p.path()]["cpu.cfs_quota_us"] = strconv.Itoa(p.quota)
		}
		if p.memory > 0 {
			groups["memory"][p.path()]["memory.limit_in_bytes"] = strconv.Itoa(p.memory << 20)
		}
	}
	base.Make(t, groups)
	dir := t.TempDir()
	for name, p := range all {
		exe := build(t, filepath.Join(dir, name), p)
		args := []string{exe}
		if p.work {
			args = append(args, "hunter3")
		}
		cmd := base.Command(t, p.path(), args...)
		cmd.SysProcAttr.Pdeathsig = 0 // this thread may end before
		cmd.Env = p.env
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { in.Close(); cmd.Process.Kill(); cmd.Wait() })
		if line, err := bufio.NewReader(out).ReadString('\n'); line != "ready\n" {
			t.Fatalf("%s: %q, %v", name, line, err)
		}
		p.pid = cmd.Process.Pid
	}
	snug = filepath.Join(dir, "snug")
	if err := programs.BuildTool(programs.Root(t), snug); err != nil {
		t.Fatal(err)
	}
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	return snug
}

// build builds a pod's program, stripped.
func build(t *testing.T, dir string, p *pod) string {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"main.go": target, "go.mod": "module server\n\ngo " + p.line + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	exe := filepath.Join(dir, "server")
	cmd := exec.Command("go", "build", "-ldflags", "-s -w", "-o", exe, ".")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false", "CGO_ENABLED=0", "GOTOOLCHAIN="+p.toolchain)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return exe
}

// node is what of the document is asked for here.
type node struct {
	Kind       string
	Memory     bool `json:"memory_read"`
	Lost       []string
	Interval   *float64 `json:"interval_seconds"`
	Scan       struct{ Processes, GoProcesses int }
	Containers []container
	Skipped    []struct {
		Reason string
		Count  int
	}
}

func (c container) String() string {
	text, _ := json.Marshal(c)
	return string(text)
}

type container struct {
	Unit        *string
	PodUID      *string  `json:"pod_uid"`
	ID          *string  `json:"container_id"`
	Class       *string  `json:"qos_class"`
	Quota       *float64 `json:"quota_cores"`
	Throttled   *float64 `json:"throttled_ratio"`
	MemoryLimit *int64   `json:"memory_limit_bytes"`
	Memory      *int64   `json:"memory_bytes"`
	OOMKills    *int64   `json:"oom_kills"`
	Processes   []struct {
		PID      int
		Name     string
		Go       *string           `json:"go_version"`
		Line     *string           `json:"go_line"`
		Aware    *bool             `json:"container_aware"`
		Defaults map[string]string `json:"godebug_defaults"`
		Procs    *int              `json:"gomaxprocs"`
		By       *string           `json:"gomaxprocs_source"`
		Limit    *int64            `json:"gomemlimit_bytes"`
		Used     *float64          `json:"used_cores"`
		GC       *float64          `json:"gc_per_minute"`
		Findings []struct{ ID, Severity, Fix string }
	}
}

func (n *node) of(t *testing.T, p *pod) container {
	t.Helper()
	i := slices.IndexFunc(n.Containers, func(c container) bool {
		return c.PodUID != nil && *c.PodUID == p.uid && c.ID != nil && *c.ID == p.id
	})
	if i < 0 {
		t.Fatalf("pod %s, pid %d, is not among %d containers; passed over: %+v\n%+v", p.uid, p.pid, len(n.Containers), n.Skipped, n.Containers)
	}
	c := n.Containers[i]
	if len(c.Processes) != 1 || c.Processes[0].PID != p.pid || c.Processes[0].Name != "server" {
		t.Fatalf("pod %s: %+v", p.uid, c)
	}
	return c
}

func (c *container) finds(id string) bool {
	return slices.ContainsFunc(c.Processes[0].Findings, func(f struct{ ID, Severity, Fix string }) bool { return f.ID == id })
}

// is compares what may be nil.
func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

func decode(t *testing.T, text []byte) *node {
	t.Helper()
	var n node
	if err := json.Unmarshal(text, &n); err != nil || n.Kind != "agent" {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, secret := range []string{"hunter2", "hunter3", "SECRET"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the document has %s", secret)
		}
	}
	return &n
}

// TestOnce: each pod with its limits, its Go and what is wrong.
func TestOnce(t *testing.T) {
	gate.Root(t, "root")
	all := pods()
	snug := start(t, all)
	for _, c := range []struct {
		name string
		args []string
	}{{"this machine's cgroups", nil}, {"another place's", []string{"--root", bindCgroups(t)}}} {
		t.Run(c.name, func(t *testing.T) {
			out, err := exec.Command(snug, append([]string{"agent", "--once", "--json"}, c.args...)...).Output()
			if err != nil {
				t.Fatal(err)
			}
			n := decode(t, out)
			if !n.Memory || len(n.Lost) > 0 || n.Interval != nil {
				t.Errorf("%s", out)
			}
			judge(t, n, all)
		})
	}
	t.Run("without memory", func(t *testing.T) {
		out, err := exec.Command(snug, "agent", "--once", "--json", "--no-mem").Output()
		if err != nil {
			t.Fatal(err)
		}
		n := decode(t, out)
		if n.Memory || len(n.Lost) == 0 {
			t.Errorf("%s", out)
		}
		c := n.of(t, all["old"])
		if p := c.Processes[0]; !is(p.Procs, 8) || !is(p.By, "environment") || !is(c.Quota, 0.5) {
			t.Errorf("%+v", c)
		}
		if p := n.of(t, all["plain"]).Processes[0]; p.Procs != nil || !is(p.Aware, true) {
			t.Errorf("%+v", p)
		}
	})
	t.Run("as text", func(t *testing.T) {
		out, err := exec.Command(snug, "agent", "--once").Output()
		if err != nil {
			t.Fatal(err)
		}
		if text := string(out); !strings.Contains(text, "pod 00000000-000/111111111111") || !strings.Contains(text, "GOMEMLIMIT") || strings.Contains(text, "hunter") {
			t.Errorf("%s", text)
		}
	})
}

// judge compares what was found with what the pods are.
func judge(t *testing.T, n *node, all map[string]*pod) {
	t.Helper()
	old := n.of(t, all["old"])
	switch p := old.Processes[0]; {
	case !is(old.Class, "Burstable"), !is(old.Quota, 0.5), !is(old.MemoryLimit, 256<<20), !is(old.OOMKills, 0), old.Memory == nil:
		t.Errorf("old, the container: %+v", old)
	case !is(p.Go, "go1.24.13"), !is(p.Line, "1.24"), !is(p.Aware, false), !is(p.Procs, 8), !is(p.By, "environment"), p.Limit != nil:
		t.Errorf("old, the process: %+v", p)
	case !old.finds("gomemlimit-missing"):
		t.Errorf("old, the findings: %+v", p.Findings)
	}
	blind := n.of(t, all["blind"])
	switch p := blind.Processes[0]; {
	case !is(blind.Class, "Guaranteed"), !is(blind.Quota, 1):
		t.Errorf("blind, the container: %+v", blind)
	case !is(p.Go, "go1.26.8"), !is(p.Line, "1.24"), !is(p.Aware, false), p.Defaults["containermaxprocs"] != "0", !is(p.By, "host"), !is(p.Limit, 512<<20):
		t.Errorf("blind, the process: %+v", p)
	case !blind.finds("gomemlimit-above-limit"):
		t.Errorf("blind, the findings: %+v", p.Findings)
	}
	plain := n.of(t, all["plain"])
	switch p := plain.Processes[0]; {
	case !is(plain.Class, "BestEffort"), plain.Quota != nil, plain.MemoryLimit != nil, plain.Throttled != nil:
		t.Errorf("plain, the container: %+v", plain)
	case !is(p.Line, "1.26"), !is(p.Aware, true), len(p.Defaults) > 0, !is(p.By, "runtime"), p.Limit != nil, len(p.Findings) > 0:
		t.Errorf("plain, the process: %+v", p)
	}
}

// bindCgroups mounts this machine's cgroup file systems at another place, as a hostPath
// volume has them.
func bindCgroups(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	at := filepath.Join(root, "sys/fs/cgroup")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("/sys/fs/cgroup", at, "", syscall.MS_BIND|syscall.MS_REC|syscall.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(at, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mount("", at, "", syscall.MS_PRIVATE|syscall.MS_REC, ""); err != nil {
		t.Fatal(err)
	}
	return root
}

// served is a running agent.
type served struct {
	url string
	cmd *exec.Cmd
}

// serve starts an agent at a port that is free.
func serve(t *testing.T, snug string, args ...string) *served {
	t.Helper()
	cmd := exec.Command(snug, append([]string{"agent", "--listen", "127.0.0.1:0"}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	m := regexp.MustCompile(`listening on (127\.0\.0\.1:\d+)`).FindStringSubmatch(line)
	if m == nil {
		t.Fatalf("%q, %v", line, err)
	}
	go io.Copy(io.Discard, lines)
	return &served{"http://" + m[1], cmd}
}

// get is an answer's code and body.
func (s *served) get(t *testing.T, path string) (int, []byte) {
	t.Helper()
	r, err := http.Get(s.url + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, text
}

// patience is how long something is waited for that takes a few seconds.
const patience = time.Minute

// until waits until f is true.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !f(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatal("not in time: " + what)
		}
	}
}

// TestServes: the same over HTTP, scan after scan, until it is told to end.
func TestServes(t *testing.T) {
	gate.Root(t, "root")
	all := pods()
	s := serve(t, start(t, all), "--interval", "1s")
	until(t, "healthy", func() bool { code, _ := s.get(t, "/healthz"); return code == http.StatusOK })
	var n *node
	until(t, "an interval in which the old one worked", func() bool {
		_, text := s.get(t, "/findings")
		n = decode(t, text)
		c := n.of(t, all["old"])
		return n.Interval != nil && c.Throttled != nil && *c.Throttled > 0.2 && c.Processes[0].Used != nil && c.Processes[0].GC != nil && *c.Processes[0].GC > 0
	})
	judge(t, n, all)
	if c := n.of(t, all["old"]); !c.finds("stale-procs") {
		t.Errorf("8 Ps at half a core, throttled: %+v", c.Processes[0].Findings)
	}
	for _, path := range []string{"/nothing", "/debug/pprof/"} {
		if code, _ := s.get(t, path); code != http.StatusNotFound {
			t.Errorf("%s: %d", path, code)
		}
	}
	if err := syscall.Kill(all["plain"].pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "without the one that has ended", func() bool {
		_, text := s.get(t, "/findings")
		return !bytes.Contains(text, []byte(all["plain"].uid))
	})
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("it ended: %v", err)
	}
}
