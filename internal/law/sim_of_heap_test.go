// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"math"
	"testing"
)

// steady runs one process for a while and returns the results.
func steady(h *Heap, g *Group, seconds float64) (share, perOp float64) {
	g.Heaps = []*Heap{h}
	for end := g.At + seconds; g.At < end && !g.Killed; {
		g.Step(0.005)
	}
	return h.GCSeconds / (h.GCSeconds + h.WorkSeconds), (h.GCSeconds + h.WorkSeconds) / h.Ops
}

// TestHeapCosts compares the plant with measurements at 30 MiB live and a closed loop of 400 to 800
// MiB/s: shares of .18, .10, .05 and .03.
func TestHeapCosts(t *testing.T) {
	last := 1.0
	for _, c := range []struct {
		gogc     int64
		min, max float64
	}{{100, 0.1, 0.3}, {200, 0.06, 0.16}, {400, 0.03, 0.09}, {800, 0.015, 0.07}} {
		h := NewHeap(30 << 20)
		h.SetGOGC(c.gogc)
		share, perOp := steady(h, &Group{Limit: 512 << 20}, 20)
		t.Logf("GOGC=%d: %.3f of the CPU, %.2f us an operation", c.gogc, share, perOp*1e6)
		if share < c.min || share > c.max || share >= last {
			t.Errorf("GOGC=%d: %.3f of the CPU, want %v to %v and less than before", c.gogc, share, c.min, c.max)
		}
		last = share
	}
}

func TestHeapGoal(t *testing.T) {
	h := NewHeap(100 << 20)
	h.Rate = 100
	g := &Group{}
	steady(h, g, 300)
	if s := h.Sample(); s.Cycles < 3 || math.Abs(s.EffectiveGOGC()-100) > 0.1 {
		t.Errorf("GOGC=100: effective %v after %d cycles", s.EffectiveGOGC(), s.Cycles)
	}
	h.SetMemoryLimit(130 << 20)
	h.Collect()
	steady(h, g, 10)
	if s := h.Sample(); s.EffectiveGOGC() < 5 || s.EffectiveGOGC() > 25 {
		t.Errorf("GOMEMLIMIT 30 MiB over the live heap: effective GOGC %v", s.EffectiveGOGC())
	}
	h.SetMemoryLimit(90 << 20)
	steady(h, g, 10)
	if s := h.Sample(); s.EffectiveGOGC() != 0 {
		t.Errorf("GOMEMLIMIT below the live heap: effective GOGC %v", s.EffectiveGOGC())
	}
}

// TestHeapLimitReturnsMemory: free memory is released at once, garbage after a cycle.
func TestHeapLimitReturnsMemory(t *testing.T) {
	h := NewHeap(128 << 20)
	h.Rate = 6000
	g := &Group{}
	steady(h, g, 20)
	before := h.Held()
	h.SetMemoryLimit(190 << 20)
	steady(h, g, 3)
	if before < 210<<20 || h.Held() > 195<<20 {
		t.Errorf("%.0f MiB held, %.0f after GOMEMLIMIT fell to 190", before/(1<<20), h.Held()/(1<<20))
	}
}

// TestHeapOvershoot: the heap stays below GOMEMLIMIT while the live heap is steady, but not when it
// grows within a cycle.
func TestHeapOvershoot(t *testing.T) {
	h := NewHeap(128 << 20)
	h.Rate = 3000
	h.SetMemoryLimit(180 << 20)
	g := &Group{}
	steady(h, g, 20)
	calm := g.Peak / float64(h.MemoryLimit())
	for range 4 {
		h.Live += 12 << 20
		steady(h, g, 0.02)
	}
	if burst := g.Peak / float64(h.MemoryLimit()); calm > 1 || burst < 1.02 {
		t.Errorf("peak %.2f of GOMEMLIMIT, %.2f after a burst of live memory", calm, burst)
	}
}

func TestGroupKills(t *testing.T) {
	h := NewHeap(50 << 20)
	g := &Group{Limit: 256 << 20}
	steady(h, g, 5)
	if g.Killed {
		t.Fatalf("killed at %v s with %d used", g.KilledAt, g.Used())
	}
	ops := h.Ops
	g.NonGo = 200 << 20
	steady(h, g, 5)
	if !g.Killed || h.Ops-ops > 2000 {
		t.Errorf("killed %v, %v more operations", g.Killed, h.Ops-ops)
	}
}

// TestHeapAccounts: no CPU time is used beyond what is available, and published figures lag behind.
func TestHeapAccounts(t *testing.T) {
	for _, rate := range []float64{0, 3000} {
		h := NewHeap(60 << 20)
		h.Cores, h.Rate = 0.7, rate
		g := &Group{Limit: 256 << 20}
		steady(h, g, 30)
		c := h.CPU()
		if used := h.GCSeconds + h.WorkSeconds; used > 0.7*30*1.01 || math.Abs(c.Used-used) > 1e-9 {
			t.Errorf("rate %v: %v CPU seconds used in 30 s of 0.7 cores, %v said", rate, used, c.Used)
		}
		if c.GC > h.GCSeconds || c.Busy > c.Used || c.GC == 0 {
			t.Errorf("rate %v: the runtime says %+v", rate, c)
		}
		if rate > 0 && math.Abs(h.Ops+h.Lost-rate*30) > rate {
			t.Errorf("%v operations done, %v lost, of %v", h.Ops, h.Lost, rate*30)
		}
	}
}
