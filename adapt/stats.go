// SPDX-License-Identifier: Apache-2.0

package adapt

import (
	"math"
	"time"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/internal/watch"
	"github.com/snug-go/snug/limits"
)

// Level is how hard the memory limit presses on the garbage collector. Levels are ordered:
// a higher one is worse.
type Level uint8

const (
	PressureCalm   Level = iota
	PressureTight        // the heap may grow by less than 20 %: time to shed load
	PressureSpiral       // by less than 10 %, and collections take a tenth of the CPU time: the collector is about to take over
)

// String is "calm", "tight" or "spiral".
func (l Level) String() string { return law.Level(l).String() }

// MarshalText is String, for encoding/json and others.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Pressure is a Level and what it was judged by.
type Pressure struct {
	Level         Level                 `json:"level"`
	EffectiveGOGC limits.Value[float64] `json:"effective_gogc_percent"` // percent that the heap may grow between collections
	GCShare       limits.Value[float64] `json:"gc_cpu_ratio"`           // of the process's CPU time that collections take, 0 to 1
	GOMEMLIMIT    limits.Value[int64]   `json:"gomemlimit_bytes"`       // in force, in bytes; none when it is off
}

// Verdict is what the waiting of a process is due to, as measured over 10 s.
type Verdict string

const (
	// VerdictUnknown: nothing certain can be said, or 10 s have not passed.
	VerdictUnknown Verdict = "unknown"
	// VerdictFine: little waits.
	VerdictFine Verdict = "fine"
	// VerdictTooFewProcs: Ps are held in system calls while the CPU quota is unused. More Ps
	// help, or fewer such calls at a time.
	VerdictTooFewProcs Verdict = "too-few-procs"
	// VerdictQuotaSpent: the CPU quota is used up. No GOMAXPROCS helps.
	VerdictQuotaSpent Verdict = "quota-spent"
	// VerdictHostBusy: threads wait for CPUs that other processes have.
	VerdictHostBusy Verdict = "host-busy"
)

// Stats is what a Watcher has done and measured. GivenUp may also name "GOGC". A Value is
// unknown where the figure was not measured or could not be read, as all are before the
// first look, a second after the start. In JSON unknown is null, and none is "none".
type Stats struct {
	snug.Stats
	Memory MemoryStats `json:"memory"`
	GC     GCStats     `json:"gc"`
	CPU    CPUStats    `json:"cpu"`
}

// MemoryStats is the memory side of Stats. Values are bytes unless they say otherwise.
//
// Go counts pages that the runtime has asked for and never touched, which Used does not: it
// may exceed Used, and NonGo is too small by as much. That is about 1 % of most heaps; 18 %
// was measured in a program that makes large buffers and leaves them unwritten.
type MemoryStats struct {
	Limit         limits.Value[int64]   `json:"limit_bytes"`            // above it the kernel kills or throttles; none when there is no limit
	Used          limits.Value[int64]   `json:"used_bytes"`             // charged to the limited group, and not reclaimable
	Go            limits.Value[int64]   `json:"go_bytes"`               // what the Go runtime holds
	NonGo         limits.Value[int64]   `json:"nongo_bytes"`            // Used less Go, at least 0
	NonGoPeak     limits.Value[int64]   `json:"nongo_peak_bytes"`       // what NonGo has reached lately, see Options.Memory; unknown without it
	GOMEMLIMIT    limits.Value[int64]   `json:"gomemlimit_bytes"`       // in force; none when it is off
	Pressure      Level                 `json:"pressure"`               // calm before the first look
	EffectiveGOGC limits.Value[float64] `json:"effective_gogc_percent"` // percent; unknown before the first collection
}

// GCStats is the garbage collector's side of Stats.
type GCStats struct {
	GOGC   limits.Value[int64]   `json:"gogc_percent"` // in force, in percent; none when it is off
	Share  limits.Value[float64] `json:"cpu_ratio"`    // of the process's CPU time that collections took lately, 0 to 1
	Cycles limits.Value[int64]   `json:"cycles"`       // collections since the process started
}

