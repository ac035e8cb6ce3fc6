// SPDX-License-Identifier: Apache-2.0

package adapt_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/snug-go/snug/internal/adapt"
)

// calm is a heap of live bytes that is far from its limit.
func calm(live int64) adapt.Heap {
	return adapt.Heap{Mapped: live * 2, Objects: live * 3 / 2, Live: live, Goal: live * 2, GOGC: 100, Limit: math.MaxInt64, Cycles: 7}
}

func quiet(at float64, limit, used, live int64) adapt.MemorySample {
	return adapt.MemorySample{At: at, Limit: limit, Used: used, Heap: calm(live)}
}

func TestMemorySituations(t *testing.T) {
	const limit = 1000 * mib
	before := quiet(0, limit, 100*mib, 20*mib)
	before.Heap.Cycles, before.Heap.Live = 0, 0
	broken := quiet(0, limit, 100*mib, 20*mib)
	broken.Heap = adapt.Heap{}
	for _, c := range []struct {
		situation string
		x         adapt.MemorySample
		p         adapt.MemoryPolicy
		code      string
		want      int64 // MiB
	}{
		{"no limit", quiet(0, 0, 100*mib, 20*mib), adapt.MemoryPolicy{}, adapt.MemoryNoLimit, 0},
		{"a limit too small to share", quiet(0, 63*mib, 40*mib, 10*mib), adapt.MemoryPolicy{}, adapt.MemoryTooSmall, 0},
		{"use cannot be read", quiet(0, limit, -1, 20*mib), adapt.MemoryPolicy{}, adapt.MemoryUnknown, 0},
		{"the runtime cannot be read", broken, adapt.MemoryPolicy{}, adapt.MemoryUnknown, 0},
		{"before the first cycle", before, adapt.MemoryPolicy{}, adapt.MemoryStatic, 760},
		{"60 MiB is not Go's", quiet(0, limit, 100*mib, 20*mib), adapt.MemoryPolicy{}, adapt.MemoryMeasured, 760},
		{"nothing but Go", quiet(0, limit, 40*mib, 20*mib), adapt.MemoryPolicy{}, adapt.MemoryMeasured, 820},
		{"a smaller reserve", quiet(0, limit, 40*mib, 20*mib), adapt.MemoryPolicy{Reserve: 0.1}, adapt.MemoryMeasured, 870},
		{"hardly a reserve", quiet(0, limit, 40*mib, 20*mib), adapt.MemoryPolicy{Reserve: 0.01}, adapt.MemoryCap, 900},
		{"a reserve that cannot be", quiet(0, limit, 40*mib, 20*mib), adapt.MemoryPolicy{Reserve: math.NaN()}, adapt.MemoryMeasured, 820},
	} {
		_, d := adapt.StepMemory(adapt.MemoryState{}, c.x, c.p)
		if d.Code != c.code || d.Limit/mib != c.want || d.Guarded || d.Collect || d.Next != 1 {
			t.Errorf("%s: %+v, want %s and %d MiB", c.situation, d, c.code, c.want)
		}
	}
}

func TestMemoryFollows(t *testing.T) {
	const limit = 1000 * mib
	var s adapt.MemoryState
	var d adapt.MemoryDecision
	at := 0.0
	step := func(used int64, l int64) {
		at++
		s, d = adapt.StepMemory(s, quiet(at, l, used, 20*mib), adapt.MemoryPolicy{})
	}
	step(40*mib, limit)
	step(440*mib, limit)
	if d.Limit/mib > 1000-400-30 || d.NonGo != 400*mib || d.Next > 0.5 {
		t.Errorf("other memory rose by 400 MiB: %+v", d)
	}
	step(40*mib, limit)
	low := d.Limit
	for range 2 {
		step(40*mib, limit)
	}
	if d.Held < 300*mib || d.Limit > 800*mib {
		t.Errorf("3 s after a burst: %+v, want its peak held", d)
	}
	for range 300 {
		step(40*mib, limit)
	}
	if d.Limit <= low || d.Limit < 810*mib {
		t.Errorf("5 minutes after a burst: %+v, want it forgotten", d)
	}
	step(40*mib, limit/2)
	if d.Limit > limit/2*9/10 {
		t.Errorf("half the limit: %+v, want at once", d)
	}
	small := d.Limit
	step(40*mib, limit)
	if d.Limit != small {
		t.Errorf("the limit came back: %d, want %d for a while", d.Limit, small)
	}
	for range 4 {
		step(40*mib, limit)
	}
	if d.Limit < 810*mib {
		t.Errorf("the limit came back 5 s ago: %+v", d)
	}
}

// TestMemoryUnreadable: what cannot be read changes nothing, except that no
// value stays above a limit that has fallen.
func TestMemoryUnreadable(t *testing.T) {
	const limit = 1000 * mib
	bad := map[string]func(*adapt.MemorySample){
		"use":         func(x *adapt.MemorySample) { x.Used = -1 },
		"heap":        func(x *adapt.MemorySample) { x.Heap = adapt.Heap{} },
		"live":        func(x *adapt.MemorySample) { x.Heap.Live = math.MaxInt64 },
		"time":        func(x *adapt.MemorySample) { x.At = math.NaN() },
		"other bytes": func(x *adapt.MemorySample) { x.Heap.Objects = -5 },
	}
	for name, spoil := range bad {
		s, d := adapt.StepMemory(adapt.MemoryState{}, quiet(0, limit, 100*mib, 20*mib), adapt.MemoryPolicy{})
		want := d.Limit
		for i := range 20 {
			x := quiet(float64(i), limit, 900*mib, 20*mib)
			spoil(&x)
			if s, d = adapt.StepMemory(s, x, adapt.MemoryPolicy{}); d.Limit != want || d.Code != adapt.MemoryUnknown || d.Collect {
				t.Fatalf("%s: %+v, want %d left alone", name, d, want)
			}
		}
		x := quiet(30, limit/2, 100*mib, 20*mib)
		spoil(&x)
		if s, d = adapt.StepMemory(s, x, adapt.MemoryPolicy{}); d.Limit > limit/2*9/10 {
			t.Errorf("%s: %d of %d after the limit fell", name, d.Limit, limit/2)
		}
		if _, d = adapt.StepMemory(s, quiet(31, limit/2, 100*mib, 20*mib), adapt.MemoryPolicy{}); d.Code == adapt.MemoryUnknown {
			t.Errorf("%s: did not recover", name)
		}
	}
}

