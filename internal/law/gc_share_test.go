// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/snug-go/snug/internal/law"
)

func TestGCReachesItsShare(t *testing.T) {
	for _, live := range []float64{6, 20, 80} {
		for _, share := range []float64{0, 0.03, 0.1} {
			l := newGCLoop(4096*mib, live*mib, law.GCPolicy{On: true, Share: share})
			l.heap.OpCPU = 14e-6
			if share == 0 {
				share = 0.05
			}
			l.run(300)
			got, _ := l.steady(60)
			if got > 1.35*share || l.gogc() > 100 && got < 0.65*share {
				t.Errorf("%v MiB live: share %.3f, want about %.3f, GOGC %d for %s, %v", live, got, share, l.gogc(), l.last.Code, l.changes)
			}
			for i, c := range l.changes {
				if before := float64(100); i > 0 && c.limit > 2*l.changes[i-1].limit || i == 0 && c.limit > 2*before {
					t.Errorf("%v MiB live: more than doubled at once, %v", live, l.changes)
				}
			}
		}
	}
}

// TestGCFollowsTheLoad: ten times the garbage, and back.
func TestGCFollowsTheLoad(t *testing.T) {
	l := newGCLoop(4096*mib, 60*mib, gcOn)
	l.heap.OpCPU, l.heap.Rate = 20e-6, 40000
	l.heap.OpBytes = 1 << 10
	l.run(200)
	before := l.gogc()
	l.heap.OpBytes = 16 << 10
	l.run(500)
	if share, _ := l.steady(30); share > 0.07 || l.gogc() < 2*before {
		t.Errorf("share %.3f at GOGC %d, %d before", share, l.gogc(), before)
	}
	l.heap.OpBytes = 1 << 10
	if l.run(900); l.gogc() > 2*before {
		t.Errorf("GOGC %d after, %d before: %v", l.gogc(), before, l.changes)
	}
}

// TestGCLeavesIdleProcessesTheirMemory: the collections that the runtime forces every two minutes
// are a large share of almost no CPU time.
func TestGCLeavesIdleProcessesTheirMemory(t *testing.T) {
	l := newGCLoop(2048*mib, 100*mib, gcOn)
	l.heap.Rate, l.heap.OpBytes = 1, 64
	forced := 0.0
	l.phase = func(at float64) {
		if at >= forced {
			forced += 120
			l.heap.Collect()
		}
	}
	if l.run(3600); len(l.changes) != 0 {
		t.Errorf("changes %v", l.changes)
	}

	// A process that was busy gives back what it got.
	l = newGCLoop(2048*mib, 30*mib, gcOn)
	l.run(120)
	busy := l.gogc()
	l.heap.Rate, l.heap.OpBytes = 1, 64
	if l.run(720); busy < 200 || l.gogc() != 100 {
		t.Errorf("GOGC %d while busy, %d after ten idle minutes", busy, l.gogc())
	}
}

// TestGCBelievesTheRatioOnly: if CPUs are short the runtime's classes count 3 to 15 times the CPU
// time used, all by the same factor.
func TestGCBelievesTheRatioOnly(t *testing.T) {
	exact, inflated := newGCLoop(2048*mib, 30*mib, gcOn), newGCLoop(2048*mib, 30*mib, gcOn)
	inflated.spoil = func(_ float64, x *law.GCSample) { x.CPU.GC *= 15; x.CPU.Busy *= 15 }
	exact.run(600)
	inflated.run(600)
	if exact.gogc() != inflated.gogc() || exact.gogc() == 100 {
		t.Errorf("GOGC %d, with inflated classes %d", exact.gogc(), inflated.gogc())
	}
}

func TestGCUnknownRaisesNothing(t *testing.T) {
	for name, spoil := range map[string]func(x *law.GCSample){
		"CPU time":         func(x *law.GCSample) { x.CPU.Used = math.NaN() },
		"GC class":         func(x *law.GCSample) { x.CPU.GC = math.NaN() },
		"classes at once":  func(x *law.GCSample) { x.CPU.GC, x.CPU.Busy = 0, 0 },
		"more than busy":   func(x *law.GCSample) { x.CPU.GC *= 100 },
		"infinite":         func(x *law.GCSample) { x.CPU.GC, x.CPU.Busy = math.Inf(1), math.Inf(1) },
		"going backwards":  func(x *law.GCSample) { x.CPU.GC, x.CPU.Busy = -x.CPU.GC, -x.CPU.Busy },
		"cycles are stuck": func(x *law.GCSample) { x.Heap.Cycles = 7 },
	} {
		l := newGCLoop(2048*mib, 30*mib, gcOn)
		l.spoil = func(at float64, x *law.GCSample) {
			if at < 300 {
				spoil(x)
			}
		}
		if l.run(300); len(l.changes) != 0 {
			t.Errorf("%s: changes %v", name, l.changes)
		}
		if l.run(600); l.gogc() < 200 {
			t.Errorf("%s: GOGC %d after it could be read again", name, l.gogc())
		}
	}
}

