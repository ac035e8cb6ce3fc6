// SPDX-License-Identifier: Apache-2.0

//go:build linux && (amd64 || arm64)

package cgrun

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"
)

func TestWeight(t *testing.T) {
	needRoot(t)
	for _, tt := range []struct{ name, flags, weight string }{
		{"none", "-cpus 0.5", ""},
		{"weight", "-cpus 0.5 -weight 10000", "10000 102400"},
		{"least weight", "-cpus 0.5 -weight 1", "1 10"},
		{"weight without a quota", "-memory 67108864 -weight 200", "200 2048"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			report := filepath.Join(t.TempDir(), "report")
			o := run(t, snug("-report "+report+" "+tt.flags, "as-probe"))
			var p probed
			if err := json.Unmarshal([]byte(o.stdout), &p); err != nil || o.code != 0 {
				t.Fatalf("%v, %+v", err, o)
			}
			if tt.weight != "" && !slices.Contains(strings.Fields(tt.weight), p.Weight) {
				t.Errorf("weight inside is %q, want one of %q", p.Weight, tt.weight)
			}
			c := readJSON[saved](t, report).Confinement
			if c.CPUGroup == "" || c.Policy != "SCHED_OTHER" {
				t.Errorf("proof %+v", c)
			}
		})
	}
}

func TestOwnLimitsAreTakenAsTheyAre(t *testing.T) {
	needRoot(t)
	n := makeNest(t)
	n.limit(t, n.cpu, n.mem)
	report := filepath.Join(t.TempDir(), "report")
	inner := snug("-own -report "+report, "as-probe")
	into := command(append(append(self("as-into", n.enter, "--"), self("as-readonly")...), inner.Args...))
	into.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	o := run(t, into)
	if o.code != 0 {
		t.Fatalf("%+v", o)
	}
	r := readJSON[saved](t, report)
	c := r.Confinement
	if c.Way != WayContainer || c.QuotaMicros != 30000 || c.PeriodMicros != 100000 || c.CPUs != 0.3 || filepath.Dir(c.CPUsFrom) != n.cpu {
		t.Errorf("way %s, CPU limit %d of %d µs, %g from %s", c.Way, c.QuotaMicros, c.PeriodMicros, c.CPUs, c.CPUsFrom)
	}
	if c.LimitBytes != 67108864 || c.MemoryBytes != 67108864 || filepath.Dir(c.MemoryFrom) != n.mem || c.Policy != "SCHED_OTHER" || len(c.Warnings) != 1 {
		t.Errorf("proof %+v", c)
	}
	var p probed
	if err := json.Unmarshal([]byte(o.stdout), &p); err != nil || p.PID != c.PID || p.Group != p.PID {
		t.Errorf("%v; proof is about %d, the command is %d in process group %d", err, c.PID, p.PID, p.Group)
	}
	if dir := filepath.Join(filepath.Dir(n.cpu), c.CPUGroup); !slices.ContainsFunc(p.Dirs, func(d string) bool { return strings.HasPrefix(d, n.cpu) }) {
		t.Errorf("the command is in %q, not in %s", p.Dirs, dir)
	}
	if u := r.Usage; u.CPUTime == nil || u.MemoryPeakBytes != nil || u.Periods == nil {
		t.Errorf("usage %s", show(u))
	}
}

