// SPDX-License-Identifier: Apache-2.0

// Package law decides, from what a running process measures, what it should
// use from then on. Its laws are pure: a state and a sample in, a new state and
// a decision out. They read nothing, set nothing and know no clock, so that a
// simulator can drive them through years of bad luck.
//
// Quantities are bytes, seconds and cores unless a name says otherwise. Times
// (At) are seconds since any fixed moment, and never go back. A sample whose
// figures could not be read decides nothing.
package law

import "math"

// Heap is what the Go runtime says about its own memory at one moment
// (runtime/metrics), in bytes.
type Heap struct {
	// Mapped is what the process holds of the kernel's memory:
	// /memory/classes/total less /memory/classes/heap/released. It includes pages
	// that were asked for and never touched: about 1 % of most heaps, and 18 % was
	// measured where a program makes large buffers and leaves them unwritten.
	Mapped  int64
	Free    int64  // /memory/classes/heap/free: swept, not yet released
	Objects int64  // /memory/classes/heap/objects: live and dead objects
	Live    int64  // /gc/heap/live: what the last cycle marked
	Stacks  int64  // /gc/scan/stack
	Globals int64  // /gc/scan/globals
	Goal    int64  // /gc/heap/goal: the heap size at which the current cycle is to end
	Limit   int64  // /gc/gomemlimit; math.MaxInt64 for off
	GOGC    int64  // /gc/gogc in percent; -1 for off
	Cycles  uint64 // /gc/cycles/total
}

// Roots is what GOGC is a percentage of: live heap, stacks and globals
// (runtime/mgcpacer.go, commit).
func (h *Heap) Roots() int64 { return h.Live + h.Stacks + h.Globals }

// EffectiveGOGC is the GOGC that the heap goal amounts to, in percent:
//
//	100 (Goal - Live) / Roots
//
// It is GOGC itself where that decides, and falls towards 0 as GOMEMLIMIT
// takes over: below 10 the collector runs nearly all the time. It is +Inf before
// the first cycle, when nothing is known.
func (h *Heap) EffectiveGOGC() float64 {
	if h.Cycles == 0 || h.Roots() <= 0 {
		return math.Inf(1)
	}
	return 100 * float64(h.Goal-h.Live) / float64(h.Roots())
}

// Need is the smallest GOMEMLIMIT under which the heap may still grow by gogc
// percent between collections:
//
//	(Live + gogc/100 Roots + non-heap) / 0.97
//
// Non-heap is Mapped less free and used heap; the runtime keeps the larger of
// 3 % and 1 MiB of the limit to itself (runtime/mgcpacer.go, memoryLimitHeapGoal).
func (h *Heap) Need(gogc float64) int64 {
	rest := max(0, h.Mapped-h.Free-h.Objects)
	n := float64(h.Live) + gogc/100*float64(h.Roots()) + float64(rest)
	return int64(max(n/0.97, n+1<<20))
}

// CPU is what the process has used and waited for since it started.
type CPU struct {
	At      float64 // when, in seconds
	Procs   int     // GOMAXPROCS
	Cores   float64 // CPUs' worth of time there is: the smaller of quota and affinity; 0 = unknown
	CPUs    int     // that the process may run on; 0 = unknown
	Quota   float64 // cores; 0 = no quota, or unknown
	Used    float64 // CPU seconds, user and system (getrusage(2)); NaN = unknown
	GC      float64 // /cpu/classes/gc/total: seconds of Ps, not of CPUs
	Busy    float64 // gc/total + user + scavenge/total, in the same seconds of Ps
	Idle    float64 // /cpu/classes/idle: seconds of Ps that had no work. Like GC and Busy it advances with collections only; 0 = not read
	Periods int64   // bandwidth periods of the group that sets the quota; -1 = unknown
	// Throttled is how many of Periods ran into the quota.
	Throttled int64
	// GoWait is the time goroutines have waited for a P: 8 times the sum of
	// /sched/latencies, of which the runtime tracks one goroutine in 8
	// (runtime/runtime2.go, gTrackingPeriod).
	GoWait float64
	// Wakeups is how often goroutines began to wait, from the same histogram.
	Wakeups float64
	// KernelWait is the time threads of the process have waited for a CPU while
	// runnable, throttling included (/proc/PID/task/TID/schedstat, kernel doc:
	// scheduler/sched-stats.rst); NaN = not read this time.
	KernelWait float64
}
