// SPDX-License-Identifier: Apache-2.0

// The files sim_* are plants for the laws of package adapt: Go processes that share a memory
// limit (Heap, Group), and the scheduler. They are models, with the errors of models: they show what
// a law may do, not what it will do.

package law_test

import (
	"math"

	"github.com/snug-go/snug/internal/law"
)

// Heap is a simulated Go process: the program, and the Go runtime's reaction to it. One or more live
// in a Group, whose Step advances them all:
//
//	h := NewHeap(50<<20) // live bytes
//	g := &Group{Limit: 256 << 20, Heaps: []*Heap{h}}
//	for g.At < 60 && !g.Killed {
//		if g.At >= next { // the controller's poll
//			_, d := law.StepMemory(s, law.MemorySample{At: g.At, Limit: g.Limit, Used: g.Used(), Heap: h.Sample()}, p)
//			h.SetMemoryLimit(d.Limit) // and h.SetGOGC, h.Collect
//		}
//		h.Live = ... // the program's phases: any exported field may change between steps
//		g.Step(0.005)
//	}
//	h.Ops, h.GCSeconds, h.WorkSeconds // the results
//
// It models the pacer (runtime/mgcpacer.go: goal from GOGC, goal from the memory limit, trigger, 25 %
// of the CPU for marking, assists, their limiter), objects allocated during a cycle that survive it,
// the scavenger, and page faults. It does not model bandwidth periods: Cores is a steady supply of
// CPU.
type Heap struct {
	// The program.
	Live    float64 // bytes reachable; a rise is allocated, a fall becomes garbage
	Stacks  float64 // bytes
	Globals float64 // bytes
	OpCPU   float64 // CPU seconds per operation, without collections and faults
	OpBytes float64 // bytes an operation allocates and drops
	Rate    float64 // operations requested per second; 0 = as many as possible (closed loop)

	// The machine.
	Cores    float64 // available CPU time, in CPUs
	Procs    int     // GOMAXPROCS
	MarkRate float64 // live bytes marked per CPU second
	FaultCPU float64 // CPU seconds per byte of a newly touched page
	Refault  float64 // share of allocated bytes that fault again, per byte of headroom; at most 0.3 in total
	Frag     float64 // spans' waste as a share of the objects
	Fixed    float64 // the runtime's own bytes
	Untouch  float64 // share of mapped memory that was never touched

	// The results since the start.
	Ops         float64 // operations done
	Lost        float64 // operations requested and given up after a second
	WorkSeconds float64 // CPU seconds of the program, faults included
	GCSeconds   float64 // CPU seconds of collections, including those on otherwise idle CPUs
	AssistShare float64 // share of the program's CPU used by assists in the last step
	Faulted     float64 // bytes of newly touched pages

	gogc, limit      int64
	reach            float64 // Live as the runtime knows it
	objects, free    float64
	marked           float64 // live bytes found by the last cycle
	cycles           uint64
	lastInUse        float64
	marking          bool
	forced           bool
	markTotal        float64 // work of this cycle, in bytes
	markDone         float64
	black            float64 // allocated during this cycle
	credit           float64 // background work that allocation may use
	consMark         float64 // bytes allocated in the time in which one is marked, per CPU
	cycleGC, cycleAl float64
	cycleWork        float64
	bucket           float64 // the assist limiter's
	backlog          float64

	// What the runtime has published: its CPU classes advance when a cycle ends.
	pubGC, pubWork, now  float64
	share, shareAt       float64
	sharedGC, sharedWork float64
}

// NewHeap returns a process with live bytes, one CPU, and the costs measured on the prototypes'
// machine. It starts with GOGC=100 and no memory limit.
func NewHeap(live float64) *Heap {
	return &Heap{
		Live: live, Stacks: 256 << 10, Globals: 256 << 10,
		OpCPU: 8e-6, OpBytes: 8 << 10,
		Cores: 1, Procs: 2, MarkRate: 2 << 30, FaultCPU: 1.7e-10, Refault: 4e-10,
		Frag: 0.05, Fixed: 5 << 20, Untouch: 0.01,
		gogc: 100, limit: math.MaxInt64, share: math.NaN(), consMark: 0.25,
	}
}

// SetGOGC sets GOGC in percent; a negative value is off, 0 leaves it unchanged.
func (h *Heap) SetGOGC(percent int64) {
	if percent != 0 {
		h.gogc = percent
	}
}

