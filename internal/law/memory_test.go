// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/snug-go/snug/internal/law"
)

// calm returns a heap of live bytes far below its limit.
func calm(live int64) law.Heap {
	return law.Heap{Mapped: live * 2, Objects: live * 3 / 2, Live: live, Goal: live * 2, GOGC: 100, Limit: math.MaxInt64, Cycles: 7}
}

func quiet(at float64, limit, used, live int64) law.MemorySample {
	return law.MemorySample{At: at, Limit: limit, Used: used, Max: limit - limit/10, Heap: calm(live)}
}

func TestMemorySituations(t *testing.T) {
	const limit = 1000 * mib
	before := quiet(0, limit, 140*mib, 20*mib)
	before.Heap.Cycles, before.Heap.Live = 0, 0
	broken := quiet(0, limit, 100*mib, 20*mib)
	broken.Heap = law.Heap{}
	asked := quiet(0, limit, 100*mib, 20*mib)
	asked.Max = 600 * mib
	left := quiet(0, limit, 100*mib, 20*mib)
	left.Max = 0
	for _, c := range []struct {
		situation string
		x         law.MemorySample
		want      int64 // MiB
	}{
		{"no limit", quiet(0, 0, 100*mib, 20*mib), 0},
		{"GOMEMLIMIT is left alone", left, 0},
		{"use cannot be read", quiet(0, limit, -1, 20*mib), 0},
		{"the runtime cannot be read", broken, 0},
		{"before the first cycle", before, 850},
		{"100 MiB are not Go's", quiet(0, limit, 140*mib, 20*mib), 850},
		{"40 MiB are not Go's", quiet(0, limit, 80*mib, 20*mib), 900},
		{"nothing but Go", quiet(0, limit, 40*mib, 20*mib), 900},
		{"less was asked for", asked, 600},
		{"300 MiB are not Go's", quiet(0, limit, 340*mib, 20*mib), 650},
		{"a live heap that does not fit beside them", quiet(0, limit, 1000*mib, 400*mib), 750},
	} {
		_, d := law.StepMemory(law.MemoryState{}, c.x)
		if d.Limit/mib != c.want {
			t.Errorf("%s: %+v, want %d MiB", c.situation, d, c.want)
		}
	}
}

func TestMemoryFollows(t *testing.T) {
	const limit = 1000 * mib
	var s law.MemoryState
	var d law.MemoryDecision
	at := 0.0
	step := func(used, limit int64) {
		at++
		s, d = law.StepMemory(s, quiet(at, limit, used, 20*mib))
	}
	step(40*mib, limit)
	step(440*mib, limit)
	if d.Limit/mib != 550 || d.NonGo != 400*mib {
		t.Errorf("other memory rose by 400 MiB: %+v", d)
	}
	for range 3 {
		step(40*mib, limit)
	}
	if d.NonGo != 0 || d.Peak < 370*mib || d.Limit > 580*mib {
		t.Errorf("3 s after a burst: %+v, want its peak remembered", d)
	}
	for range 300 {
		step(40*mib, limit)
	}
	if d.Limit != 900*mib {
		t.Errorf("5 minutes after a burst: %+v, want it forgotten", d)
	}
	step(40*mib, limit/2)
	if d.Limit != limit/2*9/10 {
		t.Errorf("half the limit: %+v, want at once", d)
	}
}

// TestMemoryPeakLeavesTheHeapAlone: a past peak does not hold GOMEMLIMIT so close to the live heap
// that the collector takes over; a current one does.
func TestMemoryPeakLeavesTheHeapAlone(t *testing.T) {
	const limit = 1000 * mib
	full := func(at float64, used int64) law.MemorySample {
		x := quiet(at, limit, used, 600*mib)
		x.Heap.Mapped, x.Heap.Objects, x.Heap.Goal = 640*mib, 620*mib, 640*mib
		return x
	}
	s, d := law.StepMemory(law.MemoryState{}, full(0, 940*mib))
	if d.Limit != 650*mib {
		t.Errorf("%+v, want what 300 MiB leave", d)
	}
	x := full(1, 640*mib)
	if _, d = law.StepMemory(s, x); d.Limit != x.Heap.Need(10) || d.Peak < 290*mib {
		t.Errorf("%+v, want %d, so that the heap can grow by a tenth", d, x.Heap.Need(10))
	}
}

