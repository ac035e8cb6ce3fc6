// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"math"
	"math/rand/v2"

	"github.com/snug-go/snug/internal/law"
)

const mib = 1 << 20

// governor controls one process with the memory law and the pressure level.
type governor struct {
	heap  *Heap
	fail  func(at float64, x *law.MemorySample)
	check func(*law.MemorySample, *law.MemoryDecision)

	watchOnly bool // measure pressure, set nothing

	state   law.MemoryState
	alarm   law.PressureState
	next    float64
	d       law.MemoryDecision
	level   law.Level
	changes []change // of GOMEMLIMIT
	polls   int
	first   [3]float64 // when each level was first reached
}

type change struct{ at, limit float64 }

func (v *governor) poll(g *Group) {
	if g.At < v.next {
		return
	}
	x := law.MemorySample{At: g.At, Limit: g.Limit, Used: g.Used(), Max: g.Limit - g.Limit/10, Heap: v.heap.Sample()}
	if v.fail != nil {
		v.fail(g.At, &x)
	}
	v.alarm, v.level = law.StepPressure(v.alarm, g.At, &x.Heap, v.heap.Share())
	for l := law.Tight; l <= v.level; l++ {
		if v.first[l] == 0 {
			v.first[l] = g.At
		}
	}
	v.polls++
	if v.watchOnly {
		v.next = g.At + 1
		return
	}
	v.state, v.d = law.StepMemory(v.state, x)
	if v.check != nil {
		v.check(&x, &v.d)
	}
	if v.d.Limit != 0 && v.d.Limit != v.heap.MemoryLimit() {
		v.heap.SetMemoryLimit(v.d.Limit)
		v.changes = append(v.changes, change{g.At, float64(v.d.Limit)})
	}
	v.next = g.At + 1
}

// load changes the plant before each step, as a program over time.
type load func(g *Group, r *rand.Rand)

// bursty is a load with bursts of garbage and of memory outside Go: live, nonGo and burst are
// shares of the limit, speed is bytes per second.
func bursty(live, nonGo, burst, rate, speed float64) load {
	var end, peak, level, from float64
	return func(g *Group, r *rand.Rand) {
		h, limit := g.Heaps[0], float64(g.Limit)
		h.Live, h.Rate = live*limit, rate
		if math.Mod(g.At, 5.5) > 5 {
			h.Live += burst * limit
			h.Rate = 4 * rate
		}
		if g.At >= end { // up, 3 s held, down, 2 s
			from, peak = g.At, r.Float64()*nonGo*limit
			if r.IntN(2) == 0 {
				peak = nonGo * limit
			}
			end = from + peak/speed + 5
		}
		switch up := peak / speed; {
		case g.At < from+up:
			level = (g.At - from) * speed
		case g.At < from+up+3:
			level = peak
		default:
			level = 0
		}
		g.NonGo = level
	}
}

func heavy(live float64) load { return bursty(live, 0.15, 0.04, 4000, 40*mib) }
func more(live float64) load  { return bursty(live*0.7, 0.3, 0.02, 4000, 40*mib) }
func mild(live float64) load  { return bursty(live, 0.04, 0.02, 6000, 10*mib) }

// run drives processes that share a limit. Without governors GOMEMLIMIT is static.
func run(g *Group, seconds float64, seed uint64, l load, all ...*governor) {
	r := rand.New(rand.NewPCG(seed, 4))
	for g.At < seconds && !g.Killed {
		for _, v := range all {
			v.poll(g)
		}
		if l != nil {
			l(g, r)
		}
		g.Step(0.005)
	}
}

// one returns a single process with the GOMEMLIMIT set at start, without measurement.
func one(h *Heap, limit int64) *Group {
	h.SetMemoryLimit(limit - limit/10)
	return &Group{Limit: limit, Heaps: []*Heap{h}}
}

// starved returns a process that shares its CPU with three others.
func starved(live float64) *Heap {
	h := NewHeap(live)
	h.OpCPU, h.Cores = 12e-6, 0.25
	return h
}
