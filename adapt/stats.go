// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"math"
	"time"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// PressureLevel is how hard the memory limit presses on the garbage collector. A higher one is worse.
type PressureLevel uint8

const (
	PressureCalm  PressureLevel = iota
	PressureTight               // the heap may grow by less than 20 %: time to shed load
	// by less than 10 %, and collections take 10 % of the CPU time: the collector is about to take over
	PressureSpiral
)

// String returns "calm", "tight" or "spiral".
func (l PressureLevel) String() string { return law.Level(l).String() }

// MarshalText returns String, for encoding/json and others.
func (l PressureLevel) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Pressure is a PressureLevel with the figures it is based on.
type Pressure struct {
	Level PressureLevel `json:"level"`
	// percent that the heap may grow between collections
	EffectiveGOGC limits.Value[float64] `json:"effective_gogc_percent"`
	// of the process's CPU time that collections take, 0 to 1
	GCShare    limits.Value[float64] `json:"gc_cpu_ratio"`
	GOMEMLIMIT limits.Value[int64]   `json:"gomemlimit_bytes"` // in force, in bytes; none if it is off
}

// Verdict says why a process waits, as measured over 10 s.
type Verdict string

const (
	// VerdictUnknown: the figures are inconclusive, or 10 s have not passed.
	VerdictUnknown Verdict = "unknown"
	// VerdictFine: little waits.
	VerdictFine Verdict = "fine"
	// VerdictTooFewProcs: Ps are held in system calls while the CPU quota is unused. More Ps
	// help, or fewer such calls at a time.
	VerdictTooFewProcs Verdict = "too-few-procs"
	// VerdictQuotaSpent: the CPU quota is used up. No GOMAXPROCS helps.
	VerdictQuotaSpent Verdict = "quota-spent"
	// VerdictHostBusy: threads wait for CPUs that other processes use.
	VerdictHostBusy Verdict = "host-busy"
)

// Stats holds what a Watcher has done and measured. GivenUp may also contain "GOGC". A Value is
// unknown if the figure was not measured or could not be read, as are all before the first
// poll, a second after the start. In JSON unknown is null, and none is "none".
type Stats struct {
	snug.Stats
	Memory MemoryStats `json:"memory"`
	GC     GCStats     `json:"gc"`
	CPU    CPUStats    `json:"cpu"`
}

// MemoryStats is the memory part of Stats. Values are bytes unless noted otherwise.
//
// Go includes pages that the runtime has allocated but never touched; Used does not. Go may
// therefore exceed Used, and NonGo is too small by such pages. They are about 1 % of most heaps;
// 18 % was measured in a program that allocates large buffers and leaves them unwritten.
type MemoryStats struct {
	// above it the kernel kills or throttles; none if there is no limit
	Limit limits.Value[int64] `json:"limit_bytes"`
	Used  limits.Value[int64] `json:"used_bytes"`  // charged to the limited group and not reclaimable
	Go    limits.Value[int64] `json:"go_bytes"`    // held by the Go runtime
	NonGo limits.Value[int64] `json:"nongo_bytes"` // Used less Go, at least 0
	// recent peak of NonGo, see Options.Memory; unknown without it
	NonGoPeak     limits.Value[int64]   `json:"nongo_peak_bytes"`
	GOMEMLIMIT    limits.Value[int64]   `json:"gomemlimit_bytes"`       // in force; none if it is off
	Pressure      PressureLevel         `json:"pressure"`               // calm before the first poll
	EffectiveGOGC limits.Value[float64] `json:"effective_gogc_percent"` // percent; unknown before the first collection
}

// GCStats is the garbage collector's part of Stats.
type GCStats struct {
	GOGC limits.Value[int64] `json:"gogc_percent"` // in force, in percent; none if it is off
	// recent share of the process's CPU time used by collections, 0 to 1
	CPUShare limits.Value[float64] `json:"cpu_ratio"`
	Cycles   limits.Value[int64]   `json:"cycles"` // collections since the process started
}