// TestMemoryUnreadable: an unreadable sample changes nothing, except that no value stays above
// what a lower limit allows.
func TestMemoryUnreadable(t *testing.T) {
	const limit = 1000 * mib
	bad := map[string]func(*law.MemorySample){
		"use":         func(x *law.MemorySample) { x.Used = -1 },
		"heap":        func(x *law.MemorySample) { x.Heap = law.Heap{} },
		"live":        func(x *law.MemorySample) { x.Heap.Live = math.MaxInt64 },
		"time":        func(x *law.MemorySample) { x.At = math.NaN() },
		"other bytes": func(x *law.MemorySample) { x.Heap.Objects = -5 },
	}
	for name, spoil := range bad {
		s, d := law.StepMemory(law.MemoryState{}, quiet(0, limit, 100*mib, 20*mib))
		want := d.Limit
		for i := range 20 {
			x := quiet(float64(i), limit, 900*mib, 20*mib)
			spoil(&x)
			if s, d = law.StepMemory(s, x); d.Limit != want || d.NonGo != -1 {
				t.Fatalf("%s: %+v, want %d left alone", name, d, want)
			}
		}
		x := quiet(30, limit/2, 100*mib, 20*mib)
		spoil(&x)
		if s, d = law.StepMemory(s, x); d.Limit > limit/2*9/10 {
			t.Errorf("%s: %d of %d after the limit fell", name, d.Limit, limit/2)
		}
		if _, d = law.StepMemory(s, quiet(31, limit/2, 100*mib, 20*mib)); d.NonGo == -1 {
			t.Errorf("%s: did not recover", name)
		}
	}
}

// TestMemoryMax: not a byte above it, even where float64 is inexact.
func TestMemoryMax(t *testing.T) {
	x := quiet(0, 1<<60-99, 100*mib, 20*mib)
	x.Max, x.Limit = x.Limit, 1<<62
	if _, d := law.StepMemory(law.MemoryState{}, x); d.Limit != x.Max {
		t.Errorf("%d, want %d", d.Limit, x.Max)
	}
}

// holds checks the invariants of every decision.
func holds(t *testing.T, x *law.MemorySample, d *law.MemoryDecision) {
	t.Helper()
	if d.Limit < 0 || d.Limit > max(x.Max, 0) {
		t.Fatalf("%+v for %+v", *d, *x)
	}
	if unknown := d.NonGo == -1 && d.Peak == -1; !unknown && (d.NonGo < 0 || d.Peak < d.NonGo || d.Peak > x.Limit) {
		t.Fatalf("%+v for %+v: impossible", *d, *x)
	}
}

func FuzzMemory(f *testing.F) {
	f.Add(uint64(1), int64(256*mib), int64(100*mib), int64(80*mib), int64(30*mib), 1.0)
	f.Add(uint64(2), int64(math.MaxInt64), int64(-1), int64(0), int64(math.MinInt64), math.Inf(-1))
	f.Fuzz(func(t *testing.T, seed uint64, limit, used, mapped, live int64, dt float64) {
		r := rand.New(rand.NewPCG(seed, 9))
		var s law.MemoryState
		var a law.PressureState
		at := 0.0
		for range 50 {
			x := law.MemorySample{At: at, Limit: limit, Used: used, Max: limit}
			x.Heap = law.Heap{Mapped: mapped, Live: live, Objects: mapped / 2, Goal: live * 2, Cycles: r.Uint64N(5)}
			for _, field := range []*int64{&x.Limit, &x.Used, &x.Max, &x.Heap.Mapped, &x.Heap.Live, &x.Heap.Objects, &x.Heap.Free, &x.Heap.Stacks, &x.Heap.Goal} {
				switch r.IntN(12) {
				case 0:
					*field = int64(r.Uint64())
				case 1, 2, 3:
					*field = int64(float64(*field) * 2 * r.Float64())
				}
			}
			var d law.MemoryDecision
			s, d = law.StepMemory(s, x)
			holds(t, &x, &d)
			a, _ = law.StepPressure(a, at, &x.Heap, r.Float64())
			at += dt
		}
		if !(math.Abs(at) < 1e9) {
			return
		}
		// It recovers from any input.
		for i := range 400 {
			var d law.MemoryDecision
			s, d = law.StepMemory(s, quiet(at+float64(i), 1000*mib, 100*mib, 20*mib))
			if i == 399 && d.Limit < 850*mib {
				t.Fatalf("400 quiet seconds later: %+v", d)
			}
		}
	})
}

func TestMemoryAllocates(t *testing.T) {
	var s law.MemoryState
	var a law.PressureState
	at := 0.0
	if n := testing.AllocsPerRun(100, func() {
		at++
		x := quiet(at, 1000*mib, int64(40+at)*mib, 20*mib)
		s, _ = law.StepMemory(s, x)
		a, _ = law.StepPressure(a, at, &x.Heap, math.NaN())
	}); n != 0 {
		t.Errorf("%v allocations at each step", n)
	}
}