func TestCPUTimeWithoutAGroup(t *testing.T) {
	needRoot(t)
	for _, spec := range []Spec{{Own: true}, {NoLimit: true}, {NoLimit: true}} {
		spec.Args = self("as-burner")
		c, err := Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "it uses CPU", func() bool {
			u := c.Usage()
			return u.CPUTime != nil && *u.CPUTime > 100*time.Millisecond
		})
		running := *c.Usage().CPUTime
		c.Signal(syscall.SIGKILL)
		exit, err := c.Wait()
		if err != nil {
			t.Fatal(err)
		}
		u := c.Usage()
		// Rusage rounds to microseconds.
		if total := exit.UserTime + exit.SystemTime + c.shim.User + c.shim.System; u.CPUTime == nil || *u.CPUTime != total || total < running-time.Millisecond {
			t.Errorf("%+v: %v while it ran, %v at its end, Usage %s", spec, running, total, show(u))
		}
		if u.CPUTime = nil; spec.NoLimit && u != (Usage{}) {
			t.Errorf("without a limit there is %s", show(u))
		}
		want := Way("container")
		if spec.NoLimit {
			want = "none"
		}
		if p := c.Confinement; p.Way != want || len(p.Warnings) != 1 || spec.NoLimit && (p.CPUGroup != "" || p.CPUs != 0 || p.LimitBytes != 0) {
			t.Errorf("proof %+v", p)
		}
		if n, err := c.Remove(); n != 0 || err != nil {
			t.Errorf("Remove() = %d, %v", n, err)
		}
	}
}

func TestRemoveEndsAFamily(t *testing.T) {
	needRoot(t)
	for _, tt := range []struct {
		name      string
		spec      Spec
		leftovers int
	}{
		{"limited", Spec{CPUs: 1}, 2},
		{"without a limit", Spec{NoLimit: true}, 1}, // the daemon escapes
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "family")
			tt.spec.Args = self("as-family", file)
			c, err := Start(t.Context(), tt.spec)
			if err != nil {
				t.Fatal(err)
			}
			until(t, "the family is there", func() bool { return len(lines(file)) == 1 })
			pids := pidsIn(t, file)
			c.Signal(syscall.SIGTERM)
			settle()
			if !alive(c.PID()) {
				t.Error("the command does not ignore SIGTERM")
			}
			n, err := c.Remove()
			if n != tt.leftovers || err != nil {
				t.Errorf("Remove() = %d, %v; want %d", n, err, tt.leftovers)
			}
			for _, pid := range pids[:1+tt.leftovers] {
				until(t, "it is gone", func() bool { return !alive(pid) })
			}
			if tt.leftovers == 1 {
				syscall.Kill(pids[2], syscall.SIGKILL)
			}
		})
	}
}

func TestContextEndsAStart(t *testing.T) {
	needRoot(t)
	ran := filepath.Join(t.TempDir(), "ran")
	for _, spec := range []Spec{{CPUs: 0.5}, {Own: true}, {NoLimit: true}} {
		spec.Args = self("as-counter", ran)
		for _, when := range []string{"before", "when it is confined"} {
			ctx, cancel := context.WithCancel(t.Context())
			if when == "before" {
				cancel()
			} else {
				spec.Ready = func(Confinement) { cancel() }
			}
			c, err := Start(ctx, spec)
			if _, ok := errors.AsType[*InterruptedError](err); !ok || c != nil {
				t.Errorf("%s: %v", when, err)
			}
			cancel()
		}
	}
	for i := range 40 { // at any time: the command runs, or nothing is left
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*250*time.Microsecond)
		c, err := Start(ctx, Spec{Args: self("as-exit", "0"), CPUs: 1})
		cancel()
		if _, ok := errors.AsType[*InterruptedError](err); err != nil && !ok {
			t.Errorf("%d: %v", i, err)
		}
		if err == nil {
			if n, err := c.Remove(); n != 0 || err != nil {
				t.Errorf("Remove() = %d, %v", n, err)
			}
		}
	}
	if exists(ran) {
		t.Error("the command was started")
	}
	if kids := children(os.Getpid()); len(kids) > 1 { // the watchdog
		t.Errorf("children left: %v", kids)
	}
}

