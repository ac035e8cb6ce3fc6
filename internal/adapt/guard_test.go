// SPDX-License-Identifier: Apache-2.0

package adapt_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/snug-go/snug/internal/adapt"
	"github.com/snug-go/snug/internal/simulator"
)

// squeezed is a live heap of 900 of 1000 MiB, looked at twice: on one core, of which
// used and collections had those shares in between.
func squeezed(used, gc float64, p adapt.MemoryPolicy, change func(*adapt.MemorySample)) (adapt.MemorySample, adapt.MemoryDecision) {
	x := quiet(0, 1000*mib, 960*mib, 900*mib)
	x.Heap.Mapped, x.Heap.Objects = 950*mib, 920*mib
	x.CPU = adapt.CPU{Procs: 2, Cores: 1}
	s, _ := adapt.StepMemory(adapt.MemoryState{}, x, p)
	x.At += 2
	x.Heap.Cycles += 9
	// The runtime's classes count seconds of Ps, too many of them.
	x.CPU.At, x.CPU.Used, x.CPU.GC, x.CPU.Busy = x.At, 2*used, 7*2*gc, 7*2*used
	if change != nil {
		change(&x)
	}
	_, d := adapt.StepMemory(s, x, p)
	return x, d
}

// TestGuardBounds: what a live heap of 900 of 1000 MiB gets.
func TestGuardBounds(t *testing.T) {
	const limit = 1000 * mib
	x, oom := squeezed(0.98, 0.4, adapt.MemoryPolicy{}, nil)
	if need := x.Heap.Need(10); oom.Limit != need || need <= limit || oom.Code != adapt.MemoryGuardOOM || !oom.Guarded {
		t.Errorf("oom: %+v, want what 10 %% growth needs, %d", oom, need)
	}
	_, thrash := squeezed(0.98, 0.4, adapt.MemoryPolicy{Guard: adapt.Thrash}, nil)
	if thrash.Limit/mib != 980 || thrash.Code != adapt.MemoryGuardThrash || !thrash.Guarded {
		t.Errorf("thrash: %+v, want 10 MiB below what is left", thrash)
	}
	if oom.Next > 0.1 || thrash.Next > 0.1 {
		t.Errorf("looks again after %v and %v s under the guard", oom.Next, thrash.Next)
	}
}

// TestGuardWaitsForHarm: collections that cost little, or only what nobody else
// wants, and costs that are not known, are no reason to risk a kill.
func TestGuardWaitsForHarm(t *testing.T) {
	for name, c := range map[string]struct {
		used, gc float64
		change   func(*adapt.MemorySample)
	}{
		"cheap":                {0.98, 0.2, nil},
		"the CPU is not short": {0.7, 0.6, nil},
		"idle":                 {0.01, 0.009, nil},
		"too soon":             {0.98, 0.4, func(x *adapt.MemorySample) { x.CPU.At = 1 }},
		"one cycle":            {0.98, 0.4, func(x *adapt.MemorySample) { x.Heap.Cycles -= 8 }},
		"cycles went back":     {0.98, 0.4, func(x *adapt.MemorySample) { x.Heap.Cycles = 1 }},
		"CPU time unknown":     {0.98, 0.4, func(x *adapt.MemorySample) { x.CPU.Used = math.NaN() }},
		"classes unknown":      {0.98, 0.4, func(x *adapt.MemorySample) { x.CPU.GC = math.NaN() }},
		"classes at once":      {0.98, 0.4, func(x *adapt.MemorySample) { x.CPU.GC, x.CPU.Busy = 0, 0 }},
		"cores unknown":        {0.98, 0.4, func(x *adapt.MemorySample) { x.CPU.Cores = 0 }},
		"no time":              {0.98, 0.4, func(x *adapt.MemorySample) { x.CPU.At = math.NaN() }},
	} {
		if _, d := squeezed(c.used, c.gc, adapt.MemoryPolicy{}, c.change); d.Guarded || d.Limit > 900*mib {
			t.Errorf("%s: %+v, want no guard", name, d)
		}
	}
}