// SetMemoryLimit sets GOMEMLIMIT in bytes; 0 leaves it unchanged. It releases free memory above it.
func (h *Heap) SetMemoryLimit(bytes int64) {
	if bytes > 0 {
		h.limit = bytes
		h.scavenge(float64(bytes), math.Inf(1))
	}
}

// Collect requests a collection, which starts at the next step.
func (h *Heap) Collect() { h.forced = true }

// MemoryLimit returns GOMEMLIMIT in force.
func (h *Heap) MemoryLimit() int64 { return h.limit }

// Marking reports whether a cycle is running.
func (h *Heap) Marking() bool { return h.marking }

// Share returns the share of its CPU time used by collections over the last second or the last cycle,
// whichever is longer, as published by the runtime; NaN = unknown.
func (h *Heap) Share() float64 { return h.share }

// Held returns the memory charged to the process.
func (h *Heap) Held() float64 { return h.mapped() * (1 - h.Untouch) }

// Sample returns the figures of runtime/metrics.
func (h *Heap) Sample() law.Heap {
	return law.Heap{
		Mapped: int64(h.mapped()), Free: int64(h.free), Objects: int64(h.objects),
		Live: int64(h.marked), Stacks: int64(h.Stacks), Globals: int64(h.Globals),
		Goal: int64(h.goal()), Limit: h.limit, GOGC: max(h.gogc, -1), Cycles: h.cycles,
	}
}

// CPU returns what the process has used so far. Used is exact; GC and Busy advance when a cycle ends,
// as the runtime's do. Nothing waits and nothing is throttled.
func (h *Heap) CPU() law.CPU {
	return law.CPU{
		At: h.now, Procs: h.Procs, Cores: h.Cores, Quota: 0,
		Used: h.WorkSeconds + h.GCSeconds, GC: h.pubGC, Busy: h.pubGC + h.pubWork,
		Periods: -1, KernelWait: math.NaN(),
	}
}

func (h *Heap) mapped() float64 {
	return h.objects*(1+h.Frag) + h.free + h.Stacks + h.Globals + h.Fixed
}

// goal models gcControllerState.heapGoal.
func (h *Heap) goal() float64 {
	goal := math.Inf(1)
	if h.gogc >= 0 {
		percent := float64(h.gogc) / 100
		goal = max(h.marked+(h.marked+h.Stacks+h.Globals)*percent, 4<<20*percent)
	}
	if h.limit != math.MaxInt64 {
		goal = min(goal, h.limitGoal())
	}
	return min(goal, 1<<60)
}

// limitGoal models gcControllerState.memoryLimitHeapGoal.
func (h *Heap) limitGoal() float64 {
	limit := float64(h.limit)
	rest := h.mapped() - h.free - h.objects
	over := max(0, h.mapped()-limit)
	goal := limit - rest - over
	if goal <= 0 {
		return h.marked
	}
	spare := max(0.03*goal, 1<<20)
	if goal-spare < spare {
		goal = spare
	} else {
		goal -= spare
	}
	return max(goal, h.marked)
}

// trigger returns the heap size at which a cycle starts: early enough to end at the goal with 25 % of
// the CPU (gcControllerState.trigger).
func (h *Heap) trigger(goal float64) float64 {
	lo := h.marked + 0.7*(goal-h.marked)
	hi := h.marked + 0.95*(goal-h.marked)
	runway := h.consMark * (1 - share25) / share25 * (h.marked + h.Stacks + h.Globals)
	return min(max(goal-runway, lo), max(hi, lo))
}

// share25 is the share of the CPU for marking (gcBackgroundUtilization).
const share25 = 0.25

// scavenge releases free memory while more than target is mapped, up to limit bytes.
func (h *Heap) scavenge(target, limit float64) {
	if over := h.mapped() - target; over > 0 {
		h.free -= min(over, h.free, limit)
	}
}

// allocate allocates b bytes of objects and returns how many of them fault.
func (h *Heap) allocate(b float64) (faults float64) {
	h.objects += b
	if h.marking {
		h.black += b
	}
	need := b * (1 + h.Frag)
	old := min(need, h.free)
	h.free -= old
	faults = need - old + old*min(0.3, h.Refault*max(0, h.goal()-h.marked))
	if h.limit != math.MaxInt64 {
		h.scavenge(float64(h.limit), math.Inf(1))
	}
	return faults
}
