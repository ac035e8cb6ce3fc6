// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/snug-go/snug/internal/law"
)

const small = 256 * mib

// killed runs a load with GOMEMLIMIT at a static share of the limit, or with the law if share is
// 0. It returns the number of OOM kills and the cores used by collections.
func killed(share, live float64, of func(float64) load) (n int, gc float64) {
	seconds := 0.0
	for seed := uint64(1); seed <= 6; seed++ {
		h := starved(live * small)
		g := one(h, small)
		var all []*governor
		if share == 0 {
			all = append(all, &governor{heap: h})
		} else {
			h.SetMemoryLimit(int64(share * small))
		}
		run(g, 60, seed, of(live), all...)
		if g.Killed {
			n++
		}
		gc += h.GCSeconds
		seconds += g.At
	}
	return n, gc / seconds
}

// TestMemoryKills: never more than with the usual 0.9, and far fewer if other memory needs room.
func TestMemoryKills(t *testing.T) {
	usual, law := 0, 0
	for name, of := range map[string]func(float64) load{"heavy": heavy, "mild": mild, "more": more} {
		for _, live := range []float64{0.3, 0.4, 0.5, 0.6, 0.65, 0.7} {
			n, gc := killed(0, live, of)
			fixed, cost := killed(0.9, live, of)
			t.Logf("%s, live %.2f: %d killed, %d with 0.9; collections %.3f cores, %.3f", name, live, n, fixed, gc, cost)
			if n > fixed {
				t.Errorf("%s, live %.2f: killed in %d of 6 runs, with 0.9 in %d", name, live, n, fixed)
			}
			usual, law = usual+fixed, law+n
		}
	}
	if usual < 12 || law > usual*2/3 {
		t.Errorf("killed %d times, %d with 0.9, want a third fewer", law, usual)
	}
}

// ramp grows the live heap from half of the limit to all of it in 20 s, and reports when the
// throughput fell by 20 %.
func ramp(cpu float64, adaptive bool) (g *Group, v *governor, slow, worst float64) {
	h := NewHeap(small / 2)
	h.OpCPU = cpu
	g = one(h, small)
	v = &governor{heap: h}
	if !adaptive {
		v.watchOnly = true
	}
	var at, ops, best float64
	worst = 1
	run(g, 40, 1, func(g *Group, _ *rand.Rand) {
		h.Live = small * (0.5 + 0.5*min(1, max(0, (g.At-5)/20)))
		if g.At-at < 1 {
			return
		}
		done := (h.Ops - ops) / (g.At - at)
		at, ops = g.At, h.Ops
		if g.At < 6 {
			best = max(best, done)
			return
		}
		worst = min(worst, done/best)
		if slow == 0 && done < 0.8*best {
			slow = g.At
		}
	}, v)
	return g, v, slow, worst
}

func TestMemorySpiral(t *testing.T) {
	for _, cpu := range []float64{100e-6, 200e-6} {
		for _, adaptive := range []bool{false, true} {
			g, v, slow, worst := ramp(cpu, adaptive)
			t.Logf("law %v, %v s an operation: tight at %.1f s, spiral at %.1f, a fifth slower at %.1f, killed at %.1f, throughput down to %.2f",
				adaptive, cpu, v.first[law.Tight], v.first[law.Spiral], slow, g.KilledAt, worst)
			if first := v.first[law.Tight]; first == 0 || slow == 0 || first > slow-2 {
				t.Errorf("law %v: the alarm at %v s, a fifth slower at %v s, want 2 s between", adaptive, first, slow)
			}
		}
	}
}

// TestMemoryStreams: other memory in every shape. GOMEMLIMIT stays within bounds, changes
// rarely, and recovers.
func TestMemoryStreams(t *testing.T) {
	var r *rand.Rand
	shapes := map[string]struct {
		share   func(at float64) float64
		changes int // at most, in the last 100 of 300 s
	}{
		"constant":    {func(float64) float64 { return 0.1 }, 0},
		"step":        {func(at float64) float64 { return 0.05 + 0.2*min(1, max(0, (at-150)/4)) }, 1},
		"ramp":        {func(at float64) float64 { return 0.3 * min(at, 150) / 150 }, 1},
		"oscillating": {func(at float64) float64 { return 0.08 + 0.08*math.Sin(at*0.7) }, 8},
		"square":      {func(at float64) float64 { return 0.15 * math.Mod(math.Floor(at/4), 2) }, 1},
		"noisy":       {func(float64) float64 { return 0.1 + 0.004*r.NormFloat64() }, 4},
		"adversarial": {func(at float64) float64 { // high just long enough to be half forgotten
			return 0.15 * math.Floor(math.Mod(at, 40)/36)
		}, 16},
	}
	for name, shape := range shapes {
		r = rand.New(rand.NewPCG(3, 3))
		h := starved(0.45 * small)
		h.Rate = 3000
		g := one(h, small)
		v := &governor{heap: h}
		run(g, 300, 1, func(g *Group, _ *rand.Rand) { g.NonGo = max(0, shape.share(g.At)) * small }, v)
		late := 0
		for _, c := range v.changes {
			if c.at > 200 {
				late++
			}
		}
		t.Logf("%s: %d changes, %d late, %d polls, at %.3f", name, len(v.changes), late, v.polls, float64(h.MemoryLimit())/small)
		if g.Killed || late > shape.changes || v.polls > 4000 {
			t.Errorf("%s: killed %v, %d changes in the last 100 s, %d polls", name, g.Killed, late, v.polls)
		}
	}
}

