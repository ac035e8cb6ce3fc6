// SPDX-License-Identifier: Apache-2.0

// Package adapt fits a Go process to its container as package snug does, and lets its
// knobs follow what the process measures: GOMEMLIMIT leaves room for memory that is not
// Go's, GOGC rises while memory is idle, and GOMAXPROCS rises where Ps are held in
// blocking system calls. Each of these is off unless Options or SNUG_ADAPT asks for it.
//
// Whatever is on, a Watcher says how hard the memory limit presses on the garbage
// collector, before the collector takes over (Options.OnPressure), and what the process
// waits for (Verdict).
//
//	w, err := adapt.Watch(ctx, adapt.Options{
//		Memory:     true,
//		OnPressure: func(p adapt.Pressure) { shedding.Store(p.Level >= adapt.PressureTight) },
//	})
//
// To import this package does nothing by itself. The import
//
//	import _ "github.com/snug-go/snug/adapt/auto"
//
// fits and follows as Watch does with the zero Options, for programs that leave the rest
// to SNUG_ADAPT.
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
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/internal/watch"
	"github.com/snug-go/snug/limits"
)

// Options say what Watch decides and what follows measurements. The zero value follows the
// limits alone, and measures. As in snug.Options, a valid environment variable wins over
// its field.
type Options struct {
	snug.Options

	// Memory lets GOMEMLIMIT follow memory of the container that is not Go's (C, tmpfs, other
	// processes): 95 % of the memory limit less what such memory has reached lately, and at
	// most what the limit alone gives. A peak that is over is forgotten within minutes. It
	// needs a memory limit of 64 MiB or more. SNUG_ADAPT=memory, or a list such as memory,gc,cpu.
	// SNUG_ADAPT=none switches all three off. Where Workers or MemoryLimit decides how much
	// this process may use, what its cgroup holds may be others', and neither Memory nor GC
	// does anything; the warning memory-not-measured says so.
	Memory bool
	// GC lets GOGC rise while memory is idle, until collections take GCShare of the CPU
	// time. It needs a memory limit and a GOMEMLIMIT within it. A GOGC that the program has
	// set is left alone unless Override is true. SNUG_ADAPT=gc.
	GC bool
	// CPU doubles GOMAXPROCS where goroutines wait for Ps while CPU time is left over, for
	// instance because blocking system calls hold Ps: up to the larger of 16 and 4 times the
	// cores, and at most MaxProcs. A number is kept only while the process uses at least a tenth more CPU
	// time with it. SNUG_ADAPT=cpu.
	CPU bool

	// Poll is how often to look: 10 ms to 1 h, or 0 for 1 s. Watch looks up to four times
	// less often while the process is idle. With Memory or CPU more than 1 s counts as 1 s. SNUG_POLL.
	Poll time.Duration
	// GCShare is the share of the process's CPU time that GC lets collections take: 0.01 to
	// 0.5, or 0 for 0.05. SNUG_GC=5%.
	GCShare float64

	// OnPlan is called with every plan; nil calls nothing. Watch calls it once before it
	// returns, and then whenever a knob has changed, or the Verdict has become one to act on
	// or is no longer one. For a new GOMAXPROCS it is called twice, when that is requested and
	// when it is in force. It is called from one goroutine at a time, which waits for it. It
	// is not called with SNUG=off.
	OnPlan func(Plan)
	// OnPressure is called when Pressure.Level has changed, up or down; nil calls nothing.
	// It rises one level at a time, and falls 10 s after the reason for it has gone. It is
	// called from the goroutine that watches, which waits for it.
	OnPressure func(Pressure)
}

// Plan is what was decided, and what it was decided from. Its Undo does nothing: use
// Watcher.Undo.
type Plan struct {
	snug.Plan
	GOGC    snug.Setting // percent; left alone unless GC is on
	Verdict Verdict      // what the process waits for, over the last full 10 s
}

// Watcher fits the process and follows. Watch makes one. Its methods may be called from
// several goroutines, and all work on a nil Watcher.
type Watcher struct {
	loop *watch.Loop // nil where everything is switched off
}