func TestManyStartsLeaveNothing(t *testing.T) {
	needRoot(t)
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	once := func(spec Spec) {
		t.Helper()
		spec.Args = self("as-exit", "0")
		c, err := Start(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		if exit, err := c.Wait(); err != nil || exit.Code != 0 {
			t.Fatalf("ended with %+v, %v", exit, err)
		}
		if n, err := c.Remove(); n != 0 || err != nil {
			t.Fatalf("Remove() = %d, %v", n, err)
		}
	}
	limited := Spec{CPUs: 1, MemoryBytes: 64 << 20, Weight: 500, Counters: true}
	once(limited) // starts the watchdog and the runtime's poller
	files, goroutines, before := open(), runtime.NumGoroutine(), strays()
	start := time.Now()
	for range 200 {
		once(limited)
	}
	t.Logf("%v each", time.Since(start)/200)
	for range 20 {
		once(Spec{Own: true})
		once(Spec{NoLimit: true})
	}
	if n := open(); n != files {
		t.Errorf("%d files open, %d before", n, files)
	}
	if n := runtime.NumGoroutine(); n > goroutines {
		t.Errorf("%d goroutines, %d before", n, goroutines)
	}
	nothingNew(t, before)
	if kids := children(os.Getpid()); len(kids) != 0 {
		t.Errorf("children %v", kids)
	}
}

func TestTooFewFiles(t *testing.T) {
	needRoot(t)
	for n := 4; n < 28; n++ {
		o := run(t, command(append(self("as-frugal", strconv.Itoa(n)), snug("-cpus 1 -memory 67108864", "as-exit", "0").Args...)))
		if n > 12 && o.code == 0 {
			continue
		}
		if o.code != 125 || !strings.Contains(o.stderr, "too many open files") || !strings.Contains(o.stderr, "hint: allow more open files") {
			t.Errorf("%d files: %+v", n, o)
		}
	}
	enough := func() *exec.Cmd {
		return command(append(self("as-frugal", "36"), snug("-cpus 1", "as-exit", "0").Args...))
	}
	if o := run(t, enough()); o.code != 0 {
		t.Errorf("36 files: %+v", o)
	}
	// A file opened before the limit was lowered is passed on, and uses up the numbers.
	high := enough()
	high.ExtraFiles = make([]*os.File, 38)
	high.ExtraFiles[37] = os.Stdin
	if o := run(t, high); o.code != 125 || !strings.Contains(o.stderr, "descriptor 40 ") || !strings.Contains(o.stderr, "hint: allow more open files") {
		t.Errorf("36 files, and number 40 is open: %+v", o)
	}
}

func TestInContainer(t *testing.T) {
	link := func(to string) fstest.MapFS {
		return fstest.MapFS{"proc/self/ns/pid": {Mode: os.ModeSymlink, Data: []byte(to)}}
	}
	for _, tt := range []struct {
		name string
		fsys fstest.MapFS
		want bool
	}{
		{"machine", link("pid:[4026531836]"), false},
		{"no-proc", tree("/etc/passwd x"), false},
		{"pid-namespace", link("pid:[4026532200]"), true},
		{"docker", tree("/.dockerenv "), true},
		{"podman", tree("/run/.containerenv "), true},
	} {
		if got := inContainer(tt.fsys); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	e := &NoWayError{Tried: []Tried{{WayV2, syscall.EROFS}}, Container: true, cure: "do this"}
	if h := Hint(e); !strings.Contains(h, "do this; inside a container: ") {
		t.Errorf("hint %q", h)
	}
	if !scarce([]Tried{{WayV1, fmt.Errorf("x: %w", errWatchdog)}}) || scarce(e.Tried) {
		t.Error("used-up resources are mistaken for the effect of a container, or vice versa")
	}
}

// The error of a failed start gives the reason, and suggests the container's own limits.
func TestReadOnlyTreeInAContainer(t *testing.T) {
	needRoot(t)
	cmd := command(append(self("as-readonly"), snug("-cpus 1", "as-exit", "0").Args...))
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	o, inside := run(t, cmd), inContainer(os.DirFS("/"))
	if o.code != 125 || strings.Contains(o.stderr, "inside a container: ") != inside {
		t.Errorf("inside a container %v: %+v", inside, o)
	}
}