// TestMemoryRandomPlants: a program that fits survives, and GOMEMLIMIT settles. Every tenth
// reading fails.
func TestMemoryRandomPlants(t *testing.T) {
	for seed := uint64(1); seed <= 60; seed++ {
		r := rand.New(rand.NewPCG(seed, 5))
		limit := int64(64*mib) << r.IntN(5)
		live, nonGo := 0.1+0.45*r.Float64(), 0.12*r.Float64()
		h := NewHeap(live * float64(limit))
		h.Fixed = min(h.Fixed, 0.02*float64(limit))
		h.OpCPU, h.OpBytes = (5+100*r.Float64())*1e-6, math.Exp(5+5*r.Float64())
		h.Cores, h.Procs = 0.3+2*r.Float64(), 1+r.IntN(8)
		if r.IntN(2) == 0 {
			h.Rate = 0.5 * h.Cores / h.OpCPU
		}
		g := one(h, limit)
		v := &governor{heap: h}
		v.fail = func(at float64, x *law.MemorySample) {
			if r.IntN(10) == 0 {
				x.Used = -1
			}
		}
		v.check = func(x *law.MemorySample, d *law.MemoryDecision) { holds(t, x, d) }
		run(g, 120, seed, func(g *Group, r *rand.Rand) {
			g.NonGo = (nonGo + 0.002*r.Float64()) * float64(g.Limit)
		}, v)
		late := 0
		for _, c := range v.changes {
			if c.at > 60 {
				late++
			}
		}
		if g.Killed || late > 4 {
			t.Errorf("seed %d, live %.2f, other %.2f of %d MiB: killed %v, %d changes after a minute", seed, live, nonGo, limit/mib, g.Killed, late)
		}
	}
}

// TestMemoryThree: three processes in one container, each with a governor that sees the others as
// memory outside Go.
func TestMemoryThree(t *testing.T) {
	const limit = 1024 * mib
	for _, live := range [][3]float64{
		{0.15, 0.15, 0.15}, {0.2, 0.2, 0.2}, {0.25, 0.25, 0.25},
		{0.3, 0.1, 0.05}, {0.4, 0.1, 0.1}, {0.05, 0.02, 0.5},
	} {
		for _, cores := range []float64{0.3, 1} {
			g := &Group{Limit: limit}
			var all []*governor
			for i := range live {
				h := NewHeap(10 * mib)
				h.OpCPU, h.Cores = []float64{60e-6, 30e-6, 90e-6}[i], cores
				h.SetMemoryLimit(limit - limit/10)
				g.Heaps = append(g.Heaps, h)
				all = append(all, &governor{heap: h, next: 0.37 * float64(i)})
			}
			run(g, 300, 1, func(g *Group, _ *rand.Rand) {
				for i, h := range g.Heaps {
					h.Live = live[i] * limit * min(1, 0.1+g.At/20)
				}
			}, all...)
			if g.Killed {
				t.Errorf("%v on %v cores: killed at %.1f s", live, cores, g.KilledAt)
				continue
			}
			for i, v := range all {
				late, direction, turns := 0, 0.0, 0
				for j, c := range v.changes {
					if c.at < 120 {
						continue
					}
					late++
					d := c.limit - v.changes[max(j, 1)-1].limit
					if d*direction < 0 {
						turns++
					}
					direction = d
				}
				s := v.heap.Sample()
				if late > 12 || turns > 6 || s.EffectiveGOGC() < 7.5 { // 10, less a step
					t.Errorf("%v on %v cores, number %d: %d changes and %d turns in 3 minutes, effective GOGC %.0f", live, cores, i, late, turns, s.EffectiveGOGC())
				}
			}
			t.Logf("%v on %v cores: peak %.2f of the limit", live, cores, g.Peak/limit)
		}
	}
}
