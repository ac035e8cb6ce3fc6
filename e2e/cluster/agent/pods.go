// SPDX-License-Identifier: Apache-2.0

// Package agent runs `snug agent` on real Go processes in real cgroups, named as a kubelet and
// a container runtime name them.
package agent

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/e2e/internal/figures"
)

// target is a program that prints ready and ends with its standard input. By its argument it
// also works, uses CPU time first, or first runs a child that is OOM-killed.
const target = `package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

var kept []byte

func main() {
	runtime.GC()
	word := ""
	if len(os.Args) > 1 {
		word = os.Args[1]
	}
	switch word {
	case "fill":
		for all := [][]byte{}; ; {
			all = append(all, make([]byte, 4<<20))
			for i := 0; i < 4<<20; i += 4096 {
				all[len(all)-1][i] = 1
			}
		}
	case "think":
		for used() < 2*time.Second {
		}
	case "spend":
		if err := exec.Command(os.Args[0], "fill").Run(); err == nil || err.Error() != "signal: killed" {
			fmt.Println("its child:", err)
			return
		}
	}
	fmt.Println("ready")
	if word == "hunter3" {
		work()
	}
	io.Copy(io.Discard, os.Stdin)
}

// used is the CPU time of this process, which a busy machine gives slowly.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func work() {
	for i := 0; i < 4; i++ {
		go func() {
			for {
				kept = make([]byte, 64<<10) // about one collection per second, at its quota
				for t := time.Now(); time.Since(t) < time.Millisecond; { // so that collections keep up
				}
			}
		}()
	}
}
`

// pod is a container and its program.
type pod struct {
	uid, id   string
	class     string // "burstable", "besteffort", "" for guaranteed
	prefix    string // of the container's scope with the driver systemd; "" = the driver cgroupfs
	inner     string // a group that the runtime makes in the container; "" = none
	quota     int    // microseconds in 100 ms; 0 = none
	memory    int    // MiB; 0 = none
	toolchain string // "" = nothing runs in it
	line      string
	env       []string
	args      []string
	pid       int
}

// groups returns the groups of the pod, the outermost first.
// Source: k8s.io/kubernetes pkg/kubelet/cm, cgroup_manager_linux.go, ToSystemd and ToCgroupfs.
func (p *pod) groups() []string {
	parts := []string{"kubepods", p.class, "pod" + p.uid, p.id}
	if p.prefix != "" {
		above := "kubepods"
		parts = []string{"kubepods.slice"}
		if p.class != "" {
			above += "-" + p.class
			parts = append(parts, above+".slice")
		}
		parts = append(parts, above+"-pod"+strings.ReplaceAll(p.uid, "-", "_")+".slice", p.prefix+"-"+p.id+".scope")
	}
	path, all := "", []string{}
	for _, part := range append(parts, p.inner) {
		if part != "" {
			path += "/" + part
			all = append(all, path)
		}
	}
	return all
}

func (p *pod) path() string { return p.groups()[len(p.groups())-1] }

// limited returns the group that has the limits.
func (p *pod) limited() string { return strings.TrimSuffix(p.path(), "/"+p.inner) }

// run returns the prefix of the UIDs of this process's pods; a concurrent run has another.
func run() string { return fmt.Sprintf("%08x-0000-4000-8000", os.Getpid()) }

// named gives a pod a unique UID and id.
func named(n int, p *pod) *pod {
	p.uid = fmt.Sprintf("%s-%012d", run(), n)
	sum := sha256.Sum256([]byte(p.uid))
	p.id = hex.EncodeToString(sum[:])
	return p
}

// pods returns typical pods of a node. The quota of old is so small that it is always
// throttled.
func pods() map[string]*pod {
	return map[string]*pod{
		"old":   named(1, &pod{class: "burstable", quota: 10_000, memory: 256, toolchain: "go1.24.13", line: "1.24", env: []string{"GOMAXPROCS=8"}, args: []string{"hunter3"}}),
		"blind": named(2, &pod{quota: 100_000, memory: 256, toolchain: "go1.26.8", line: "1.24", env: []string{"GOMEMLIMIT=512MiB"}}),
		"plain": named(3, &pod{class: "besteffort", toolchain: "go1.26.8", line: "1.26", env: []string{"SECRET=hunter2"}, args: []string{"think"}}), // otherwise the collection at its start would be most of its CPU time
		"spent": named(4, &pod{class: "burstable", quota: 200_000, memory: 48, toolchain: "go1.26.8", line: "1.26", args: []string{"spend"}}),
	}
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

// node is the part of the document that the tests check.
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
	Unit      *string
	PodUID    *string `json:"pod_uid"`
	ID        *string `json:"container_id"`
	Runtime   *string
	Class     *string  `json:"qos_class"`
	Quota     *float64 `json:"quota_cores"`
	Throttled *float64 `json:"throttled_ratio"`
	Periods   *int64

	ThrottledSeconds *float64 `json:"throttled_seconds"`

	MemoryLimit *int64 `json:"memory_limit_bytes"`
	Memory      *int64 `json:"memory_bytes"`
	OOMKills    *int64 `json:"oom_kills"`
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
		t.Fatalf("pod %s, pid %d, is not among %d containers; skipped: %+v\n%+v", p.uid, p.pid, len(n.Containers), n.Skipped, n.Containers)
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

// is reports whether p is not nil and *p is want.
func is[T comparable](p *T, want T) bool { return p != nil && *p == want }

func decode(t *testing.T, text []byte) *node {
	t.Helper()
	var n node
	if err := figures.Unmarshal(text, &n); err != nil || n.Kind != "agent" {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, secret := range []string{"hunter2", "hunter3", "SECRET"} {
		if bytes.Contains(text, []byte(secret)) {
			t.Errorf("the document has %s", secret)
		}
	}
	return &n
}

// judge compares the document with the pods.
func judge(t *testing.T, n *node, all map[string]*pod) {
	t.Helper()
	old := n.of(t, all["old"])
	switch p := old.Processes[0]; {
	case !is(old.Class, "Burstable"), !is(old.Quota, 0.1), !is(old.MemoryLimit, 256<<20), !is(old.OOMKills, 0), old.Memory == nil:
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
	spent := n.of(t, all["spent"])
	if !is(spent.OOMKills, 1) || !is(spent.MemoryLimit, 48<<20) || !is(spent.Quota, 2) || !spent.finds("oom-kills") {
		t.Errorf("spent: %+v", spent)
	}
}
