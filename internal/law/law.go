// SPDX-License-Identifier: Apache-2.0

// Package law decides settings from a running process's measurements. Its laws are pure: they map
// a state and a sample to a new state and a decision. They read nothing, set nothing and have no
// clock, so a simulator can drive them through years of bad luck.
//
// Quantities are bytes, seconds and cores unless a name says otherwise. Times (At) are seconds
// since any fixed moment, and never decrease. A sample with unreadable figures decides nothing.
package law

import "math"

// Heap holds the Go runtime's memory figures at one moment (runtime/metrics), in bytes.
type Heap struct {
	// Mapped is the memory held from the kernel: /memory/classes/total less
	// /memory/classes/heap/released. It includes pages allocated but never touched: about 1 % of
	// most heaps, and 18 % in a program that allocates large buffers and leaves them unwritten.
	Mapped  int64
	Free    int64  // /memory/classes/heap/free: swept, not yet released
	Objects int64  // /memory/classes/heap/objects: live and dead objects
	Live    int64  // /gc/heap/live: marked by the last cycle
	Stacks  int64  // /gc/scan/stack
	Globals int64  // /gc/scan/globals
	Goal    int64  // /gc/heap/goal: the heap size at which the current cycle should end
	Limit   int64  // /gc/gomemlimit; math.MaxInt64 for off
	GOGC    int64  // /gc/gogc in percent; -1 for off
	Cycles  uint64 // /gc/cycles/total
}

// Roots returns the bytes of which GOGC is a percentage: live heap, stacks and globals
// (runtime/mgcpacer.go, commit).
func (h *Heap) Roots() int64 { return h.Live + h.Stacks + h.Globals }

// EffectiveGOGC returns the GOGC that the heap goal amounts to, in percent:
//
//	100 (Goal - Live) / Roots
//
// It equals GOGC if GOGC decides, and falls towards 0 as GOMEMLIMIT takes over: below 10 the
// collector runs nearly all the time. Before the first cycle it is unknown, and returned as +Inf.
func (h *Heap) EffectiveGOGC() float64 {
	if h.Cycles == 0 || h.Roots() <= 0 {
		return math.Inf(1)
	}
	return 100 * float64(h.Goal-h.Live) / float64(h.Roots())
}

// Need returns the smallest GOMEMLIMIT under which the heap may still grow by gogc percent
// between collections:
//
//	(Live + gogc/100 Roots + non-heap) / 0.97
//
// Non-heap is Mapped less free and used heap. The runtime reserves the larger of 3 % and 1 MiB of
// the limit (runtime/mgcpacer.go, memoryLimitHeapGoal).
func (h *Heap) Need(gogc float64) int64 {
	rest := max(0, h.Mapped-h.Free-h.Objects)
	n := float64(h.Live) + gogc/100*float64(h.Roots()) + float64(rest)
	return int64(max(n/0.97, n+1<<20))
}

// CPU holds what the process has used and waited for since it started.
type CPU struct {
	At    float64 // when, in seconds
	Procs int     // GOMAXPROCS
	Cores float64 // available CPU time, in CPUs: the smaller of quota and affinity; 0 = unknown
	CPUs  int     // CPUs that the process may run on; 0 = unknown
	Quota float64 // cores; 0 = no quota, or unknown
	Used  float64 // CPU seconds, user and system (getrusage(2)); NaN = unknown
	GC    float64 // /cpu/classes/gc/total: seconds of Ps, not of CPUs
	Busy  float64 // gc/total + user + scavenge/total, in the same seconds of Ps
	// /cpu/classes/idle: seconds of Ps without work. Like GC and Busy it advances only with collections; 0 = not read
	Idle    float64
	Periods int64 // bandwidth periods of the group that sets the quota; -1 = unknown
	// Throttled is the number of Periods that used up the quota.
	Throttled int64
	// GoWait is the time goroutines have waited for a P: 8 times the sum of
	// /sched/latencies, because the runtime tracks one goroutine in 8
	// (runtime/runtime2.go, gTrackingPeriod).
	GoWait float64
	// Wakeups is the number of times goroutines began to wait, from the same histogram.
	Wakeups float64
	// KernelWait is the time that runnable threads of the process have waited for a CPU,
	// throttling included (/proc/PID/task/TID/schedstat, kernel doc:
	// scheduler/sched-stats.rst); NaN = not read this time.
	KernelWait float64
}
