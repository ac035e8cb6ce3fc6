// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/limits"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// agree compares the figures read from outside with what the program reports.
func agree(t *testing.T, f *Facts, want truth) {
	t.Helper()
	if f.Err != nil || f.Hint != "" || !f.Exe.IsGo {
		t.Fatalf("%v, hint %q, %+v", f.Err, f.Hint, f.Exe)
	}
	equal(t, "GOMAXPROCS", f.GOMAXPROCS, want.Procs)
	equal(t, "collections", f.Collections, want.Collections)
	equal(t, "pause", f.PauseTotal, time.Duration(want.Pause))
	equal(t, "GC CPU fraction", f.GCCPUFraction, want.Fraction)
	if f.Exe.GoVersion != want.Version {
		t.Errorf("version %q, want %q", f.Exe.GoVersion, want.Version)
	}
	if f.CPUs != want.CPUs {
		t.Errorf("%d CPUs, want %d", f.CPUs, want.CPUs)
	}
	if noGoal(want) {
		if f.HeapGoal.State != limits.None {
			t.Errorf("goal %+v, want none", f.HeapGoal)
		}
	} else {
		equal(t, "goal", f.HeapGoal, want.Goal)
	}
	// The two are kept apart, and differ by some hundred KiB at most.
	if n := f.Mapped; n.Known() != (f.Exe.Minor > 18) || n.Known() && (n.N > want.Mapped+512<<10 || n.N+1<<20 < want.Mapped) {
		t.Errorf("mapped %+v, want %d", n, want.Mapped)
	}
	// Allocated lags until the program reads its own figure, and its answer allocates.
	if n := f.Allocated; n.Known() != (f.Exe.Minor > 18) || n.Known() && (n.N+1<<20 < want.Allocated || n.N > want.Allocated+8<<20) {
		t.Errorf("allocated %+v, want %d", n, want.Allocated)
	}
	equal(t, "goroutines", f.Goroutines, want.Goroutines)
	sameDurations(t, "stops for collections", f.GCStops, want.Stops)
	if want.Percent != nil {
		equal(t, "GOGC", f.GOGC, int(int32(*want.Percent))) // off is -1, as an unsigned number
	}
	if want.Limit != nil {
		if n, limited := f.GOMEMLIMIT.Get(); !f.GOMEMLIMIT.Read() || limited == (*want.Limit == math.MaxInt64) || limited && n != *want.Limit {
			t.Errorf("GOMEMLIMIT %+v, want %d", f.GOMEMLIMIT, *want.Limit)
		}
	}
	if want.Marked != nil {
		equal(t, "marked", f.HeapMarked, *want.Marked)
	}
	if live := f.HeapLive; !live.Known() || live.N < f.HeapMarked.N || live.N > f.HeapMarked.N+8<<20 {
		t.Errorf("live %+v, marked %+v", live, f.HeapMarked)
	}
	if idle := f.IdlePs; !idle.Known() || idle.N > want.Procs || !f.SpinningPs.Known() {
		t.Errorf("idle %+v, spinning %+v of %d", idle, f.SpinningPs, want.Procs)
	}
	if want.Total == nil { // runtime/metrics has the classes since Go 1.20, at an own place since 1.21
		return
	}
	if f.Exe.Minor < 21 {
		if f.CPU.Known() {
			t.Errorf("CPU classes are known in Go 1.%d", f.Exe.Minor)
		}
		return
	}
	c := f.CPU.N
	for name, pair := range map[string]struct {
		got  time.Duration
		want *float64
	}{
		"assist": {c.GCAssist, want.Assist}, "dedicated": {c.GCDedicated, want.Dedicated}, "mark idle": {c.GCIdle, want.MarkIdle},
		"pause": {c.GCPause, want.GCPause}, "GC": {c.GCTotal, want.GCTotal}, "scavenge": {c.Scavenge, want.Scavenge},
		"idle": {c.Idle, want.Idle}, "user": {c.User, want.User}, "total": {c.Total, want.Total},
	} {
		if !f.CPU.Known() || math.Abs(pair.got.Seconds()-*pair.want) > 1e-8 {
			t.Errorf("CPU %s %v, want %v s; %+v", name, pair.got, *pair.want, f.CPU)
		}
	}
}

