// SPDX-License-Identifier: Apache-2.0

package snug

import (
	"context"
	"os"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/plan"
)

// WatchOptions change what Watch decides and how it follows limits. The zero value is the
// default.
type WatchOptions struct {
	Options

	// Poll is the interval between reads of the limits: 10 ms to 1 h, or 0 for 1 s. Watch reads
	// up to four times less often while the process is idle. SNUG_POLL.
	Poll time.Duration

	// OnPlan, if not nil, is called with every plan: once before Watch returns, and then
	// whenever a knob changes. A new GOMAXPROCS calls it twice, when requested and when in
	// force. Calls never overlap, and following waits for each to return. It is not called
	// with SNUG=off.
	OnPlan func(Plan)
}

// Watcher keeps the process fitted to its limits. Watch returns one. Its methods are safe for
// concurrent use, and all work on a nil Watcher.
type Watcher struct {
	loop *follow.Loop // nil with SNUG=off
}

// Watch fits the process as Fit does. Until ctx ends it then follows changes to the limits, the
// process's cgroup and its CPU mask. When ctx ends the last values stay in force, so that a
// draining service stays fitted; Undo restores the original ones.
//
// One goroutine follows, (*Loop).run of github.com/snug-go/snug/internal/follow. It reads files
// that are open, as the Go runtime does. If the program tightens seccomp it opens no others, and
// no longer follows the process to another cgroup. It ends when a later Fit or
// Watch takes over. A lower limit takes effect at once, a higher one after it has held for
// 3 s. Watch does not touch a knob whose variable (GOMEMLIMIT, ...) is in the environment,
// unless snug run put it there. If the program changes a knob, Watch notices within
// seconds and leaves it alone from then on. A panic in the goroutine, or in OnPlan, ends
// following and is reported in Stats. With SNUG_WATCH=off Watch fits once and does not
// follow; with SNUG=off it does nothing.
//
// For an option out of range Watch changes nothing and returns a nil Watcher and an error.
func Watch(ctx context.Context, o WatchOptions) (*Watcher, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	in, bad := (*fit.Options[Round])(&o.Options).Input()
	if bad == nil {
		bad = follow.CheckPoll("WatchOptions.Poll", o.Poll)
	}
	if bad != nil {
		return nil, bad
	}
	p, f, mode := fit.Decide(&in, apply.Now)
	if mode == plan.Disable {
		return &Watcher{}, nil
	}
	cfg := follow.Config{Dry: o.DryRun || mode == plan.Observe, Poll: o.Poll, Review: plan.Review}
	on, warnings := follow.ReadEnv(os.Getenv, &cfg.Poll)
	plan.Review(&in, p)
	in.Warnings = append(in.Warnings, warnings...)
	p.Warnings = append(p.Warnings, warnings...)
	cfg.Input, cfg.Plan, cfg.Limits, cfg.Result = &in, p, f, apply.Take(p, cfg.Dry)
	fit.Log(&in, p, cfg.Result)

	w := &Watcher{}
	log := follow.LogTo(o.Log)
	notify := func() {
		u := w.loop.Latest()
		if log(&u); o.OnPlan != nil {
			o.OnPlan(public(&u))
		}
	}
	if o.OnPlan != nil || o.Log != nil {
		cfg.OnPlan = notify
	}
	loop := follow.New(&cfg)
	w.loop = loop
	// The first call, before the goroutine makes any.
	ok := loop.Contain(notify)
	if !fit.Few(f) && ok && on != follow.Never {
		loop.Start(ctx.Done())
	} else {
		f.Close()
	}
	return w, nil
}

// Current returns a Watcher of the follower most recently started by Watch, by the import of
// package auto, or by package adapt, even if it has ended. It returns nil if none was started,
// as with SNUG=off, with SNUG_WATCH=off, and by auto in a test binary.
func Current() *Watcher {
	if f := follow.Current(); f != nil {
		return &Watcher{f}
	}
	return nil
}

// Plan returns the plan in force, or the zero Plan for a nil Watcher.
func (w *Watcher) Plan() Plan {
	switch {
	case w == nil:
		return Plan{}
	case w.loop == nil:
		return disabled()
	}
	u := w.loop.Latest()
	return public(&u)
}

// Undo ends following and restores each knob that still holds the value snug gave it. It
// does nothing when called again, or after a later Fit or Watch. It does not wait for the
// goroutine, which ends a moment later.
func (w *Watcher) Undo() {
	if w != nil && w.loop != nil {
		w.loop.Undo()
	}
}

// Stats counts what a Watcher has done.
type Stats struct {
	Polls    int64         `json:"polls"`              // reads of the limits
	Changes  int64         `json:"changes"`            // knobs set since the start, not counting the first time
	Interval time.Duration `json:"every_ns"`           // from the latest read to the next; 0 with SNUG=off
	GivenUp  []string      `json:"given_up,omitempty"` // knobs that another part of the program changed: "GOMAXPROCS", ...
	Ended    bool          `json:"ended"`              // it no longer follows, or never did
	// a panic's message, or ""; a panic ends following unless a knob was being set
	Failure string `json:"failure,omitempty"`
}

// Stats returns the counts so far. Ended is true for a nil Watcher.
func (w *Watcher) Stats() Stats {
	if w == nil || w.loop == nil {
		return Stats{Ended: true}
	}
	s := w.loop.Stats()
	return Stats{Polls: s.Polls, Changes: s.Changes, Interval: s.Every, GivenUp: s.GivenUp, Ended: s.Ended,
		Failure: s.Failure}
}
