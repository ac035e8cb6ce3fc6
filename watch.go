// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"context"
	"time"
)

// Adapt says which knobs may follow what is measured, and not the limits
// alone. The zero Adapt is none.
type Adapt uint8

const (
	// AdaptMemory: GOMEMLIMIT leaves room for measured memory that is not Go's.
	AdaptMemory Adapt = 1 << iota
	// AdaptGC: GOGC rises while memory is idle, as Options.GC says.
	AdaptGC
	// AdaptCPU: GOMAXPROCS is raised while Ps are held in blocking system calls and the quota is unused.
	AdaptCPU
)

// AtLimit is what to do when the live heap meets the memory limit.
type AtLimit uint8

const (
	// Restart keeps throughput: the collector may not take over, and a process
	// that needs more memory than there is gets killed and starts anew.
	Restart AtLimit = iota
	// Thrash keeps the process alive as long as can be, however slow.
	Thrash
)

// GCMode is what GOGC follows with AdaptGC.
type GCMode uint8

const (
	GCHeadroom GCMode = iota // the live heap: a multiple of it, while memory is idle
	GCCost                   // a share of the CPU for collections
)

// Pressure is how hard the memory limit presses on the garbage collector.
type Pressure struct {
	Level         Level
	EffectiveGOGC float64 // percent that the heap may grow between collections
	GCShare       float64 // of the process's CPU time that collections take, 0 to 1; NaN when unknown
	Limit         int64   // GOMEMLIMIT in force, in bytes
}

// Level is a step of Pressure.
type Level uint8

const (
	Calm   Level = iota
	Tight        // effective GOGC below 20: time to shed load
	Spiral       // effective GOGC below 10: the collector is about to take over
)

// Verdict says what the waiting of a process is due to: "unknown", "fine",
// "too-few-procs" (Ps are held in system calls while the quota is unused) or
// "quota-spent" (no GOMAXPROCS helps).
type Verdict string

// Stats is what a Watcher has done and measured. NaN is what was not measured or
// could not be read, and -1 in a count of bytes.
type Stats struct {
	Polls   int64         // looks so far
	Every   time.Duration // from this look to the next
	Changes int64         // knobs set since the start, the first time not counted
	GivenUp []string      // knobs that somebody else changed, or that did not settle: "GOMAXPROCS", ...
	Ended   bool          // it follows no more
	Failure string        // why, when something inside panicked; else ""

	Memory MemoryStats
	GC     GCStats
	CPU    CPUStats
}

// MemoryStats is the memory side of Stats, in bytes.
type MemoryStats struct {
	Limit         int64   // above it the kernel kills or throttles; -1 when there is none
	Used          int64   // charged to the limited group and not reclaimable
	Go            int64   // of it, what the Go runtime holds
	NonGo         int64   // of it, the rest
	Held          int64   // the peak of NonGo, which decays
	Margin        int64   // kept free for what happens between two looks
	Reserve       int64   // kept free for bursts
	GOMEMLIMIT    int64   // in force; math.MaxInt64 for off
	Pressure      Level   // see Level
	EffectiveGOGC float64 // percent; +Inf before the first collection
	Guarded       bool    // the guard holds GOMEMLIMIT above what is safe, see AtLimit
}

// GCStats is the garbage collector's side of Stats.
type GCStats struct {
	GOGC   int64   // in force, percent; -1 for off
	Share  float64 // of the process's CPU time
	Cycles uint64
}

// CPUStats is the CPU side of Stats, over the last Window.
type CPUStats struct {
	Window     time.Duration // 0 until something was measured
	GOMAXPROCS int           // in force
	Cores      float64       // CPUs' worth of time there is
	Used       float64       // cores
	Throttled  float64       // share of the periods
	GoWait     float64       // goroutines waiting for a P, on average
	KernelWait float64       // threads waiting for a CPU, on average
	PerWakeup  float64       // seconds waited for each wake-up of a goroutine
	Verdict    Verdict
	Escaped    bool // GOMAXPROCS is raised by AdaptCPU
}

// Watcher fits a process and follows. See Watch.
type Watcher struct{}

// Watch fits the process as Fit does and follows until ctx ends: limits that
// change, a process that is moved, and, where Options.Adapt asks for it, what is
// measured. When ctx ends the last values stay in force; Undo restores the first.
func Watch(ctx context.Context, o Options) *Watcher { return &Watcher{} }

// Plan is the plan in force.
func (w *Watcher) Plan() Plan { return Plan{} }

// Stats is what was done and measured until now.
func (w *Watcher) Stats() Stats { return Stats{} }

// Undo ends watching and restores every knob that still holds snug's value.
func (w *Watcher) Undo() {}