// CPUStats is the CPU side of Stats. Used to Verdict are over the last Window.
type CPUStats struct {
	Window     time.Duration         `json:"window_ns"`           // 0 until something was measured, then about 10 s
	GOMAXPROCS limits.Value[int64]   `json:"gomaxprocs"`          // in force, in Ps
	Cores      limits.Value[float64] `json:"cores"`               // CPUs' worth of time that the process can use
	Used       limits.Value[float64] `json:"used_cores"`          // cores, on average
	Throttled  limits.Value[float64] `json:"throttled_ratio"`     // share of the quota's periods that were throttled, 0 to 1
	GoWait     limits.Value[float64] `json:"go_wait_goroutines"`  // goroutines that waited for a P, on average
	KernelWait limits.Value[float64] `json:"kernel_wait_threads"` // threads that waited for a CPU, on average
	PerWakeup  limits.Value[float64] `json:"wakeup_wait_seconds"` // seconds that a goroutine waited each time it was woken
	Verdict    Verdict               `json:"verdict"`
	Raised     bool                  `json:"raised"` // GOMAXPROCS is, or is tried, see Options.CPU
}

// Stats is what was done and measured until now. For a nil Watcher nothing is known, and
// Ended is true.
func (w *Watcher) Stats() Stats {
	if w == nil || w.loop == nil {
		return Stats{Stats: snug.Stats{Ended: true}, CPU: CPUStats{Verdict: VerdictUnknown}}
	}
	s := w.loop.Stats()
	return measured(&s)
}

func measured(s *watch.Stats) Stats {
	out := Stats{
		Stats: snug.Stats{Polls: s.Polls, Every: s.Every, Changes: s.Changes, GivenUp: s.GivenUp.Names(), Ended: s.Ended, Failure: s.Failure},
		Memory: MemoryStats{
			Limit: s.Limit, Used: count(s.Used), Go: count(s.Heap.Mapped), NonGo: count(s.Memory.NonGo), NonGoPeak: count(s.Memory.Peak),
			GOMEMLIMIT: orOff(s.Heap.Limit, plan.NoMemLimit),
			Pressure:   Level(s.Level), EffectiveGOGC: number(s.Heap.EffectiveGOGC()),
		},
		GC:  GCStats{Share: number(s.GC.Share)},
		CPU: CPUStats{Verdict: Verdict(s.Waiting.Verdict.String()), Raised: s.Raised},
	}
	c, m := &out.CPU, &s.Waiting
	if s.Procs > 0 { // it has looked
		out.GC.GOGC, out.GC.Cycles = orOff(max(s.Heap.GOGC, -1), plan.Off), limits.Of(int64(s.Heap.Cycles))
		c.GOMAXPROCS = limits.Of(int64(s.Procs))
	}
	if s.Cores > 0 {
		c.Cores = limits.Of(s.Cores)
	}
	if m.Seconds > 0 {
		c.Window = time.Duration(m.Seconds * float64(time.Second))
		c.Used, c.Throttled, c.GoWait = number(m.Used), number(m.Throttled), number(m.GoWait)
		c.KernelWait, c.PerWakeup = number(m.KernelWait), number(m.PerWakeup)
	}
	return out
}

// count is a number of bytes that is negative where it is unknown.
func count(n int64) (v limits.Value[int64]) {
	if n >= 0 {
		v = limits.Of(n)
	}
	return v
}

// orOff is a knob's value, none where it is the one that stands for off.
func orOff(n, off int64) limits.Value[int64] {
	if n == off {
		return limits.NoLimit[int64]()
	}
	return count(n)
}

// number is a measurement that is NaN or infinite where it is unknown.
func number(x float64) (v limits.Value[float64]) {
	if !math.IsNaN(x) && !math.IsInf(x, 0) {
		v = limits.Of(x)
	}
	return v
}

func pressure(s *watch.Stats) Pressure {
	return Pressure{
		Level: Level(s.Level), EffectiveGOGC: number(s.Heap.EffectiveGOGC()), GCShare: number(s.GC.Share),
		GOMEMLIMIT: orOff(s.Heap.Limit, plan.NoMemLimit),
	}
}
