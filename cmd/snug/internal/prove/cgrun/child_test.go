// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// inFakeScope starts a command in a scope of the fake systemd (see TestScope), and
// returns a function that removes the scope, as systemd does.
func inFakeScope(t *testing.T, spec Spec) (c *Child, collect func()) {
	t.Helper()
	n := makeNest(t)
	bin := t.TempDir()
	if err := os.Symlink(self()[0], filepath.Join(bin, "systemd-run")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	t.Setenv("CGRUN_FAKE_SYSTEMD", "well "+n.cpu+" "+n.mem)
	w, err := spec.want()
	if err != nil {
		t.Fatal(err)
	}
	name := newName()
	collect = func() {
		for _, dir := range []string{n.cpu, n.mem} {
			os.Remove(filepath.Join(dir, name+".scope"))
		}
	}
	t.Cleanup(collect)
	s := starter{spec: spec, file: spec.Args[0], way: WaySystemd, machine: thisMachine()}
	if c, err = s.inScope(t.Context(), attempt{way: WaySystemd}, w, name); err != nil {
		t.Fatal(err)
	}
	return c, collect
}

func TestUsageOutlivesAScope(t *testing.T) {
	needRoot(t)
	for _, tt := range []struct {
		name     string
		args     []string
		signal   syscall.Signal
		oomKills uint64
	}{
		{"ends", self("as-exit", "0"), 0, 0},
		{"OOM kill", self("as-eater", "134217728"), syscall.SIGKILL, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, collect := inFakeScope(t, Spec{Args: tt.args, CPUs: 1, MemoryBytes: 32 << 20, Weight: 200})
			exit, err := c.Wait()
			if err != nil || exit.Signal != int(tt.signal) {
				t.Fatalf("ended with %+v, %v", exit, err)
			}
			live := c.Usage()
			collect()
			u := c.Usage()
			if u.Periods == nil || u.OOMKills == nil || *u.OOMKills != tt.oomKills || u.or(live) != u {
				t.Errorf("before the scope is gone %s\nand after %s", show(live), show(u))
			}
			if n, err := c.Remove(); n != 0 || err != nil {
				t.Errorf("Remove() = %d, %v", n, err)
			}
		})
	}
}

func TestSeveralWaitForOneCommand(t *testing.T) {
	needRoot(t)
	for range 10 {
		c, err := Start(t.Context(), Spec{Args: self("as-sleeper"), CPUs: 1, Counters: true})
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if exit, err := c.Wait(); err != nil || exit.Signal != int(syscall.SIGKILL) {
					t.Errorf("Wait() = %+v, %v", exit, err)
				}
			})
			all.Go(func() { c.Usage() })
		}
		if n, err := c.Remove(); n != 0 || err != nil {
			t.Errorf("Remove() = %d, %v", n, err)
		}
		all.Wait()
	}
}