// TestGuardBusyOnly: the same live heap in a program that leaves CPU, and in one that
// takes what it can get.
func TestGuardBusyOnly(t *testing.T) {
	guarded := func(rate float64) (ever bool, killed bool, tight bool) {
		h := simulator.NewHeap(0.74 * small)
		h.OpCPU, h.Rate = 50e-6, rate
		g := one(h, small)
		v := &governor{heap: h}
		v.check = func(x *adapt.MemorySample, d *adapt.MemoryDecision) {
			ever = ever || d.Guarded
			tight = tight || x.Heap.EffectiveGOGC() < 10
		}
		run(g, 60, 1, func(g *simulator.Group, _ *rand.Rand) { g.NonGo = 0.02 * small }, v)
		return ever, g.Killed, tight
	}
	if ever, killed, tight := guarded(1500); ever || killed || !tight {
		t.Errorf("a program that leaves CPU: guard %v, killed %v, effective GOGC below 10 %v", ever, killed, tight)
	}
	if ever, _, _ := guarded(0); !ever {
		t.Errorf("a program that uses all of it: no guard")
	}
}

// TestGuardLeavesTheIdle: a process that has taken all CPU to load what it serves
// from then on at leisure gets no more memory than is safe for long, and one that
// is busy now and then does not see GOMEMLIMIT go up and down.
func TestGuardLeavesTheIdle(t *testing.T) {
	h := simulator.NewHeap(0.74 * small)
	h.OpCPU = 50e-6
	g := one(h, small)
	v := &governor{heap: h}
	on, times, last := 0.0, 0, 0.0
	v.check = func(_ *adapt.MemorySample, d *adapt.MemoryDecision) {
		switch {
		case d.Guarded && on == 0:
			on = g.At
			times++
		case !d.Guarded && on > 0:
			last, on = g.At-on, 0
		}
	}
	run(g, 45, 1, func(g *simulator.Group, _ *rand.Rand) {
		g.NonGo = 0.02 * small
		if h.Rate = 0; g.At > 5 {
			h.Rate = 2000
		}
	}, v)
	if g.Killed || times != 1 || on != 0 || last > 20 || float64(h.MemoryLimit()) > 0.9*small {
		t.Errorf("loaded, then idle: killed %v, guard on %d times, %.1f s long, then %.2f of the limit", g.Killed, times, last, float64(h.MemoryLimit())/small)
	}
	times = 0
	run(g, 1000, 1, func(g *simulator.Group, _ *rand.Rand) {
		if h.Rate = 2000; math.Mod(g.At, 25) < 8 {
			h.Rate = 0
		}
	}, v)
	if g.Killed || times > 12 {
		t.Errorf("busy a third of the time: killed %v, guard on %d times in 950 s", g.Killed, times)
	}
}

// TestGuardLetsGo: after the live heap has gone, so does the guard.
func TestGuardLetsGo(t *testing.T) {
	h := simulator.NewHeap(small / 2)
	h.OpCPU = 100e-6
	g := one(h, small)
	v := &governor{heap: h}
	on, off := 0.0, 0.0
	run(g, 60, 1, func(g *simulator.Group, _ *rand.Rand) {
		h.Live = small / 2
		if g.At > 10 && g.At < 20 {
			h.Live = 0.76 * small
		}
		if v.d.Guarded && on == 0 {
			on = g.At
		}
		if !v.d.Guarded && on > 0 && off == 0 {
			off = g.At
		}
	}, v)
	if g.Killed || on == 0 || off < 29 || off > 35 || h.MemoryLimit() > 9*small/10 {
		t.Errorf("killed %v, guard on at %.1f s, off at %.1f s, then %.2f of the limit", g.Killed, on, off, float64(h.MemoryLimit())/small)
	}
}
