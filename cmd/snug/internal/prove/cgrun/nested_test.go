// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A nest is a group of the caller, made for a test, with limits of its own. On v2 the
// caller is in a leaf of it, because a group with processes cannot enable controllers
// for its children.
type nest struct {
	enter string // directories for as-into
	v1    bool
	cpu   string // directory of the limiting group
	mem   string
	leaf  string // v2 only
}

func makeNest(t *testing.T) nest {
	t.Helper()
	cgroup, _ := os.ReadFile("/proc/self/cgroup")
	mounts, _ := os.ReadFile("/proc/self/mountinfo")
	dir := func(controller string) (string, bool) {
		h, err := findHierarchy(os.DirFS("/"), string(cgroup), string(mounts), controller)
		if err != nil {
			t.Fatal(err)
		}
		return h.dir(), h.v1
	}
	cpu, v1 := dir("cpu")
	mem, mem1 := dir("memory")
	if v1 != mem1 {
		t.Fatal("a machine with controllers split between v1 and v2 is not covered")
	}
	mkdir := func(name string) string {
		t.Helper()
		if err := os.Mkdir(name, 0o755); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { // the last process may have just ended
			until(t, "the end of "+name, func() bool { err := os.Remove(name); return err == nil || os.IsNotExist(err) })
		})
		return name
	}
	name := "outer-of-test-" + strconv.Itoa(os.Getpid()) // another run makes its own
	n := nest{v1: v1, cpu: mkdir(filepath.Join(cpu, name))}
	n.mem = n.cpu
	if mem != cpu {
		n.mem = mkdir(filepath.Join(mem, name))
	}
	n.enter = n.cpu + "," + n.mem
	if !v1 {
		n.set(t, n.cpu, "cgroup.subtree_control", "+cpu +memory")
		n.leaf = mkdir(filepath.Join(n.cpu, "leaf"))
		n.enter = n.leaf
	}
	return n
}

func (n nest) set(t *testing.T, dir, name, value string) {
	t.Helper()
	if err := write(dir, name, value); err != nil {
		t.Fatal(err)
	}
}

// limit limits the caller.
func (n nest) limit(t *testing.T, cpuDir, memDir string) {
	t.Helper()
	if n.v1 {
		n.set(t, cpuDir, "cpu.cfs_quota_us", "30000")
		n.set(t, memDir, "memory.limit_in_bytes", "67108864")
	} else {
		n.set(t, cpuDir, "cpu.max", "30000 100000")
		n.set(t, memDir, "memory.max", "67108864")
	}
}

func TestCallersTighterLimitIsReported(t *testing.T) {
	needRoot(t)
	n := makeNest(t)
	n.limit(t, n.cpu, n.mem)
	report := filepath.Join(t.TempDir(), "report")
	inner := snug("-cpus 1.5 -memory 268435456 -report "+report, "as-probe")
	o := run(t, command(append(self("as-into", n.enter, "--"), inner.Args...)))
	if o.code != 0 {
		t.Fatalf("%+v", o)
	}
	c := readJSON[saved](t, report).Confinement
	if c.CPUs != 0.3 || filepath.Dir(c.CPUsFrom) != n.cpu {
		t.Errorf("effective CPU limit %v from %s, want the caller's 0.3", c.CPUs, c.CPUsFrom)
	}
	if c.MemoryBytes != 67108864 || filepath.Dir(c.MemoryFrom) != n.mem {
		t.Errorf("effective memory limit %v from %s, want the caller's", c.MemoryBytes, c.MemoryFrom)
	}
	if c.LimitBytes != 268435456 {
		t.Errorf("the group's own memory limit is %d, want 268435456", c.LimitBytes)
	}
	if n.v1 && (c.QuotaMicros != 30000 || len(c.Warnings) != 0) {
		t.Errorf("quota %d, warnings %q; on v1, want the caller's 30000 and no warning", c.QuotaMicros, c.Warnings)
	}
	if !n.v1 && (c.QuotaMicros != 150000 || c.Way != WayDelegated) {
		t.Errorf("quota %d by way of %s", c.QuotaMicros, c.Way)
	}
	var p probed
	if err := json.Unmarshal([]byte(o.stdout), &p); err != nil {
		t.Fatal(err)
	}
	below := 0
	for _, dir := range p.Dirs {
		if strings.HasPrefix(dir, n.cpu+"/") || strings.HasPrefix(dir, n.mem+"/") {
			below++
		}
	}
	if below == 0 {
		t.Errorf("the command is not below the caller's group but in %q", p.Dirs)
	}

	// A limit below the caller's is not changed.
	inner = snug("-cpus 0.2 -memory 33554432 -report "+report, "as-probe")
	if o := run(t, command(append(self("as-into", n.enter, "--"), inner.Args...))); o.code != 0 {
		t.Fatalf("%+v", o)
	}
	if c := readJSON[saved](t, report).Confinement; c.CPUs != 0.2 || c.MemoryBytes != 33554432 {
		t.Errorf("effective %v CPUs, %v bytes", c.CPUs, c.MemoryBytes)
	}
}

// A limit of the caller's own leaf group also holds: on v1 the new group is below the
// leaf; on v2 it could only be beside the leaf, and must not be made.
func TestLimitOnTheCallersLeafIsNeverShed(t *testing.T) {
	needRoot(t)
	n := makeNest(t)
	if n.v1 {
		n.limit(t, n.cpu, n.mem)
	} else {
		n.limit(t, n.leaf, n.leaf)
	}
	dir := t.TempDir()
	report, ran := filepath.Join(dir, "report"), filepath.Join(dir, "ran")
	inner := snug("-cpus 1.5 -report "+report, "as-probe")
	if !n.v1 {
		inner = snug("-cpus 1.5", "as-counter", ran)
	}
	o := run(t, command(append(self("as-into", n.enter, "--"), inner.Args...)))
	if n.v1 {
		if c := readJSON[saved](t, report).Confinement; o.code != 0 || c.CPUs != 0.3 {
			t.Errorf("effective %v CPUs, %+v", c.CPUs, o)
		}
	} else if o.code != 125 || !strings.Contains(o.stderr, "would not hold") || exists(ran) {
		t.Errorf("%+v", o)
	}
}