// TestMemoryCollectsRarely: go-watchdog collected at every tick while use was
// above its threshold, and use did not fall.
func TestMemoryCollectsRarely(t *testing.T) {
	const limit = 1000 * mib
	var s adapt.MemoryState
	r := rand.New(rand.NewPCG(1, 2))
	collects := 0
	for i := range 6000 {
		x := quiet(float64(i)/10, limit, 0, 300*mib)
		x.Heap.Mapped, x.Heap.Objects = 700*mib, 650*mib // and no collection changes that
		x.Used = x.Heap.Mapped + r.Int64N(280*mib)
		var d adapt.MemoryDecision
		if s, d = adapt.StepMemory(s, x, adapt.MemoryPolicy{}); d.Collect {
			collects++
		}
	}
	if collects == 0 || collects > 8 {
		t.Errorf("%d collections in 10 minutes, want a few, ever more rarely", collects)
	}
}

// holds checks what every decision promises.
func holds(t *testing.T, x *adapt.MemorySample, d *adapt.MemoryDecision) {
	t.Helper()
	if !(d.Next >= 0.02 && d.Next <= 1) {
		t.Fatalf("%+v for %+v: Next", *d, *x)
	}
	if d.Limit == 0 {
		if d.Code != adapt.MemoryNoLimit && d.Code != adapt.MemoryTooSmall && d.Code != adapt.MemoryUnknown || d.Collect {
			t.Fatalf("%+v for %+v: nothing decided", *d, *x)
		}
		return
	}
	most := min(int64(0.9*float64(x.Limit)), x.Limit-adapt.MinHeadroom)
	if d.Guarded {
		most = 2 * x.Limit
	}
	if d.Limit < adapt.MinHeadroom || d.Limit > most {
		t.Fatalf("%+v for %+v: not between %d and %d", *d, *x, adapt.MinHeadroom, most)
	}
	unknown := d.NonGo == -1 && d.Held == -1 && d.Margin == -1 && d.Reserve == -1
	if !unknown && (d.NonGo < 0 || d.Held < d.NonGo || d.Margin < 0 || d.Reserve < 0) {
		t.Fatalf("%+v for %+v: impossible", *d, *x)
	}
}

func FuzzMemory(f *testing.F) {
	f.Add(uint64(1), int64(256*mib), int64(100*mib), int64(80*mib), int64(30*mib), 1.0, 0.15, false)
	f.Add(uint64(2), int64(math.MaxInt64), int64(-1), int64(0), int64(math.MinInt64), math.Inf(-1), math.NaN(), true)
	f.Fuzz(func(t *testing.T, seed uint64, limit, used, mapped, live int64, dt, reserve float64, thrash bool) {
		r := rand.New(rand.NewPCG(seed, 9))
		p := adapt.MemoryPolicy{Reserve: reserve}
		if thrash {
			p.Guard = adapt.Thrash
		}
		var s adapt.MemoryState
		var a adapt.PressureState
		at := 0.0
		for range 50 {
			x := adapt.MemorySample{At: at, Limit: limit, Used: used}
			x.Heap = adapt.Heap{Mapped: mapped, Live: live, Objects: mapped / 2, Goal: live * 2, Cycles: r.Uint64N(5)}
			for _, field := range []*int64{&x.Limit, &x.Used, &x.Heap.Mapped, &x.Heap.Live, &x.Heap.Objects, &x.Heap.Free, &x.Heap.Stacks, &x.Heap.Goal} {
				switch r.IntN(12) {
				case 0:
					*field = int64(r.Uint64())
				case 1, 2, 3:
					*field = int64(float64(*field) * 2 * r.Float64())
				}
			}
			var d adapt.MemoryDecision
			s, d = adapt.StepMemory(s, x, p)
			if x.Limit > 0 && x.Limit <= 1<<60 {
				holds(t, &x, &d)
			}
			a, _ = adapt.StepPressure(a, at, &x.Heap, r.Float64())
			at += dt
		}
		if !(math.Abs(at) < 1e9) {
			return
		}
		// It recovers from whatever it was told.
		for i := range 400 {
			x := quiet(at+float64(i), 1000*mib, 100*mib, 20*mib)
			var d adapt.MemoryDecision
			s, d = adapt.StepMemory(s, x, adapt.MemoryPolicy{})
			if i == 399 && (d.Guarded || d.Limit < 500*mib) {
				t.Fatalf("400 quiet seconds later: %+v", d)
			}
		}
	})
}

func TestMemoryAllocates(t *testing.T) {
	var s adapt.MemoryState
	var a adapt.PressureState
	at := 0.0
	if n := testing.AllocsPerRun(100, func() {
		at++
		x := quiet(at, 1000*mib, int64(40+at)*mib, 20*mib)
		s, _ = adapt.StepMemory(s, x, adapt.MemoryPolicy{})
		a, _ = adapt.StepPressure(a, at, &x.Heap, math.NaN())
	}); n != 0 {
		t.Errorf("%v allocations at each step", n)
	}
}