// TestGCCostOfAnOperation: an operation costs about as much as under the best static GOGC that
// peaks below 90 % of the limit, and the law peaks below it too.
func TestGCCostOfAnOperation(t *testing.T) {
	type cell struct {
		name string
		gogc int64
		p    law.GCPolicy
	}
	for _, cpu := range []float64{8e-6, 16e-6} {
		for _, live := range []float64{30, 100, 200} {
			best, plain := math.Inf(1), 0.0
			for _, c := range []cell{
				{"default", 100, law.GCPolicy{}}, {"200", 200, law.GCPolicy{}}, {"400", 400, law.GCPolicy{}}, {"800", 800, law.GCPolicy{}},
				{"5 %", 100, gcOn}, {"2 %", 100, law.GCPolicy{On: true, Share: 0.02}},
			} {
				l := newGCLoop(512*mib, live*mib, c.p)
				l.group.NonGo, l.heap.OpCPU = 10*mib, cpu
				l.heap.SetGOGC(c.gogc)
				l.run(180)
				ops := l.heap.Ops
				share, perOp := l.steady(20)
				if plain == 0 {
					plain = perOp
				}
				t.Logf("%4.0f MiB/s, %3.0f MiB live, %-10s  GOGC %3d  share %.3f  CPU/op %5.2f us (%+3.0f %%)  peak %.2f  %s, %d changes",
					(l.heap.Ops-ops)*8/1024/20, live, c.name, l.gogc(), share, 1e6*perOp, 100*(perOp/plain-1), l.peak(), l.last.Code, len(l.changes))
				if l.group.Killed || l.peak() > 0.9 {
					t.Errorf("%s, %v MiB live: killed %v, peak %.2f", c.name, live, l.group.Killed, l.peak())
				}
				if !c.p.On {
					best = min(best, perOp)
				} else if perOp > 1.08*best {
					t.Errorf("%s, %v MiB live: %.2f us an operation, the best static %.2f", c.name, live, 1e6*perOp, 1e6*best)
				}
			}
		}
	}
}

// gcBeside runs the GC law beside the memory law, with bursts. It also returns the highest
// pressure level.
func gcBeside(live float64, load load, p law.GCPolicy) (*gcLoop, law.Level) {
	const limit = 256 * mib
	l := newGCLoop(limit, live*limit, p)
	l.heap.OpCPU = 12e-6
	r := rand.New(rand.NewPCG(7, 4))
	var memory law.MemoryState
	var alarm law.PressureState
	var most law.Level
	next := 0.0
	l.phase = func(at float64) {
		load(l.group, r)
		if at < next {
			return
		}
		h := l.heap.Sample()
		var m law.MemoryDecision
		memory, m = law.StepMemory(memory, law.MemorySample{At: at, Limit: limit, Used: l.group.Used(), Max: limit - limit/10, Heap: h})
		l.heap.SetMemoryLimit(m.Limit)
		next = at + 1
		var level law.Level
		alarm, level = law.StepPressure(alarm, at, &h, l.last.Share)
		most = max(most, level)
	}
	l.run(300)
	return l, most
}

// TestGCBesideTheMemoryLaw: raising GOGC causes no level and no peak above those without it.
func TestGCBesideTheMemoryLaw(t *testing.T) {
	raised := 0
	for _, live := range []float64{0.03, 0.06, 0.12, 0.25, 0.5} {
		for name, load := range map[string]func(float64) load{"heavy": heavy, "mild": mild} {
			plain, calm := gcBeside(live, load(live), law.GCPolicy{})
			for _, p := range []law.GCPolicy{gcOn, {On: true, Share: 0.01}} {
				l, level := gcBeside(live, load(live), p)
				if l.group.Killed && !plain.group.Killed || l.peak() > max(0.9, plain.peak()+0.02) || level > calm {
					t.Errorf("%s, live %v, share %v: killed %v, peak %.3f, alarm %s; without the law %v, %.3f, %s",
						name, live, p.Share, l.group.Killed, l.peak(), level, plain.group.Killed, plain.peak(), calm)
				}
				if l.after(150) > 4 {
					t.Errorf("%s, live %v, share %v: changes %v", name, live, p.Share, l.changes)
				}
				if len(l.changes) > 0 {
					raised++
				}
			}
		}
	}
	if raised < 10 {
		t.Errorf("GOGC moved in %d cells: the rest says little", raised)
	}
}
