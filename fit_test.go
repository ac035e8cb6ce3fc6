// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"context"
	"encoding/json"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/limits"
)

// knobs clears the environment, resets both knobs to the runtime's defaults, and restores
// them after the test.
func knobs(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("fits nothing here: needs Linux")
	}
	for _, name := range []string{"SNUG", "GOMAXPROCS", "GOMEMLIMIT", "SNUG_LOG", "SNUG_MAX_PROCS", "SNUG_MEMORY_LIMIT", "SNUG_GOMEMLIMIT"} {
		t.Setenv(name, "")
	}
	n := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(runtime.NumCPU())
	t.Cleanup(func() {
		runtime.GOMAXPROCS(n)
		debug.SetMemoryLimit(math.MaxInt64)
	})
}

// hinted decides both knobs on any test machine.
var hinted = snug.Options{MaxProcs: 1, MemoryLimit: 512 << 20}

// fit calls Fit with valid options.
func fit(t *testing.T, o snug.Options) snug.Plan {
	t.Helper()
	p, err := snug.Fit(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const hintedMemory = 512<<20 - 512<<20/10

func TestFitAndUndo(t *testing.T) {
	knobs(t)
	before := runtime.GOMAXPROCS(0)
	p := fit(t, hinted)
	why := p.GOMAXPROCS.Reason // in less than one core the quota says 1, too
	if got := runtime.GOMAXPROCS(0); got != 1 || p.GOMAXPROCS.Value != 1 || why.Code != "max-procs" && !(why.Code == "quota-ceil" && why.Number < 1) {
		t.Errorf("GOMAXPROCS = %d, plan %+v, want 1 by max-procs", got, p.GOMAXPROCS)
	}
	if got := debug.SetMemoryLimit(-1); got != hintedMemory || p.GOMEMLIMIT.Value != hintedMemory || p.GOMEMLIMIT.Action != snug.ActionSet {
		t.Errorf("GOMEMLIMIT = %d, plan %+v, want %d, set", got, p.GOMEMLIMIT, hintedMemory)
	}
	if n, ok := p.RuntimeProcs.Get(); ok != (n >= 1 && n <= runtime.NumCPU()) {
		t.Errorf("by itself the runtime would choose %v of %d CPUs", p.RuntimeProcs, runtime.NumCPU())
	}
	p.Undo()
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != before || m != math.MaxInt64 {
		t.Errorf("after undo GOMAXPROCS = %d, GOMEMLIMIT = %d, want %d and none", n, m, before)
	}
}

func TestFitSetsNothing(t *testing.T) {
	for _, c := range []struct {
		name, env, value string
		o                snug.Options
		action           snug.Action
		code             string // of GOMEMLIMIT
	}{
		{"dry run", "", "", snug.Options{DryRun: true, MaxProcs: 1, MemoryLimit: 512 << 20}, snug.ActionWould, "memory-limit-hint"},
		{"observe", "SNUG", "observe", hinted, snug.ActionWould, "memory-limit-hint"},
		{"off", "SNUG", "off", hinted, snug.ActionLeft, "disabled"},
		{"operator's", "GOMEMLIMIT", "1GiB", snug.Options{MemoryLimit: 512 << 20}, snug.ActionLeft, "env-set"},
		{"too small", "SNUG_MEMORY_LIMIT", "32MiB", snug.Options{}, snug.ActionLeft, "limit-too-small"},
	} {
		t.Run(c.name, func(t *testing.T) {
			knobs(t)
			if c.env != "" {
				t.Setenv(c.env, c.value)
			}
			before := runtime.GOMAXPROCS(0)
			p := fit(t, c.o)
			defer p.Undo()
			if p.GOMEMLIMIT.Action != c.action || p.GOMEMLIMIT.Reason.Code != c.code {
				t.Errorf("GOMEMLIMIT %+v, want %s by %s", p.GOMEMLIMIT, c.action, c.code)
			}
			if p.GOMEMLIMIT.Text() == "" {
				t.Error("no text")
			}
			want := before
			if p.GOMAXPROCS.Action == snug.ActionSet && c.o.MaxProcs == 0 { // in less than one core
				want = int(p.GOMAXPROCS.Value)
			}
			if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != want || m != math.MaxInt64 {
				t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d, want %d and none", n, m, want)
			}
		})
	}
}

func TestFitLeavesTheProgramsOwn(t *testing.T) {
	knobs(t)
	debug.SetMemoryLimit(300 << 20)
	p := fit(t, hinted)
	if p.GOMEMLIMIT.Reason.Code != "program-set" || debug.SetMemoryLimit(-1) != 300<<20 {
		t.Errorf("GOMEMLIMIT %+v, want the program's 300 MiB", p.GOMEMLIMIT)
	}
	p.Undo()
	o := hinted
	o.Override = true
	p = fit(t, o)
	if p.GOMEMLIMIT.Action != snug.ActionSet || debug.SetMemoryLimit(-1) != hintedMemory {
		t.Errorf("GOMEMLIMIT %+v, want it overridden", p.GOMEMLIMIT)
	}
	p.Undo()
	if m := debug.SetMemoryLimit(-1); m != 300<<20 {
		t.Errorf("after undo GOMEMLIMIT = %d, want the program's 300 MiB", m)
	}
}

func TestLaterFitTakesOver(t *testing.T) {
	knobs(t)
	first := fit(t, hinted)
	second := fit(t, snug.Options{MaxProcs: 1, MemoryLimit: 256 << 20})
	first.Undo()
	if m := debug.SetMemoryLimit(-1); m != 256<<20-256<<20/10 {
		t.Errorf("GOMEMLIMIT = %d, want the second's: the first has no say any more", m)
	}
	second.Undo()
	if m := debug.SetMemoryLimit(-1); m != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT = %d, want none as before the first", m)
	}
}

func TestOperatorWinsOverOptions(t *testing.T) {
	knobs(t)
	t.Setenv("SNUG_GOMEMLIMIT", "50%")
	p := fit(t, snug.Options{MemoryLimit: 512 << 20, GOMEMLIMIT: "80%", DryRun: true})
	if p.GOMEMLIMIT.Value != 256<<20 {
		t.Errorf("GOMEMLIMIT = %d, want half of 512 MiB", p.GOMEMLIMIT.Value)
	}
}

// TestInvalidOptions: wrong options are errors, also with SNUG=off; internal/fit tests them all.
func TestInvalidOptions(t *testing.T) {
	knobs(t)
	before := runtime.GOMAXPROCS(0)
	for _, mode := range []string{"", "observe", "off"} {
		t.Setenv("SNUG", mode)
		for want, o := range map[string]snug.Options{
			"Options.MaxProcs is 1, want 0, or MinProcs (2) to 8192":                {MinProcs: 2, MaxProcs: 1},
			`Options.GOMEMLIMIT is "12zb", want 400MiB, 90%, 99%-100MiB, off or ""`: {GOMEMLIMIT: "12zb"},
			"Options.MemoryLimit is -536870912, want 0 or more bytes":               {MaxProcs: 1, MemoryLimit: -512 << 20},
			"Options.Round is 9, want RoundUp, RoundDown or RoundNearest":           {Round: 9},
			"Options.CPULimit is NaN, want 0 to 1000000 cores":                      {CPULimit: math.NaN()},
			"Options.RequestFactor is -1, want 0 to 1000":                           {RequestFactor: -1},
		} {
			p, err := snug.Fit(o)
			if err == nil || err.Error() != "snug: "+want {
				t.Errorf("SNUG=%q: Fit: %v, want snug: %s", mode, err, want)
			}
			for _, s := range []snug.Setting{p.GOMAXPROCS, p.GOMEMLIMIT} {
				if !s.Leave || s.Action != snug.ActionLeft || s.Reason.Code != "option-invalid" || !strings.HasPrefix(want, s.Reason.Source.File+" is "+s.Reason.Source.Raw) || s.Text() == s.Reason.Code {
					t.Errorf("the plan has %+v, %s; want it left alone for %s", s, s.Text(), want)
				}
			}
			p.Undo()
			if w, err := snug.Watch(context.Background(), snug.WatchOptions{Options: o}); w != nil || err == nil || err.Error() != "snug: "+want {
				t.Errorf("SNUG=%q: Watch: %v, %v, want snug: %s", mode, w, err, want)
			}
		}
		for _, d := range []time.Duration{-1, time.Millisecond, 2 * time.Hour} {
			if w, err := snug.Watch(context.Background(), snug.WatchOptions{Poll: d}); w != nil || err == nil || err.Error() != "snug: WatchOptions.Poll is "+d.String()+", want 0, or 10ms to 1h" {
				t.Errorf("Poll %v: %v, %v", d, w, err)
			}
		}
	}
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != before || m != math.MaxInt64 {
		t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d, want them untouched", n, m)
	}
}

func TestUndoOfCopies(t *testing.T) {
	knobs(t)
	snug.Plan{}.Undo()
	first := fit(t, hinted)
	other := first
	first.Undo()
	debug.SetMemoryLimit(hintedMemory) // set by the program, though it looks like snug's
	other.Undo()
	first.Undo()
	if m := debug.SetMemoryLimit(-1); m != hintedMemory {
		t.Errorf("GOMEMLIMIT = %d, want the program's", m)
	}
}

func TestNilWatcher(t *testing.T) {
	var w *snug.Watcher
	w.Undo()
	if s, p := w.Stats(), w.Plan(); !s.Ended || s.Polls != 0 || p.GOMAXPROCS.Value != 0 {
		t.Errorf("stats %+v, plan %+v", s, p)
	}
}

func TestStatsAreJSON(t *testing.T) {
	for _, c := range []struct {
		s    snug.Stats
		want string
	}{
		{snug.Stats{}, `{"polls":0,"changes":0,"every_ns":0,"ended":false}`},
		{
			snug.Stats{Polls: 9, Changes: 2, Interval: 250 * time.Millisecond, GivenUp: []string{"GOMAXPROCS", "GOMEMLIMIT"}, Ended: true, Failure: "theirs: \"x\""},
			`{"polls":9,"changes":2,"every_ns":250000000,"given_up":["GOMAXPROCS","GOMEMLIMIT"],"ended":true,"failure":"theirs: \"x\""}`,
		},
	} {
		if b, err := json.Marshal(c.s); err != nil || string(b) != c.want {
			t.Errorf("%s, %v; want %s", b, err, c.want)
		}
	}
}

func TestNonsenseInAVariableIsReported(t *testing.T) {
	knobs(t)
	t.Setenv("SNUG_MAX_PROCS", "lots")
	p := fit(t, snug.Options{DryRun: true})
	i := slices.IndexFunc(p.Warnings, func(w limits.Warning) bool { return w.Code == "env-invalid" })
	if i < 0 || p.Warnings[i].File != "SNUG_MAX_PROCS" || p.Warnings[i].Raw != "lots" {
		t.Errorf("warnings %+v, want one about SNUG_MAX_PROCS=lots", p.Warnings)
	}
}

// However many calls of Fit run at once, the last Undo restores the first values.
func TestConcurrentFits(t *testing.T) {
	knobs(t)
	before := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				p, err := snug.Fit(hinted)
				if err != nil {
					t.Error(err)
				}
				p.Undo()
			}
		}()
	}
	wg.Wait()
	fit(t, hinted).Undo()
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != before || m != math.MaxInt64 {
		t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d, want %d and none", n, m, before)
	}
}
