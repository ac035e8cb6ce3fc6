// SPDX-License-Identifier: Apache-2.0

// Package adapt fits a Go process to its container as package snug does, and lets its knobs
// follow measurements: GOMEMLIMIT leaves room for memory outside Go, GOGC rises while memory
// is idle, and GOMAXPROCS rises when blocking system calls hold Ps. Each of these is off unless
// Options or SNUG_ADAPT turns it on.
//
// Even with all three off, a Watcher reports how hard the memory limit presses on the garbage
// collector, before the collector takes over (Options.OnPressure), and what the process waits
// for (Verdict).
//
//	w, err := adapt.Watch(ctx, adapt.Options{
//		Memory:     true,
//		OnPressure: func(p adapt.Pressure) { shedding.Store(p.Level >= adapt.PressureTight) },
//	})
//
// Importing this package does nothing by itself. The import
//
//	import _ "github.com/snug-go/snug/adapt/auto"
//
// fits and follows as Watch does with the zero Options; SNUG_ADAPT selects the rest.
package adapt

import (
	"context"
	"os"
	"slices"
	"time"

	"github.com/snug-go/snug"
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/measure"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Options select what Watch decides and which knobs follow measurements. The zero value follows
// the limits alone, and measures. As in snug.Options, a valid environment variable overrides
// its field.
type Options struct {
	snug.Options

	// Memory lets GOMEMLIMIT follow the container's memory outside Go (C, tmpfs, other
	// processes): 95 % of the memory limit, less the recent peak of such memory, but never more
	// than the limit alone gives. A past peak is forgotten within minutes. It needs a memory
	// limit of 64 MiB or more. SNUG_ADAPT=memory, or a list such as memory,gc,cpu;
	// SNUG_ADAPT=none turns all three off. If Workers or MemoryLimit decides how much this process
	// may use, the cgroup's memory may belong to other processes too: Memory and GC then do
	// nothing, and the Plan has the warning memory-not-measured.
	Memory bool
	// GC lets GOGC rise while memory is idle, until collections take GCShare of the CPU
	// time. It needs a memory limit and a GOMEMLIMIT within it. A GOGC that the program has
	// set is left alone unless Override is true. SNUG_ADAPT=gc.
	GC bool
	// CPU doubles GOMAXPROCS when goroutines wait for Ps while CPU time is left over, for
	// instance because blocking system calls hold Ps: up to the larger of 16 and 4 times the
	// cores, and at most MaxProcs. It keeps a number only while the process uses at least a
	// tenth more CPU time with it. SNUG_ADAPT=cpu.
	CPU bool

	// Poll is the interval between polls: 10 ms to 1 h, or 0 for 1 s. Watch polls up to four
	// times less often while the process is idle. With Memory or CPU it is at most 1 s. SNUG_POLL.
	Poll time.Duration
	// GCShare is the share of the process's CPU time that GC lets collections use: 0.01 to
	// 0.5, or 0 for 0.05. SNUG_GC=5%.
	GCShare float64

	// OnPlan, if not nil, is called with every plan: once before Watch returns, and then
	// whenever a knob changes, or the Verdict becomes one to act on or stops being one. A new
	// GOMAXPROCS calls it twice, when requested and when in force. Calls never overlap, and
	// following waits for each to return. It is not called with SNUG=off.
	OnPlan func(Plan)
	// OnPressure, if not nil, is called when Pressure.Level changes, up or down. The level
	// rises one step at a time, and falls 10 s after its cause has gone. Following waits for
	// each call to return.
	OnPressure func(Pressure)
}

// Plan is a decision, with the limits it is based on. Its Undo does nothing: use Watcher.Undo.
type Plan struct {
	snug.Plan
	GOGC    snug.Setting // percent; left alone unless GC is on
	Verdict Verdict      // what the process waits for, over the last full 10 s
}

// Watcher keeps the process fitted to its limits and measurements. Watch returns one. Its methods
// are safe for concurrent use, and all work on a nil Watcher.
type Watcher struct {
	loop *follow.Measuring // nil with SNUG=off
}

// Watch fits the process as snug.Fit does. Until ctx ends it then follows the limits and, where
// the options say so, measurements. When ctx ends the last values stay in force, so that a
// draining service stays fitted; Undo restores the original ones.
//
// One goroutine follows, (*Loop).run of github.com/snug-go/snug/internal/follow. It allocates
// nothing while nothing changes, and ends when a later Fit or Watch of this package or of
// package snug takes over. A lower limit takes effect at once, a higher one after it has held
// for 3 s. A panic in the goroutine, or in a callback, ends following and is reported in Stats.
// With SNUG_WATCH=off Watch fits once and does not follow; with SNUG=off it does nothing.
//
// For an option out of range Watch changes nothing and returns a nil Watcher and an error.
func Watch(ctx context.Context, o Options) (*Watcher, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	in, bad := o.input()
	if bad != nil {
		return nil, bad
	}
	p, f, mode := fit.Decide(&in, apply.Now)
	few := fit.Few(f)
	f.Close() // the loop has files of its own
	if mode == plan.Disable {
		return &Watcher{}, nil
	}
	more := o.measure()
	cfg := follow.Config{Dry: o.DryRun || mode == plan.Observe, Poll: o.Poll}
	on, warnings := follow.ReadEnv(os.Getenv, &cfg.Poll)
	warnings = append(warnings, measure.ReadEnv(os.Getenv, &more)...)
	more.Warn(&warnings, &in)
	plan.Review(&in, p)
	in.Warnings = append(in.Warnings, warnings...)
	p.Warnings = append(p.Warnings, warnings...)
	cfg.Input, cfg.Plan, cfg.Result = &in, p, apply.Take(p, cfg.Dry)
	fit.Log(&in, p, cfg.Result)
	w, log := &Watcher{}, follow.LogTo(o.Log)
	notify := func() {
		u := w.loop.Latest()
		if log(&u); o.OnPlan != nil {
			o.OnPlan(w.public(&u))
		}
	}
	if o.OnPlan != nil || o.Log != nil {
		cfg.OnPlan = notify
	}
	w.loop = measure.New(&cfg, &more)
	// The first call, before the goroutine makes any.
	if ok := w.loop.Contain(notify); ok && on != follow.Never && !few {
		w.loop.Start(ctx.Done())
	}
	return w, nil
}

// input converts the embedded options, after it has checked all options.
func (o *Options) input() (plan.Input, *fit.Invalid) {
	common := fit.Options[snug.Round](o.Options)
	in, bad := common.Input()
	share := func(field string, x float64) {
		if bad == nil && x != 0 && !(x >= measure.MinShare && x <= measure.MaxShare) {
			bad = &fit.Invalid{Field: "adapt.Options." + field, Value: fit.Number(x),
				Want: "0, or " + fit.Number(measure.MinShare) + " to " + fit.Number(measure.MaxShare)}
		}
	}
	if bad == nil {
		bad = follow.CheckPoll("adapt.Options.Poll", o.Poll)
	}
	share("GCShare", o.GCShare)
	return in, bad
}

// measure converts the other options.
func (o *Options) measure() follow.Measure {
	m := follow.Measure{GC: law.GCPolicy{Share: o.GCShare}}
	if o.Memory {
		m.Adapt |= follow.Memory
	}
	if o.GC {
		m.Adapt |= follow.GC
	}
	if o.CPU {
		m.Adapt |= follow.CPU
	}
	if f := o.OnPressure; f != nil {
		m.OnPressure = func(s *follow.Measured) { f(pressure(s)) }
	}
	return m
}

// Current returns the Watcher most recently started by this package or by the import of
// adapt/auto, even if it has ended. It returns nil if there is none, or if package snug has
// taken over since; snug.Current returns that one too.
func Current() *Watcher {
	if l := follow.CurrentMeasuring(); l != nil {
		return &Watcher{l}
	}
	return nil
}

// Plan returns the plan in force, or the zero Plan for a nil Watcher.
func (w *Watcher) Plan() Plan {
	switch {
	case w == nil:
		return Plan{Verdict: VerdictUnknown}
	case w.loop == nil:
		return w.public(&follow.Update{Plan: *plan.Nothing(plan.Disabled)})
	}
	u := w.loop.Latest()
	return w.public(&u)
}

// Undo ends following and restores each knob that still holds the value snug gave it. It does
// nothing when called again, or after a later Fit or Watch. It does not wait for the goroutine,
// which ends a moment later.
func (w *Watcher) Undo() {
	if w != nil && w.loop != nil {
		w.loop.Undo()
	}
}

// public converts an update to the public Plan.
func (w *Watcher) public(u *follow.Update) Plan {
	p := Plan{GOGC: setting(&u.Plan.GOGC, u.GOGC), Verdict: VerdictUnknown}
	p.GOMAXPROCS = setting(&u.Plan.GOMAXPROCS, u.GOMAXPROCS)
	p.GOMEMLIMIT = setting(&u.Plan.GOMEMLIMIT, u.GOMEMLIMIT)
	if u.Requested {
		p.GOMAXPROCS.Action = snug.ActionRequested
	}
	p.Limits, p.Warnings = u.Limits, slices.Clip(u.Plan.Warnings)
	if n := u.Plan.Runtime; n > 0 {
		p.RuntimeProcs = limits.Of(n)
	}
	if w.loop != nil {
		if v, ok := w.loop.Verdict(); ok {
			p.Verdict = Verdict(v.String())
		}
	}
	return p
}

func setting(s *plan.Setting, did apply.Did) snug.Setting {
	out := snug.Setting{Value: s.Value, Leave: s.Leave, Action: snug.Action(did.String()), Reason: snug.Reason(s.Reason)}
	for _, r := range s.Ignored {
		out.Ignored = append(out.Ignored, snug.Reason(r))
	}
	return out
}
