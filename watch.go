// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"context"
	"math"
	"os"
	"time"

	"github.com/snug-go/snug/internal/adapt"
	"github.com/snug-go/snug/internal/watch"
)

// Adapt says which knobs may follow what is measured, and not the limits
// alone. The zero Adapt is none.
type Adapt uint8

const (
	// AdaptMemory: GOMEMLIMIT leaves room for measured memory that is not Go's.
	AdaptMemory Adapt = 1 << iota
	// AdaptGC: GOGC rises while memory is idle, as Options.GC says. A GOGC that the
	// program has set is left alone, unless Options.Override insists.
	AdaptGC
	// AdaptCPU: GOMAXPROCS is raised while Ps are held in blocking system calls and the quota is unused.
	AdaptCPU
)

// AtLimit is what to do when the live heap meets the memory limit.
type AtLimit uint8

const (
	// Restart keeps throughput: once collections take over all CPU there is, the heap
	// may grow beyond what is safe, and a process that needs more memory than
	// there is gets killed and starts anew.
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

// String is "calm", "tight" or "spiral".
func (l Level) String() string { return adapt.Level(l).String() }

// Verdict says what the waiting of a process is due to: "unknown", "fine",
// "too-few-procs" (Ps are held in system calls while the quota is unused),
// "quota-spent" (no GOMAXPROCS helps) or "host-busy" (threads wait for CPUs that other
// processes have).
type Verdict string

// Stats is what a Watcher has done and measured. What was not measured or could
// not be read is NaN, and -1 among bytes and percentages that are whole numbers.
// (NaN and +Inf are nothing that encoding/json can write.)
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

// Watcher fits a process and follows. Make one with Watch. Its methods may be
// called from several goroutines.
type Watcher struct {
	loop *watch.Loop
	off  Plan // the plan where everything is switched off; loop is nil then
}

// Watch fits the process as Fit does and follows until ctx ends: limits that
// change, a process that is moved, and, where Options.Adapt asks for it, what is
// measured. When ctx ends, the last values stay in force, so that a service
// which drains stays fitted; Undo restores the first ones.
//
// It does so in one goroutine, (*Loop).run of package
// github.com/snug-go/snug/internal/watch, which looks once a second, allocates
// nothing while nothing changes, and ends when a later Fit or Watch of the
// process takes over. A limit that shrinks is followed at once, growth when it
// has stood for 3 s. A knob whose variable (GOMEMLIMIT, ...) is in the environment is
// not touched, but for one that snug run has put there by itself. A panic inside, one of a
// callback included, ends following and is told by Stats. With SNUG_WATCH=0 it fits
// once and follows nothing.
func Watch(ctx context.Context, o Options) *Watcher {
	if ctx == nil {
		ctx = context.Background()
	}
	w := &Watcher{}
	in, decided, did := o.fit(&w.off)
	if decided == nil {
		return w
	}
	cfg := watch.Config{
		Input: in, Plan: decided, Result: did, Dry: o.DryRun,
		Adapt:  watch.Parts(o.Adapt),
		Poll:   o.Poll,
		Memory: adapt.MemoryPolicy{Guard: adapt.Guard(o.AtLimit), Reserve: o.Reserve},
		GC:     adapt.GCPolicy{Mode: adapt.Headroom + adapt.Mode(o.GC), Times: o.GCHeadroom, Share: o.GCShare},
	}
	if f := o.OnPlan; f != nil {
		cfg.OnPlan = func(u watch.Update) { f(public(&u)) }
	}
	if f := o.OnPressure; f != nil {
		cfg.OnPressure = func(s *watch.Stats) {
			f(Pressure{Level: Level(s.Level), EffectiveGOGC: s.Heap.EffectiveGOGC(), GCShare: s.GC.Share, Limit: s.Heap.Limit})
		}
	}
	follow, bad := watch.ReadEnv(os.Getenv, &cfg)
	cfg.Input.Warnings = append(cfg.Input.Warnings, bad...)
	cfg.Plan.Warnings = append(cfg.Plan.Warnings, bad...)
	w.loop = watch.New(cfg)
	ok := true
	if o.OnPlan != nil { // before the goroutine calls it
		ok = w.loop.Contain(func() { o.OnPlan(w.Plan()) })
	}
	if ok && follow != watch.Never {
		w.loop.Start(ctx.Done())
	}
	return w
}

// Current is the Watcher that follows for this process: the one that Watch
// returned last, or that of package auto. It is nil when there is none, as with
// SNUG=off, SNUG_WATCH=0 and package auto in a test binary.
func Current() *Watcher {
	if l := watch.Current(); l != nil {
		return &Watcher{loop: l}
	}
	return nil
}

// Plan is the plan in force.
func (w *Watcher) Plan() Plan {
	if w == nil {
		return Plan{}
	}
	if w.loop == nil {
		return w.off
	}
	u := w.loop.Latest()
	return public(&u)
}

func public(u *watch.Update) (p Plan) {
	p.fill(&u.Plan, &u.Limits, u.GOMAXPROCS, u.GOMEMLIMIT, u.GOGC)
	if u.Requested {
		p.GOMAXPROCS.Action = Requested
	}
	if u.Measured {
		p.Verdict = Verdict(u.Verdict.String())
	}
	return p
}

// Stats is what was done and measured until now.
func (w *Watcher) Stats() Stats {
	nan := math.NaN()
	if w == nil || w.loop == nil {
		return Stats{
			Ended:  true,
			Memory: MemoryStats{Limit: -1, Used: -1, Go: -1, NonGo: -1, Held: -1, Margin: -1, Reserve: -1, GOMEMLIMIT: -1, EffectiveGOGC: nan},
			GC:     GCStats{GOGC: -1, Share: nan},
			CPU:    CPUStats{Cores: nan, Used: nan, Throttled: nan, GoWait: nan, KernelWait: nan, PerWakeup: nan, Verdict: "unknown"},
		}
	}
	s := w.loop.Stats()
	out := Stats{
		Polls: s.Polls, Every: s.Every, Changes: s.Changes, GivenUp: s.GivenUp.Names(), Ended: s.Ended, Failure: s.Failure,
		Memory: MemoryStats{
			Limit: s.Limit, Used: s.Used, Go: s.Heap.Mapped, NonGo: s.Memory.NonGo, Held: s.Memory.Held,
			Margin: s.Memory.Margin, Reserve: s.Memory.Reserve, GOMEMLIMIT: s.Heap.Limit,
			Pressure: Level(s.Level), EffectiveGOGC: s.Heap.EffectiveGOGC(), Guarded: s.Memory.Guarded,
		},
		GC: GCStats{GOGC: s.Heap.GOGC, Share: s.GC.Share, Cycles: s.Heap.Cycles},
		CPU: CPUStats{
			Window:     time.Duration(s.Waiting.Seconds * float64(time.Second)),
			GOMAXPROCS: s.Procs, Cores: s.Cores, Used: s.Waiting.Used, Throttled: s.Waiting.Throttled,
			GoWait: s.Waiting.GoWait, KernelWait: s.Waiting.KernelWait, PerWakeup: s.Waiting.PerWakeup,
			Verdict: Verdict(s.Waiting.Verdict.String()), Escaped: s.Escaped,
		},
	}
	if out.Memory.Limit == 0 {
		out.Memory.Limit = -1
	}
	if out.CPU.Cores == 0 {
		out.CPU.Cores = nan
	}
	if out.CPU.Window == 0 {
		c := &out.CPU
		c.Used, c.Throttled, c.GoWait, c.KernelWait, c.PerWakeup = nan, nan, nan, nan, nan
	}
	return out
}

// Undo ends watching and restores every knob that still holds snug's value. It
// does nothing the second time, or after a later Fit or Watch. It does not wait for
// the goroutine, which ends, and shows in Stats, a moment later.
func (w *Watcher) Undo() {
	if w != nil && w.loop != nil {
		w.loop.Undo()
	}
}