// If other code reaps the command, as when SIGCHLD is ignored, its group and the
// processes it left behind are still removed.
func TestRemoveWithoutTheCommandsEnd(t *testing.T) {
	needRoot(t)
	file := filepath.Join(t.TempDir(), "family")
	c, err := Start(t.Context(), Spec{Args: self("as-family", file), CPUs: 1})
	if err != nil {
		t.Fatal(err)
	}
	until(t, "the family is there", func() bool { return len(lines(file)) == 1 })
	pids := pidsIn(t, file)
	c.Signal(syscall.SIGKILL)
	if _, err := unix.Wait4(c.PID(), nil, 0, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Wait(); !errors.Is(err, unix.ECHILD) {
		t.Errorf("Wait: %v, want ECHILD", err)
	}
	if n, err := c.Remove(); n != 2 || !errors.Is(err, unix.ECHILD) {
		t.Errorf("Remove() = %d, %v; want 2 processes and ECHILD", n, err)
	}
	for _, pid := range pids {
		until(t, "it is gone", func() bool { return !alive(pid) })
	}
	for _, p := range c.group.parts {
		if exists(p.dir) {
			t.Errorf("left: %s", p.dir)
		}
	}
	none := &Child{pid: c.pid, reaped: true, failed: unix.ECHILD, group: &group{ungrouped: true}}
	if u := none.Usage(); u.CPUTime != nil {
		t.Errorf("CPU time %v of a command whose end is unknown", *u.CPUTime)
	}
}

func TestShimIsTakenOut(t *testing.T) {
	needRoot(t)
	for _, spec := range []Spec{{CPUs: 2, MemoryBytes: 256 << 20, Counters: true}, {Own: true}, {NoLimit: true}} {
		spec.Args = self("as-exit", "0")
		c, err := Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		exit, err := c.Wait()
		if err != nil {
			t.Fatal(err)
		}
		start, end := c.AtStart, c.Usage()
		if start.CPUTime == nil || end.CPUTime == nil || *start.CPUTime <= 0 || *end.CPUTime <= *start.CPUTime {
			t.Fatalf("at the start %s\nat the end %s", show(start), show(end))
		}
		shim, own, group := c.shim.User+c.shim.System, exit.UserTime+exit.SystemTime, *end.CPUTime-*start.CPUTime
		t.Logf("%s: shim %v, command %v by itself, %v by its group", c.Confinement.Way, shim, own, group)
		if off := (own - group).Abs(); shim <= 0 || own <= 0 || off > shim/2 {
			t.Errorf("%s: the command used %v, by its group %v; the shim %v", c.Confinement.Way, own, group, shim)
		}
		if n, err := c.Remove(); n != 0 || err != nil {
			t.Errorf("Remove() = %d, %v", n, err)
		}
	}
}

func TestExitWithoutTheShim(t *testing.T) {
	ms, mib := time.Millisecond, int64(1<<20)
	for _, tt := range []struct {
		name      string
		all, shim used
		want      Exit
	}{
		{"both", used{9 * ms, 5 * ms, 90 * mib}, used{2 * ms, 1 * ms, 20 * mib}, Exit{UserTime: 7 * ms, SystemTime: 4 * ms, MaxRSSBytes: 90 * mib}},
		{"less system time than the shim's", used{9 * ms, 1 * ms, 0}, used{2 * ms, 3 * ms, 0}, Exit{UserTime: 5 * ms}},
		{"less user time than the shim's", used{1 * ms, 9 * ms, 0}, used{2 * ms, 3 * ms, 0}, Exit{SystemTime: 5 * ms}},
		{"nothing but the shim", used{1 * ms, 1 * ms, 20 * mib}, used{2 * ms, 3 * ms, 20 * mib}, Exit{}},
		{"hardly larger than snug", used{MaxRSS: 21 * mib}, used{MaxRSS: 20 * mib}, Exit{}},
	} {
		ru := unix.Rusage{Maxrss: tt.all.MaxRSS / 1024, Utime: unix.NsecToTimeval(int64(tt.all.User)), Stime: unix.NsecToTimeval(int64(tt.all.System))}
		if got := exitOf(0, ru, tt.shim); got != tt.want {
			t.Errorf("%s: %+v, want %+v", tt.name, got, tt.want)
		}
	}
}

func TestLargestResidentSetIsTheCommandsOrUnknown(t *testing.T) {
	needRoot(t)
	snugs := make([]byte, 40<<20) // makes this process larger than a small command
	for i := 0; i < len(snugs); i += 4096 {
		snugs[i] = 1
	}
	// The command must be larger than this process, which -race and earlier tests may
	// have made large.
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil {
		t.Fatal(err)
	}
	size := max(128<<20, 2*own.Maxrss<<10)
	for _, tt := range []struct {
		args     []string
		min, max int64
	}{
		{self("as-exit", "0"), 0, 0},
		{self("as-eater", strconv.FormatInt(size, 10)), size, size + 72<<20},
	} {
		c, err := Start(t.Context(), Spec{Args: tt.args, CPUs: 1})
		if err != nil {
			t.Fatal(err)
		}
		exit, err := c.Wait()
		if err != nil || exit.MaxRSSBytes < tt.min || exit.MaxRSSBytes > tt.max {
			t.Errorf("%v: ended with %+v, %v; want a largest resident set from %d to %d", tt.args[1:], exit, err, tt.min, tt.max)
		}
		if n, err := c.Remove(); n != 0 || err != nil {
			t.Errorf("Remove() = %d, %v", n, err)
		}
	}
	runtime.KeepAlive(snugs)
}

func TestOptionalMemoryLimit(t *testing.T) {
	needRoot(t)
	n := makeNest(t)
	into := func(flags string) *exec.Cmd {
		inner := snug(flags, "as-probe").Args
		if n.v1 {
			inner = append(self("as-without-memory"), inner...)
		} else {
			n.set(t, n.cpu, "cgroup.subtree_control", "-memory")
		}
		cmd := command(append(self("as-into", n.enter, "--"), inner...))
		cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
		return cmd
	}
	report := filepath.Join(t.TempDir(), "report")
	const flags = "-cpus 0.5 -memory 268435456 "
	o := run(t, into(flags+"-memory-optional -report "+report))
	var p probed
	if err := json.Unmarshal([]byte(o.stdout), &p); err != nil || o.code != 0 || p.CPU != "50000 100000" {
		t.Fatalf("%v, %+v", err, o)
	}
	c := readJSON[saved](t, report).Confinement
	if c.CPUs != 0.5 || c.LimitBytes != 0 || c.MemoryGroup != "" || len(c.Warnings) != 1 ||
		!strings.Contains(c.Warnings[0], "the memory limit is left out") || n.v1 && !strings.Contains(c.Warnings[0], "memory controller") {
		t.Errorf("proof %+v", c)
	}
	if o := run(t, into(flags)); o.code != 125 || o.stdout != "" {
		t.Errorf("not optional: %+v", o)
	}
	// If it is possible, the limit is set.
	if o := run(t, snug(flags+"-memory-optional -report "+report, "as-probe")); o.code != 0 {
		t.Errorf("%+v", o)
	}
	if c := readJSON[saved](t, report).Confinement; c.LimitBytes != 268435456 || len(c.Warnings) != 0 {
		t.Errorf("proof %+v", c)
	}
}