// noGoal reports whether there is none: then the runtime tells what its limit's arithmetic
// leaves.
func noGoal(t truth) bool { return t.Goal > 1<<48 }

func equal[T comparable](t *testing.T, name string, got figure.Of[T], want T) {
	t.Helper()
	if !got.Known() || got.N != want || got.Source == "" {
		t.Errorf("%s %+v, want %v", name, got, want)
	}
}

// builds lists the ways to link a program.
var builds = []struct {
	name  string
	flags []string
}{
	{"exe", nil},
	{"exe stripped", []string{"-ldflags=-s -w"}},
	{"pie", []string{"-buildmode=pie"}},
	{"pie stripped", []string{"-buildmode=pie", "-ldflags=-s -w"}},
}

// setting is a way to set the knobs of a target, and who then set them.
type setting struct {
	name          string
	env, commands []string
	procs, gogc   By
	limit         By
}

func settings(minor int, aware bool) []setting {
	byDefault := ByHostCPUs
	if minor >= 25 && aware {
		byDefault = ByRuntime
	}
	code := ByCode
	if minor < 25 {
		code = ByUnknown // nothing keeps it
	}
	return []setting{
		{"nothing set", nil, nil, byDefault, ByDefault, ByDefault},
		{"by environment", []string{"GOMAXPROCS=7", "GOGC=77", "GOMEMLIMIT=123MiB"}, nil, ByEnvironment, ByEnvironment, ByEnvironment},
		{"by code", nil, []string{"procs", "percent", "limit"}, code, ByCode, ByCode},
		{"by code against the environment", []string{"GOMAXPROCS=2", "GOGC=50", "GOMEMLIMIT=1GiB"}, []string{"procs", "percent", "limit"}, ByCode, ByCode, ByCode},
		{"off", []string{"GOGC=off", "GOMEMLIMIT=off"}, nil, byDefault, ByEnvironment, ByEnvironment},
	}
}

// checkSettings reads a program under every setting, before and after a garbage collection.
func checkSettings(t *testing.T, file string, minor int, aware bool, c *Cache) {
	for _, s := range settings(minor, aware) {
		t.Run(s.name, func(t *testing.T) {
			target := startTarget(t, exec.Command(file), s.env...)
			for _, command := range s.commands {
				target.ask(command)
			}
			for _, command := range []string{"up", "gc"} {
				target.ask(command)
				want := target.ask("truth")
				f := look(t, target.cmd.Process.Pid, c)
				agree(t, f, want)
				if os.Getenv("SNUG_TOOL") != "" {
					toolAgrees(t, target, file, want, s.procs)
				}
				if minor == 18 {
					s.limit = ByDefault
				}
				if f.GOMAXPROCSBy.By != s.procs || f.GOGCBy.By != s.gogc || f.GOMEMLIMITBy.By != s.limit {
					t.Errorf("set by %+v, %+v, %+v; want %s, %s, %s", f.GOMAXPROCSBy, f.GOGCBy, f.GOMEMLIMITBy, s.procs, s.gogc, s.limit)
				}
				if f.GOMAXPROCSBy.By == ByUnknown && f.GOMAXPROCSBy.Detail == "" {
					t.Error("unknown who set GOMAXPROCS, and nothing says why")
				}
				if want := "/proc/" + strconv.Itoa(f.Pid) + "/mem, "; !strings.HasPrefix(f.GOMAXPROCS.Source, want) || !strings.HasSuffix(f.GOMAXPROCS.Source, " votes") {
					t.Errorf("source %q, want %s", f.GOMAXPROCS.Source, want)
				}
				if f.Env["SNUG_TEST"] != "" || f.Env["TOKEN"] != "" || f.Path != file || f.Deleted {
					t.Errorf("environment %q, path %q, want %q, deleted %t", f.Env, f.Path, file, f.Deleted)
				}
			}
		})
	}
}

func TestLook(t *testing.T) {
	for _, b := range builds {
		t.Run(b.name, func(t *testing.T) {
			checkSettings(t, buildTarget(t, how{goLine: "1.26", flags: b.flags}), ThisMinor(), true, NewCache(""))
		})
	}
}

