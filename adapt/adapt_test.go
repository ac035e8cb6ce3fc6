// SPDX-License-Identifier: Apache-2.0

package adapt_test

import (
	"context"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/adapt"
)

// knobs clears the environment, resets the knobs to the runtime's defaults, and restores them
// after the test.
func knobs(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("fits nothing here: needs Linux")
	}
	for _, name := range []string{"SNUG", "GOMAXPROCS", "GOMEMLIMIT", "GOGC", "SNUG_LOG", "SNUG_ADAPT", "SNUG_MAX_PROCS", "SNUG_MEMORY_LIMIT"} {
		t.Setenv(name, "")
	}
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(runtime.NumCPU())
	t.Cleanup(func() {
		runtime.GOMAXPROCS(n)
		debug.SetMemoryLimit(math.MaxInt64)
	})
}

const hintedMemory = 512<<20 - 512<<20/10

// hinted decides both knobs on any test machine, and polls often.
func hinted() adapt.Options {
	return adapt.Options{Options: snug.Options{MaxProcs: 1, MemoryLimit: 512 << 20}, Poll: 10 * time.Millisecond}
}

func watch(t *testing.T, ctx context.Context, o adapt.Options) *adapt.Watcher {
	t.Helper()
	w, err := adapt.Watch(ctx, o)
	if err != nil || w == nil {
		t.Fatalf("%v, %v", w, err)
	}
	return w
}

// goroutines returns the number of running snug loops.
func goroutines() (n int) {
	buf := make([]byte, 1<<20)
	for _, g := range strings.Split(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(g, "snug/internal/follow.") {
			n++
		}
	}
	return n
}

// eventually waits until ok reports true.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

func TestImportDoesNothing(t *testing.T) {
	eventually(t, "no goroutine, but those that other tests have left to end", func() bool { return goroutines() == 0 })
}

func TestWatchAndUndo(t *testing.T) {
	knobs(t)
	before := runtime.GOMAXPROCS(0)
	var plans []adapt.Plan
	o := hinted()
	o.OnPlan = func(p adapt.Plan) { plans = append(plans, p) }
	w := watch(t, context.Background(), o)
	if len(plans) == 0 || plans[0].GOMEMLIMIT.Action != snug.ActionSet || plans[0].Verdict != adapt.VerdictUnknown || plans[0].GOGC.Action != snug.ActionLeft {
		t.Errorf("the plans when Watch returns: %+v", plans)
	}
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != 1 || m != hintedMemory {
		t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d when Watch returns, want 1 and %d", n, m, hintedMemory)
	}
	eventually(t, "a look", func() bool { return w.Stats().Polls > 3 })
	s := w.Stats()
	if n, ok := s.CPU.GOMAXPROCS.Get(); !ok || n != 1 {
		t.Errorf("GOMAXPROCS in force is %v, want 1", s.CPU.GOMAXPROCS)
	}
	if n, ok := s.Memory.GOMEMLIMIT.Get(); !ok || n != hintedMemory {
		t.Errorf("GOMEMLIMIT in force is %v, want %d", s.Memory.GOMEMLIMIT, hintedMemory)
	}
	w.Undo()
	w.Undo()
	eventually(t, "the end", func() bool { return w.Stats().Ended && goroutines() == 0 })
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != before || m != math.MaxInt64 {
		t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d, want %d and none", n, m, before)
	}
}

// TestCurrent: both packages return this one's loop; a Watch of package snug takes over.
type logger chan string

func (l logger) Info(msg string, args ...any) { l <- msg + args[1].(string) }
func (l logger) Warn(msg string, args ...any) { l <- "warning" }

// TestLog: the program's logger has both decisions before Watch returns.
func TestLog(t *testing.T) {
	knobs(t)
	log := make(logger, 100)
	o := hinted()
	o.DryRun, o.Log = true, log
	watch(t, context.Background(), o).Undo()
	if a, b := <-log, <-log; a != "snug: decisionGOMAXPROCS" || b != "snug: decisionGOMEMLIMIT" {
		t.Errorf("logged %q, %q", a, b)
	}
}

