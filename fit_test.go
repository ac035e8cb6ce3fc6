// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"testing"

	"github.com/snug-go/snug"
)

// knobs lets a test find the knobs as the runtime has them, without an
// operator, and puts them back.
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

// hinted decides on both knobs wherever the tests run.
var hinted = snug.Options{MaxProcs: 1, MemoryLimit: 512 << 20}

const hintedMemory = 512<<20 - 512<<20/10

func TestFitAndUndo(t *testing.T) {
	knobs(t)
	before := runtime.GOMAXPROCS(0)
	p, undo := snug.Fit(hinted)
	if got := runtime.GOMAXPROCS(0); got != 1 || p.GOMAXPROCS.Value != 1 || p.GOMAXPROCS.Reason.Code != "max-procs" {
		t.Errorf("GOMAXPROCS = %d, plan %+v, want 1 by max-procs", got, p.GOMAXPROCS)
	}
	if got := debug.SetMemoryLimit(-1); got != hintedMemory || p.GOMEMLIMIT.Value != hintedMemory || p.GOMEMLIMIT.Action != snug.Set {
		t.Errorf("GOMEMLIMIT = %d, plan %+v, want %d, set", got, p.GOMEMLIMIT, hintedMemory)
	}
	if p.GOGC.Action != snug.Left {
		t.Errorf("GOGC %+v, want left", p.GOGC)
	}
	undo()
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
		{"dry run", "", "", snug.Options{DryRun: true, MaxProcs: 1, MemoryLimit: 512 << 20}, snug.Would, "memory-limit-hint"},
		{"observe", "SNUG", "observe", hinted, snug.Would, "memory-limit-hint"},
		{"off", "SNUG", "off", hinted, snug.Left, "disabled"},
		{"operator's", "GOMEMLIMIT", "1GiB", snug.Options{MemoryLimit: 512 << 20}, snug.Left, "env-set"},
		{"too small", "SNUG_MEMORY_LIMIT", "32MiB", snug.Options{}, snug.Left, "limit-too-small"},
	} {
		t.Run(c.name, func(t *testing.T) {
			knobs(t)
			if c.env != "" {
				t.Setenv(c.env, c.value)
			}
			before := runtime.GOMAXPROCS(0)
			p, undo := snug.Fit(c.o)
			defer undo()
			if p.GOMEMLIMIT.Action != c.action || p.GOMEMLIMIT.Reason.Code != c.code {
				t.Errorf("GOMEMLIMIT %+v, want %s by %s", p.GOMEMLIMIT, c.action, c.code)
			}
			if p.GOMEMLIMIT.Text() == "" {
				t.Error("no text")
			}
			if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != before || m != math.MaxInt64 {
				t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d, want them untouched", n, m)
			}
		})
	}
}

func TestFitLeavesTheProgramsOwn(t *testing.T) {
	knobs(t)
	debug.SetMemoryLimit(300 << 20)
	p, undo := snug.Fit(hinted)
	if p.GOMEMLIMIT.Reason.Code != "program-set" || debug.SetMemoryLimit(-1) != 300<<20 {
		t.Errorf("GOMEMLIMIT %+v, want the program's 300 MiB", p.GOMEMLIMIT)
	}
	undo()
	o := hinted
	o.Override = true
	p, undo = snug.Fit(o)
	if p.GOMEMLIMIT.Action != snug.Set || debug.SetMemoryLimit(-1) != hintedMemory {
		t.Errorf("GOMEMLIMIT %+v, want it overridden", p.GOMEMLIMIT)
	}
	undo()
	if m := debug.SetMemoryLimit(-1); m != 300<<20 {
		t.Errorf("after undo GOMEMLIMIT = %d, want the program's 300 MiB", m)
	}
}

func TestLaterFitTakesOver(t *testing.T) {
	knobs(t)
	_, first := snug.Fit(hinted)
	_, second := snug.Fit(snug.Options{MaxProcs: 1, MemoryLimit: 256 << 20})
	first()
	if m := debug.SetMemoryLimit(-1); m != 256<<20-256<<20/10 {
		t.Errorf("GOMEMLIMIT = %d, want the second's: the first has no say any more", m)
	}
	second()
	if m := debug.SetMemoryLimit(-1); m != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT = %d, want none as before the first", m)
	}
}

func TestOperatorWinsOverOptions(t *testing.T) {
	knobs(t)
	t.Setenv("SNUG_GOMEMLIMIT", "50%")
	p, undo := snug.Fit(snug.Options{MemoryLimit: 512 << 20, GOMEMLIMIT: "80%", DryRun: true})
	defer undo()
	if p.GOMEMLIMIT.Value != 256<<20 {
		t.Errorf("GOMEMLIMIT = %d, want half of 512 MiB", p.GOMEMLIMIT.Value)
	}
}

func TestNonsenseIsReported(t *testing.T) {
	knobs(t)
	t.Setenv("SNUG_MAX_PROCS", "lots")
	p, undo := snug.Fit(snug.Options{GOMEMLIMIT: "12zb", DryRun: true})
	defer undo()
	var files []string
	for _, w := range p.Warnings {
		if w.Code == "env-invalid" {
			files = append(files, w.File)
		}
	}
	slices.Sort(files)
	if !slices.Equal(files, []string{"Options.GOMEMLIMIT", "SNUG_MAX_PROCS"}) {
		t.Errorf("reported %v, want the option and the variable", files)
	}
}

func TestOnPlan(t *testing.T) {
	knobs(t)
	calls := 0
	o := hinted
	o.DryRun = true
	o.OnPlan = func(p snug.Plan) { calls++ }
	snug.Fit(o)
	if calls != 1 {
		t.Errorf("OnPlan was called %d times, want once", calls)
	}
}

// Whoever fits, and however many at once, the last undo leaves the first values.
func TestConcurrentFits(t *testing.T) {
	knobs(t)
	before := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for range 8 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range 20 {
				_, undo := snug.Fit(hinted)
				undo()
			}
		}()
	}
	wg.Wait()
	_, undo := snug.Fit(hinted)
	undo()
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != before || m != math.MaxInt64 {
		t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d, want %d and none", n, m, before)
	}
}
