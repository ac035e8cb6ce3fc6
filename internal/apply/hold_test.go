// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/snug-go/snug/internal/plan"
)

// leave returns a plan that leaves all knobs alone.
func leave() *plan.Plan { return want(0, 0) }

// freshGOGC is fresh for GOGC as well, which is then 100.
func freshGOGC(t *testing.T) {
	t.Helper()
	fresh(t)
	before := debug.SetGCPercent(100)
	gogc = knob{}
	t.Cleanup(func() {
		debug.SetGCPercent(before)
		gogc = knob{}
	})
}

func percent() int {
	n := debug.SetGCPercent(100)
	debug.SetGCPercent(n)
	return n
}

// did checks the result of a step, and then the process's Ps and snug's value of them.
func did(t *testing.T, step string, got, want Did, procs, own int) {
	t.Helper()
	now := AtStart(0)
	if got != want || now.Procs != procs || runtime.GOMAXPROCS(0) != procs || now.OwnProcs != own {
		t.Errorf("%s: %v, want %v; GOMAXPROCS %d, AtStart says %d, of which %d by snug; want %d and %d",
			step, got, want, runtime.GOMAXPROCS(0), now.Procs, now.OwnProcs, procs, own)
	}
}

func TestHoldProcs(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	r := Take(leave(), false)
	did(t, "it is not what was looked at", r.Procs(4, 5, false), Left, 3, 0)
	did(t, "it is", r.Procs(3, 5, false), Set, 5, 5)
	did(t, "snug's own, whatever was looked at", r.Procs(3, 6, false), Set, 6, 6)
	did(t, "the same", r.Procs(6, 6, false), Already, 6, 6)
	did(t, "given back", r.ReleaseProcs(), Set, 3, 0)
	did(t, "there is nothing to give back", r.ReleaseProcs(), Already, 3, 0)
	did(t, "taken again", r.Procs(3, 4, false), Set, 4, 4)
	runtime.GOMAXPROCS(7)
	did(t, "the program's own", r.Procs(7, 5, false), Lost, 7, 4)
	runtime.GOMAXPROCS(4)
	later := Take(leave(), false)
	did(t, "a later Take", r.Procs(3, 5, false), Lost, 3, 0)
	did(t, "and what it does not hold", r.ReleaseProcs(), Lost, 3, 0)
	if r.Holds() || !later.Holds() {
		t.Errorf("the earlier holds %v, the later %v", r.Holds(), later.Holds())
	}
	dry := Take(leave(), true)
	did(t, "dry", dry.Procs(3, 5, false), Would, 3, 0)
	did(t, "dry, nothing is held", dry.ReleaseProcs(), Already, 3, 0)
	did(t, "beside the dry one", later.Procs(3, 5, false), Set, 5, 5)
	did(t, "dry, and held", dry.ReleaseProcs(), Would, 5, 5)
	later.Undo()
	did(t, "undone", later.ReleaseProcs(), Lost, 3, 0)
}

func TestHoldMemory(t *testing.T) {
	fresh(t)
	r := Take(leave(), false)
	for _, step := range []struct {
		name  string
		do    func() Did
		want  Did
		bytes int64
	}{
		{"set", func() Did { return r.Memory(1 << 30) }, Set, 1 << 30},
		{"the same", func() Did { return r.Memory(1 << 30) }, Already, 1 << 30},
		{"given back", r.ReleaseMemory, Set, plan.NoMemLimit},
		{"nothing to give back", r.ReleaseMemory, Already, plan.NoMemLimit},
		{"again", func() Did { return r.Memory(2 << 30) }, Set, 2 << 30},
		{"the program's own", func() Did { debug.SetMemoryLimit(3 << 30); return r.Memory(1 << 30) }, Lost, 3 << 30},
		{"a later take", func() Did { Take(leave(), false); return r.ReleaseMemory() }, Lost, 3 << 30},
	} {
		if got := step.do(); got != step.want || debug.SetMemoryLimit(-1) != step.bytes {
			t.Errorf("%s: %v, want %v; GOMEMLIMIT %d, want %d", step.name, got, step.want, debug.SetMemoryLimit(-1), step.bytes)
		}
	}
}

// TestAdopted: Undo keeps what `snug run` has set, and it goes when the limits go.
func TestAdopted(t *testing.T) {
	fresh(t)
	runtime.GOMAXPROCS(3)
	debug.SetMemoryLimit(1 << 30)
	adopt := func() {
		t.Helper()
		if !Adopt("GOMAXPROCS", 3) || !Adopt("GOMEMLIMIT", 1<<30) {
			t.Fatal("not adopted")
		}
	}
	adopt()
	r := Take(want(4, 2<<30), false)
	r.Undo()
	if n, m := runtime.GOMAXPROCS(0), debug.SetMemoryLimit(-1); n != 3 || m != 1<<30 {
		t.Errorf("undone: %d, %d; want what snug run has set", n, m)
	}
	adopt()
	r = Take(want(3, 1<<30), false)
	if did := r.ReleaseMemory(); did != Set || debug.SetMemoryLimit(-1) != plan.NoMemLimit {
		t.Errorf("%v, GOMEMLIMIT %d; want none", did, debug.SetMemoryLimit(-1))
	}
	if did := r.ReleaseProcs(); did != Set || runtime.GOMAXPROCS(0) == 3 && runtime.NumCPU() != 3 {
		t.Errorf("%v, GOMAXPROCS %d; want the runtime's own", did, runtime.GOMAXPROCS(0))
	}
}

func TestHoldGOGC(t *testing.T) {
	freshGOGC(t)
	r := Take(leave(), false)
	for _, step := range []struct {
		name    string
		do      func() Did
		want    Did
		percent int
	}{
		{"it is not what was looked at", func() Did { return r.GOGC(50, 200) }, Lost, 100},
		{"it is", func() Did { return r.GOGC(100, 200) }, Set, 200},
		{"the same", func() Did { return r.GOGC(200, 200) }, Already, 200},
		{"more", func() Did { return r.GOGC(200, 400) }, Set, 400},
		{"the program's own", func() Did { debug.SetGCPercent(70); return r.GOGC(70, 200) }, Lost, 70},
		{"what is the program's is not undone", func() Did { r.Undo(); return Lost }, Lost, 70},
		{"nor touched by who was undone", func() Did { return r.GOGC(70, 200) }, Lost, 70},
		{"a later Take", func() Did { r = Take(leave(), false); return r.GOGC(70, 300) }, Set, 300},
		{"gives back what is snug's", func() Did { r.Undo(); return Set }, Set, 70},
	} {
		if got := step.do(); got != step.want || percent() != step.percent {
			t.Errorf("%s: %v, want %v; GOGC %d, want %d", step.name, got, step.want, percent(), step.percent)
		}
	}
}

// TestNone: only a Result that came too late reports None.
func TestNone(t *testing.T) {
	fresh(t)
	set, dry := Take(leave(), false), Take(leave(), true)
	if (&Result{}).None() != true || set.None() || dry.None() {
		t.Errorf("the zero Result %v, one that took %v, a dry one %v", (&Result{}).None(), set.None(), dry.None())
	}
}