// CPUStats is the CPU part of Stats. Used to Verdict cover the last Window.
type CPUStats struct {
	Window     time.Duration         `json:"window_ns"`  // 0 until the first measurement, then about 10 s
	GOMAXPROCS limits.Value[int64]   `json:"gomaxprocs"` // in force, in Ps
	Cores      limits.Value[float64] `json:"cores"`      // CPU time that the process can use, in CPUs
	Used       limits.Value[float64] `json:"used_cores"` // cores, on average
	// share of the quota's periods that were throttled, 0 to 1
	Throttled  limits.Value[float64] `json:"throttled_ratio"`
	GoWait     limits.Value[float64] `json:"go_wait_goroutines"`  // goroutines that waited for a P, on average
	KernelWait limits.Value[float64] `json:"kernel_wait_threads"` // threads that waited for a CPU, on average
	WakeupWait limits.Value[float64] `json:"wakeup_wait_seconds"` // seconds that a goroutine waited per wakeup
	Verdict    Verdict               `json:"verdict"`
	Raised     bool                  `json:"raised"` // GOMAXPROCS is raised, or a raise is being tried, see Options.CPU
}

// Stats returns the figures so far. For a nil Watcher all are unknown, and Ended is true.
func (w *Watcher) Stats() Stats {
	if w == nil || w.loop == nil {
		return Stats{Stats: snug.Stats{Ended: true}, CPU: CPUStats{Verdict: VerdictUnknown}}
	}
	s := w.loop.Measured()
	return measured(&s)
}

func measured(s *follow.Measured) Stats {
	out := Stats{
		Stats: snug.Stats{Polls: s.Polls, Interval: s.Every, Changes: s.Changes, GivenUp: s.GivenUp, Ended: s.Ended,
			Failure: s.Failure},
		Memory: MemoryStats{
			Limit: s.Limit, Used: count(s.Used), Go: count(s.Heap.Mapped), NonGo: count(s.Memory.NonGo),
			NonGoPeak:  count(s.Memory.Peak),
			GOMEMLIMIT: orOff(s.Heap.Limit, plan.NoMemLimit),
			Pressure:   PressureLevel(s.Level), EffectiveGOGC: number(s.Heap.EffectiveGOGC()),
		},
		GC:  GCStats{CPUShare: number(s.GC.Share)},
		CPU: CPUStats{Verdict: Verdict(s.Waiting.Verdict.String()), Raised: s.Raised},
	}
	c, m := &out.CPU, &s.Waiting
	if s.Procs > 0 { // it has polled
		out.GC.GOGC, out.GC.Cycles = orOff(max(s.Heap.GOGC, -1), plan.Off), limits.Of(int64(s.Heap.Cycles))
		c.GOMAXPROCS = limits.Of(int64(s.Procs))
	}
	if s.Cores > 0 {
		c.Cores = limits.Of(s.Cores)
	}
	if m.Seconds > 0 {
		c.Window = time.Duration(m.Seconds * float64(time.Second))
		c.Used, c.Throttled, c.GoWait = number(m.Used), number(m.Throttled), number(m.GoWait)
		c.KernelWait, c.WakeupWait = number(m.KernelWait), number(m.PerWakeup)
	}
	return out
}

// count converts a number of bytes; a negative one is unknown.
func count(n int64) (v limits.Value[int64]) {
	if n >= 0 {
		v = limits.Of(n)
	}
	return v
}

// orOff converts a knob's value; it is none if n is off.
func orOff(n, off int64) limits.Value[int64] {
	if n == off {
		return limits.NoLimit[int64]()
	}
	return count(n)
}

// number converts a measurement; NaN and infinity are unknown.
func number(x float64) (v limits.Value[float64]) {
	if !math.IsNaN(x) && !math.IsInf(x, 0) {
		v = limits.Of(x)
	}
	return v
}

func pressure(s *follow.Measured) Pressure {
	return Pressure{
		Level: PressureLevel(s.Level), EffectiveGOGC: number(s.Heap.EffectiveGOGC()), GCShare: number(s.GC.Share),
		GOMEMLIMIT: orOff(s.Heap.Limit, plan.NoMemLimit),
	}
}
