// SPDX-License-Identifier: Apache-2.0

package adapt_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/snug-go/snug/internal/adapt"
	"github.com/snug-go/snug/internal/simulator"
)

const small = 256 * mib

// killed runs a load with a static GOMEMLIMIT of a share of the limit, or with
// the law when that is 0, and says how often it was killed and what collections
// took, in cores.
func killed(share float64, live float64, of func(float64) load, p adapt.MemoryPolicy) (n int, gc float64) {
	seconds := 0.0
	for seed := uint64(1); seed <= 6; seed++ {
		h := starved(live * small)
		g := one(h, small)
		var all []*governor
		if share == 0 {
			all = append(all, &governor{heap: h, policy: p})
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

// TestMemoryKills: the loads of the prototype. Below four fifths of true demand
// nothing dies, and never more than with the usual 0.9.
func TestMemoryKills(t *testing.T) {
	seen := 0
	for name, of := range map[string]func(float64) load{"heavy": heavy, "mild": mild} {
		for _, live := range []float64{0.3, 0.4, 0.5, 0.6, 0.65, 0.7} {
			n, gc := killed(0, live, of, adapt.MemoryPolicy{})
			usual, _ := killed(0.9, live, of, adapt.MemoryPolicy{})
			t.Logf("%s, live %.2f: %d killed, %d with 0.9; collections %.3f cores", name, live, n, usual, gc)
			seen += usual
			if n > usual || live <= 0.6 && n > 0 {
				t.Errorf("%s, live %.2f: killed in %d of 6 runs, with 0.9 in %d", name, live, n, usual)
			}
			if name == "heavy" && live <= 0.6 {
				if _, best := killed(0.8, live, of, adapt.MemoryPolicy{}); gc > 1.2*best {
					t.Errorf("%s, live %.2f: collections take %.3f cores, at 0.8, the best that survives, %.3f", name, live, gc, best)
				}
			}
		}
	}
	if seen < 12 {
		t.Errorf("0.9 was killed only %d times: these loads are no test", seen)
	}
}

// TestMemoryCap: with little memory that is not Go's the prototype went up to
// 0.97 and died.
func TestMemoryCap(t *testing.T) {
	for _, live := range []float64{0.3, 0.5, 0.6, 0.65} {
		h := starved(live * small)
		g := one(h, small)
		v := &governor{heap: h, policy: adapt.MemoryPolicy{Reserve: 0.01}}
		run(g, 60, 1, mild(live), v)
		most := 0.0
		for _, c := range v.changes {
			most = max(most, c.limit)
		}
		if most > 0.9*small || g.Killed {
			t.Errorf("live %.2f: GOMEMLIMIT up to %.3f of the limit, killed %v", live, most/small, g.Killed)
		}
	}
}

// TestMemoryBurst: 15 % of the limit at any speed, once, when the heap is full.
func TestMemoryBurst(t *testing.T) {
	for _, live := range []float64{0.2, 0.4, 0.5, 0.6} {
		for _, speed := range []float64{5, 40, 150, 600, 4000} {
			for _, cores := range []float64{0.25, 1} {
				for phase := range 8 {
					h := starved(live * small)
					h.Cores, h.Rate = cores, 8000
					h.SetGOGC(400)
					g := one(h, small)
					from := 20 + 0.13*float64(phase)
					run(g, 40, 1, func(g *simulator.Group, _ *rand.Rand) {
						g.NonGo = min(max(0, (g.At-from)*speed*mib), 0.15*small)
					}, &governor{heap: h})
					if g.Killed {
						t.Errorf("live %.2f, %v MiB/s, %v cores: killed %.2f s after the start of the burst", live, speed, cores, g.KilledAt-from)
					}
				}
			}
		}
	}
}

// ramp lets the live heap grow from half of the limit to all of it in 20 s and
// says when the throughput fell by a fifth.
func ramp(cpu float64, p adapt.MemoryPolicy, adaptive bool) (g *simulator.Group, v *governor, slow, worst float64) {
	h := simulator.NewHeap(small / 2)
	h.OpCPU = cpu
	g = one(h, small)
	v = &governor{heap: h, policy: p}
	if !adaptive {
		v.watchOnly = true
	}
	var at, ops, best float64
	worst = 1
	run(g, 40, 1, func(g *simulator.Group, _ *rand.Rand) {
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
		static, alarm, slow, _ := ramp(cpu, adapt.MemoryPolicy{}, false)
		t.Logf("0.9 with %v s an operation: tight at %.1f s, spiral at %.1f, a fifth slower at %.1f, killed at %.1f", cpu, alarm.first[adapt.Tight], alarm.first[adapt.Spiral], slow, static.KilledAt)
		if first := alarm.first[adapt.Tight]; first == 0 || slow == 0 || first > slow-2 {
			t.Errorf("the alarm at %v s, a fifth slower at %v s, want 2 s between", first, slow)
		}
		oom, v, _, worst := ramp(cpu, adapt.MemoryPolicy{}, true)
		t.Logf("oom: killed at %.1f s, throughput never below %.2f", oom.KilledAt, worst)
		if !oom.Killed || worst < 0.7 || v.first[adapt.Tight] == 0 {
			t.Errorf("oom: killed %v, throughput down to %.2f, want it kept", oom.Killed, worst)
		}
		thrash, _, _, low := ramp(cpu, adapt.MemoryPolicy{Guard: adapt.Thrash}, true)
		t.Logf("thrash: killed at %.1f s, throughput down to %.2f", thrash.KilledAt, low)
		if thrash.Killed && thrash.KilledAt < oom.KilledAt+0.5 {
			t.Errorf("thrash: killed at %.1f s, oom at %.1f s, want it to live longer", thrash.KilledAt, oom.KilledAt)
		}
	}
}

// TestMemoryStreams: other memory in every shape. It stays within bounds,
// changes rarely, and comes back.
func TestMemoryStreams(t *testing.T) {
	var r *rand.Rand
	shapes := map[string]struct {
		share   func(at float64) float64
		changes int // at most, in the last 100 of 300 s
	}{
		"constant":    {func(float64) float64 { return 0.1 }, 0},
		"step":        {func(at float64) float64 { return 0.05 + 0.2*math.Floor(min(at, 150)/150) }, 1},
		"ramp":        {func(at float64) float64 { return 0.3 * min(at, 150) / 150 }, 1},
		"oscillating": {func(at float64) float64 { return 0.08 + 0.08*math.Sin(at*0.7) }, 2},
		"square":      {func(at float64) float64 { return 0.15 * math.Mod(math.Floor(at/4), 2) }, 1},
		"noisy":       {func(float64) float64 { return 0.1 + 0.004*r.NormFloat64() }, 4},
		"adversarial": {func(at float64) float64 { // high just long enough to be forgotten by half
			return 0.15 * math.Floor(math.Mod(at, 40)/36)
		}, 12},
	}
	for name, shape := range shapes {
		r = rand.New(rand.NewPCG(3, 3))
		h := starved(0.45 * small)
		h.Rate = 3000
		g := one(h, small)
		v := &governor{heap: h}
		run(g, 300, 1, func(g *simulator.Group, _ *rand.Rand) { g.NonGo = max(0, shape.share(g.At)) * small }, v)
		late := 0
		for _, c := range v.changes {
			if c.at > 200 {
				late++
			}
		}
		t.Logf("%s: %d changes, %d late, %d polls, %d collections, at %.3f", name, len(v.changes), late, v.polls, v.forced, float64(h.MemoryLimit())/small)
		if g.Killed || late > shape.changes || v.forced > 12 || v.polls > 4000 {
			t.Errorf("%s: killed %v, %d changes in the last 100 s, %d collections, %d polls", name, g.Killed, late, v.forced, v.polls)
		}
	}
}

// TestMemoryRandomPlants: any program with room for it lives, and GOMEMLIMIT
// comes to rest. Every tenth reading fails.
func TestMemoryRandomPlants(t *testing.T) {
	for seed := uint64(1); seed <= 60; seed++ {
		r := rand.New(rand.NewPCG(seed, 5))
		limit := int64(64*mib) << r.IntN(5)
		live, nonGo := 0.1+0.45*r.Float64(), 0.12*r.Float64()
		h := simulator.NewHeap(live * float64(limit))
		h.Fixed = min(h.Fixed, 0.02*float64(limit))
		h.OpCPU, h.OpBytes = (5+100*r.Float64())*1e-6, math.Exp(5+5*r.Float64())
		h.Cores, h.Procs = 0.3+2*r.Float64(), 1+r.IntN(8)
		if r.IntN(2) == 0 {
			h.Rate = 0.5 * h.Cores / h.OpCPU
		}
		g := one(h, limit)
		v := &governor{heap: h, policy: adapt.MemoryPolicy{Guard: adapt.Guard(r.IntN(2))}}
		v.fail = func(at float64, x *adapt.MemorySample) {
			if r.IntN(10) == 0 {
				x.Used = -1
			}
		}
		v.check = func(x *adapt.MemorySample, d *adapt.MemoryDecision) { holds(t, x, d) }
		run(g, 120, seed, func(g *simulator.Group, r *rand.Rand) {
			g.NonGo = (nonGo + 0.002*r.Float64()) * float64(g.Limit)
		}, v)
		late := 0
		for _, c := range v.changes {
			if c.at > 60 {
				late++
			}
		}
		if g.Killed || late > 4 || v.forced > 6 {
			t.Errorf("seed %d, live %.2f, other %.2f of %d MiB: killed %v, %d changes after a minute, %d collections", seed, live, nonGo, limit/mib, g.Killed, late, v.forced)
		}
	}
}

// TestMemoryThree: three processes in one container, each with a governor that
// takes the others for memory that is not Go's.
func TestMemoryThree(t *testing.T) {
	const limit = 1024 * mib
	for _, live := range [][3]float64{
		{0.15, 0.15, 0.15}, {0.2, 0.2, 0.2}, {0.25, 0.25, 0.25},
		{0.3, 0.1, 0.05}, {0.4, 0.1, 0.1}, {0.05, 0.02, 0.5},
	} {
		for _, cores := range []float64{0.3, 1} {
			g := &simulator.Group{Limit: limit}
			var all []*governor
			for i := range live {
				h := simulator.NewHeap(10 * mib)
				h.OpCPU, h.Cores = []float64{60e-6, 30e-6, 90e-6}[i], cores
				h.SetMemoryLimit(limit - limit/10)
				g.Heaps = append(g.Heaps, h)
				all = append(all, &governor{heap: h, next: 0.37 * float64(i)})
			}
			run(g, 300, 1, func(g *simulator.Group, _ *rand.Rand) {
				for i, h := range g.Heaps {
					h.Live = live[i] * limit * min(1, 0.1+g.At/20)
				}
			}, all...)
			if g.Killed {
				t.Errorf("%v on %v cores: killed at %.1f s", live, cores, g.KilledAt)
				continue
			}
			for i, v := range all {
				late, way, turns := 0, 0.0, 0
				for j, c := range v.changes {
					if c.at < 120 {
						continue
					}
					late++
					d := c.limit - v.changes[max(j, 1)-1].limit
					if d*way < 0 {
						turns++
					}
					way = d
				}
				s := v.heap.Sample()
				if late > 12 || turns > 6 || s.EffectiveGOGC() < 10 {
					t.Errorf("%v on %v cores, number %d: %d changes and %d turns in 3 minutes, effective GOGC %.0f", live, cores, i, late, turns, s.EffectiveGOGC())
				}
			}
			t.Logf("%v on %v cores: peak %.2f of the limit", live, cores, g.Peak/limit)
		}
	}
}