// TestLookGoLine: an old go line builds in settings under which the runtime
// does not read the quota; a variable takes them back.
func TestLookGoLine(t *testing.T) {
	file := buildTarget(t, how{goLine: "1.24"})
	c := NewCache("")
	for env, want := range map[string]By{
		"GODEBUG=gctrace=0":           ByHostCPUs,
		"GODEBUG=containermaxprocs=1": ByRuntime,
	} {
		target := startTarget(t, exec.Command(file), env)
		f := look(t, target.cmd.Process.Pid, c)
		agree(t, f, target.ask("truth"))
		if f.GOMAXPROCSBy.By != want || f.Exe.GODEBUG["containermaxprocs"] != "0" {
			t.Errorf("%s: set by %+v, want %s; %+v", env, f.GOMAXPROCSBy, want, f.Exe)
		}
	}
}

// TestLookGoal has heap goals that come from GOMEMLIMIT and from the smallest
// heap.
func TestLookGoal(t *testing.T) {
	checkGoals(t, buildTarget(t, how{goLine: "1.26"}))
}

func checkGoals(t *testing.T, file string) {
	c := NewCache("")
	for name, env := range map[string][]string{
		"no goal":              {"GOGC=off"},
		"by the limit":         {"GOGC=off", "GOMEMLIMIT=64MiB"},
		"by a limit that hits": {"GOGC=off", "GOMEMLIMIT=10MiB"},
		"by percent":           {"GOGC=10"},
		"smaller of both":      {"GOGC=400", "GOMEMLIMIT=64MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			target := startTarget(t, exec.Command(file), env...)
			for _, command := range []string{"up", "fill", "gc"} {
				target.ask(command)
				// Near its limit the program collects whenever it is asked, and with each
				// collection the goal moves.
				var got figure.Of[uint64]
				var before, after truth
				same := func(want truth) bool {
					return noGoal(want) && got.State == limits.None || got.Known() && diff(got.N, want.Goal) <= 256<<10
				}
				for range 50 {
					before = target.ask("truth")
					got = look(t, target.cmd.Process.Pid, c).HeapGoal
					if after = target.ask("truth"); same(before) || same(after) {
						break
					}
				}
				if !same(before) && !same(after) {
					t.Errorf("after %s: goal %+v, want %d, or %d afterwards", command, got, before.Goal, after.Goal)
				}
			}
		})
	}
}

func diff(a, b uint64) uint64 { return max(a, b) - min(a, b) }

// TestLookElsewhere reads processes that are not Go programs, and processes that have ended.
func TestLookElsewhere(t *testing.T) {
	c := NewCache("")
	t.Run("another program", func(t *testing.T) {
		cmd := exec.Command("sleep", "60")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		defer cmd.Wait()
		defer cmd.Process.Kill()
		// Until it has run its program, it is a copy of this one.
		p, err := proc.Open(cmd.Process.Pid)
		for err == nil && p.First().Forked {
			p.Close()
			p, err = proc.Open(cmd.Process.Pid)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if f := Look(p, c); f.Err != nil || f.Exe.IsGo || f.Exe.What == "" || f.GOMAXPROCS.Known() {
			t.Errorf("%+v", f)
		}
	})
	t.Run("process 1", func(t *testing.T) {
		f := look(t, 1, c)
		if f.Err == nil && !f.Exe.IsGo && f.Exe.What == "" || f.Stat.Name == "" {
			t.Errorf("%+v", f)
		}
	})
	t.Run("itself", func(t *testing.T) {
		f := look(t, os.Getpid(), c)
		if f.Err != nil || !f.Exe.IsGo || !f.GOMAXPROCS.Known() {
			t.Errorf("%+v", f)
		}
	})
	t.Run("deleted", func(t *testing.T) {
		file := buildTarget(t, how{goLine: "1.26"})
		target := startTarget(t, exec.Command(file))
		if err := os.Remove(file); err != nil {
			t.Fatal(err)
		}
		want := target.ask("truth")
		f := look(t, target.cmd.Process.Pid, NewCache(""))
		agree(t, f, want)
		if !f.Deleted || f.Path != file {
			t.Errorf("deleted %v, path %q, want %q", f.Deleted, f.Path, file)
		}
	})
}