func TestCurrent(t *testing.T) {
	knobs(t)
	w := watch(t, context.Background(), hinted())
	eventually(t, "a look", func() bool { return w.Stats().Polls > 3 })
	if adapt.Current() == nil || adapt.Current().Stats().Polls == 0 {
		t.Error("adapt.Current does not know it")
	}
	other := snug.Current()
	if other == nil || other.Stats().Polls == 0 || other.Plan().GOMEMLIMIT.Value != hintedMemory {
		t.Fatal("snug.Current does not know it")
	}
	light, err := snug.Watch(context.Background(), snug.WatchOptions{Options: hinted().Options, Poll: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first to end", func() bool { return w.Stats().Ended })
	if adapt.Current() != nil {
		t.Error("adapt.Current is one that package snug has taken over from")
	}
	other.Undo() // has no effect any more
	if m := debug.SetMemoryLimit(-1); m != hintedMemory {
		t.Errorf("GOMEMLIMIT = %d, want the second's", m)
	}
	light.Undo()
	eventually(t, "the end", func() bool { return goroutines() == 0 })
}

func TestSwitchedOff(t *testing.T) {
	for _, c := range []struct{ env, value, code string }{{"SNUG", "off", "disabled"}, {"SNUG_WATCH", "0", "memory-limit-hint"}} {
		t.Run(c.env, func(t *testing.T) {
			knobs(t)
			t.Setenv(c.env, c.value)
			eventually(t, "the end of earlier ones", func() bool { return goroutines() == 0 })
			w := watch(t, context.Background(), hinted())
			defer w.Undo()
			if n, s := goroutines(), w.Stats(); n != 0 || !s.Ended {
				t.Errorf("%d goroutines, ended %v; want nothing to follow", n, s.Ended)
			}
			if p := w.Plan(); p.GOMEMLIMIT.Reason.Code != c.code || p.Verdict != adapt.VerdictUnknown {
				t.Errorf("plan %+v, want GOMEMLIMIT by %s", p, c.code)
			}
		})
	}
}

func TestNilWatcher(t *testing.T) {
	var w *adapt.Watcher
	w.Undo()
	if s, p := w.Stats(), w.Plan(); !s.Ended || s.CPU.Verdict != adapt.VerdictUnknown || p.Verdict != adapt.VerdictUnknown || p.GOMAXPROCS.Value != 0 {
		t.Errorf("stats %+v, plan %+v", s, p)
	}
}

func TestVariables(t *testing.T) {
	knobs(t)
	t.Setenv("SNUG_ADAPT", "memory,gpu")
	t.Setenv("SNUG_POLL", "20ms")
	t.Setenv("SNUG_GC", "3%")
	w := watch(t, context.Background(), hinted())
	defer w.Undo()
	var raw []string
	for _, warning := range w.Plan().Warnings {
		if warning.Code == "env-invalid" {
			raw = append(raw, warning.File+"="+warning.Raw)
		}
	}
	if len(raw) != 1 || raw[0] != "SNUG_ADAPT=memory,gpu" {
		t.Errorf("warnings about %q, want SNUG_ADAPT alone", raw)
	}
	if d := w.Stats().Interval; d != 20*time.Millisecond {
		t.Errorf("looks every %v, want the variable's 20ms", d)
	}
}

func TestInvalidOptions(t *testing.T) {
	knobs(t)
	nan := math.NaN()
	for _, c := range []struct {
		change func(*adapt.Options)
		want   string
	}{
		{func(o *adapt.Options) { o.MinProcs = -1 }, "snug: Options.MinProcs is -1, want 0 to 8192"},
		{func(o *adapt.Options) { o.Poll = time.Millisecond }, "snug: adapt.Options.Poll is 1ms, want 0, or 10ms to 1h"},
		{func(o *adapt.Options) { o.GCShare = 0.6 }, "snug: adapt.Options.GCShare is 0.6, want 0, or 0.01 to 0.5"},
		{func(o *adapt.Options) { o.GCShare = nan }, "snug: adapt.Options.GCShare is NaN, want 0, or 0.01 to 0.5"},
		{func(o *adapt.Options) { o.GCShare = -0.1 }, "snug: adapt.Options.GCShare is -0.1, want 0, or 0.01 to 0.5"},
	} {
		o := hinted()
		c.change(&o)
		w, err := adapt.Watch(context.Background(), o)
		if w != nil || err == nil || err.Error() != c.want {
			t.Errorf("%v, %v; want no Watcher and %s", w, err, c.want)
		}
		if n := debug.SetMemoryLimit(-1); n != math.MaxInt64 {
			t.Errorf("GOMEMLIMIT = %d, want it untouched", n)
		}
	}
}

func TestWatchFromManySides(t *testing.T) {
	knobs(t)
	before := runtime.GOMAXPROCS(0)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var all sync.WaitGroup
	for i := range 4 {
		all.Add(1)
		go func() {
			defer all.Done()
			for n := range 10 {
				o := hinted()
				o.MemoryLimit += int64(i+n) << 20
				o.Memory, o.GC, o.CPU = true, true, true
				o.OnPlan = func(p adapt.Plan) {
					adapt.Current().Stats()
					snug.Current().Plan()
					if n%3 == 0 {
						adapt.Current().Undo()
					}
				}
				w, err := adapt.Watch(ctx, o)
				if err != nil {
					t.Error(err)
				}
				if n%4 == 0 {
					if _, err := snug.Watch(ctx, snug.WatchOptions{Options: o.Options}); err != nil {
						t.Error(err)
					}
				}
				runtime.GC()
				if n%2 == 0 {
					go w.Undo()
					w.Undo()
				}
			}
		}()
	}
	all.Wait()
	watch(t, ctx, hinted()).Undo()
	eventually(t, "the end", func() bool { return goroutines() == 0 })
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != before || m != math.MaxInt64 {
		t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d, want %d and none", n, m, before)
	}
}