// Watch fits the process as snug.Fit does, and follows until ctx ends: the limits, and what
// is measured where the options ask for it. When ctx ends the last values stay in force, so
// that a service which drains stays fitted; Undo restores the first ones.
//
// One goroutine does it, (*Loop).run of github.com/snug-go/snug/internal/watch. It
// allocates nothing while nothing changes, and ends when a later Fit or Watch of this
// package or of package snug takes over. A limit that shrinks is followed at once, growth
// when it has stood for 3 s. A panic in it, or in a callback, ends it and shows in Stats.
// With SNUG_WATCH=off Watch fits once and follows nothing; with SNUG=off it does nothing.
//
// An option outside of its range is an error. The Watcher is nil then, and no knob was
// touched.
func Watch(ctx context.Context, o Options) (*Watcher, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	in, bad := o.input()
	if bad != nil {
		return nil, bad
	}
	p, mode := fit.Decide(&in, apply.Now)
	if mode == plan.Disable {
		return &Watcher{}, nil
	}
	cfg := o.config()
	cfg.Dry = o.DryRun || mode == plan.Observe
	on, warnings := follow.ReadEnv(os.Getenv, &cfg.Poll)
	warnings = append(warnings, watch.ReadEnv(os.Getenv, &cfg)...)
	cfg.Warn(&warnings, &in)
	in.Warnings = append(in.Warnings, warnings...)
	p.Warnings = append(p.Warnings, warnings...)
	cfg.Input, cfg.Plan, cfg.Result = in, p, apply.Take(p, cfg.Dry)
	fit.Log(&in, p, cfg.Result)
	w := &Watcher{watch.New(cfg)}
	// Before the goroutine calls it.
	if told := o.OnPlan == nil || w.loop.Contain(func() { o.OnPlan(w.Plan()) }); told && on != follow.Never {
		w.loop.Start(ctx.Done())
	}
	return w, nil
}

// input is what the embedded options ask for, when all options make sense.
func (o *Options) input() (plan.Input, *fit.Invalid) {
	common := fit.Options[snug.Round](o.Options)
	in, bad := common.Input()
	share := func(field string, x float64) {
		if bad == nil && x != 0 && !(x >= watch.MinShare && x <= watch.MaxShare) {
			bad = &fit.Invalid{Field: "adapt.Options." + field, Value: fit.Number(x), Want: "0, or " + fit.Number(watch.MinShare) + " to " + fit.Number(watch.MaxShare)}
		}
	}
	if bad == nil {
		bad = follow.CheckPoll("adapt.Options.Poll", o.Poll)
	}
	share("GCShare", o.GCShare)
	return in, bad
}

// config is what the other options ask for.
func (o *Options) config() watch.Config {
	cfg := watch.Config{
		Poll: o.Poll,
		GC:   law.GCPolicy{Share: o.GCShare},
	}
	if o.Memory {
		cfg.Adapt |= watch.Memory
	}
	if o.GC {
		cfg.Adapt |= watch.GC
	}
	if o.CPU {
		cfg.Adapt |= watch.CPU
	}
	if f := o.OnPlan; f != nil {
		cfg.OnPlan = func(u watch.Update) { f(public(&u)) }
	}
	if f := o.OnPressure; f != nil {
		cfg.OnPressure = func(s *watch.Stats) { f(pressure(s)) }
	}
	return cfg
}

// Current is the Watcher that this package, or the import of adapt/auto, has started last,
// also when it has ended. It is nil when neither has, or when package snug has taken over
// since; snug.Current knows that one too.
func Current() *Watcher {
	if l := watch.Current(); l != nil {
		return &Watcher{l}
	}
	return nil
}

// Plan is the plan in force. It is the zero Plan for a nil Watcher.
func (w *Watcher) Plan() Plan {
	switch {
	case w == nil:
		return Plan{Verdict: VerdictUnknown}
	case w.loop == nil:
		return public(&watch.Update{Plan: *plan.Nothing(plan.Disabled)})
	}
	u := w.loop.Latest()
	return public(&u)
}

// Undo ends following and restores every knob that still holds the value that was set. It
// does nothing the second time, or after a later Fit or Watch. It does not wait for the
// goroutine, which ends a moment later.
func (w *Watcher) Undo() {
	if w != nil && w.loop != nil {
		w.loop.Undo()
	}
}

func public(u *watch.Update) Plan {
	p := Plan{GOGC: setting(&u.Plan.GOGC, u.GOGC), Verdict: VerdictUnknown}
	p.GOMAXPROCS = setting(&u.Plan.GOMAXPROCS, u.GOMAXPROCS)
	p.GOMEMLIMIT = setting(&u.Plan.GOMEMLIMIT, u.GOMEMLIMIT)
	if u.Requested {
		p.GOMAXPROCS.Action = snug.ActionRequested
	}
	p.Limits, p.Warnings = u.Limits, slices.Clip(u.Plan.Warnings)
	if n := u.Plan.Runtime; n > 0 {
		p.Runtime = limits.Of(n)
	}
	if u.Measured {
		p.Verdict = Verdict(u.Verdict.String())
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
