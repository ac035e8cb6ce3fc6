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

// WatchOptions change what Watch decides and how it follows. The zero value is the default.
type WatchOptions struct {
	Options

	// Poll is how often to look at the limits: 10 ms to 1 h, or 0 for 1 s. Watch looks up to
	// four times less often while the process is idle. SNUG_POLL.
	Poll time.Duration

	// OnPlan is called with every plan; nil calls nothing. Watch calls it once before it
	// returns, and then whenever a knob has changed: for a new GOMAXPROCS twice, when it is
	// requested and when it is in force. It is called from one goroutine at a time, which
	// waits for it. It is not called with SNUG=off.
	OnPlan func(Plan)
}

// Watcher fits the process and follows its limits. Watch makes one. Its methods may be
// called from several goroutines, and all work on a nil Watcher.
type Watcher struct {
	loop follow.Follower // nil where everything is switched off
}

// Watch fits the process as Fit does, and follows limits that change, a process that is
// moved to another cgroup, and a changed CPU mask, until ctx ends. Then the last values stay
// in force, so that a service which drains stays fitted; Undo restores the first ones.
//
// One goroutine does it, (*Loop).run of github.com/snug-go/snug/internal/follow. While
// nothing changes it allocates only the strings of the paths it opens. It ends when a later
// Fit or Watch takes over. A limit that shrinks is followed at once, growth when it has stood
// for 3 s. A knob whose variable (GOMEMLIMIT, ...) is in the environment is not touched,
// unless snug run has put it there. A knob that the program changes meanwhile is the
// program's from then on; that is noticed within seconds. A panic in the goroutine, or in OnPlan, ends following and shows in
// Stats. With SNUG_WATCH=off Watch fits once and follows nothing; with SNUG=off it does
// nothing.
//
// An option outside of its range is an error. The Watcher is nil then, and no knob was
// touched.
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
	p, mode := fit.Decide(&in, apply.Now)
	if mode == plan.Disable {
		return &Watcher{}, nil
	}
	cfg := follow.Config{Dry: o.DryRun || mode == plan.Observe, Poll: o.Poll}
	on, warnings := follow.ReadEnv(os.Getenv, &cfg.Poll)
	in.Warnings = append(in.Warnings, warnings...)
	p.Warnings = append(p.Warnings, warnings...)
	cfg.Input, cfg.Plan, cfg.Result = &in, p, apply.Take(p, cfg.Dry)
	fit.Log(&in, p, cfg.Result)

	w := &Watcher{}
	tell := func() {}
	if o.OnPlan != nil {
		tell = func() { o.OnPlan(w.Plan()) }
		cfg.OnPlan = tell
	}
	loop := follow.New(&cfg)
	w.loop = loop
	// Before the goroutine calls it.
	if loop.Contain(tell) && on != follow.Never {
		loop.Start(ctx.Done())
	}
	return w, nil
}

// Current is a Watcher of what follows for this process: of what was started last by Watch,
// by the import of package auto, or by package adapt, also when it has ended. It is
// nil when none was started, as with SNUG=off, with SNUG_WATCH=off, and by auto in a test
// binary.
func Current() *Watcher {
	if f := follow.Current(); f != nil {
		return &Watcher{f}
	}
	return nil
}

// Plan is the plan in force. It is the zero Plan for a nil Watcher.
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

// Undo ends following and restores every knob that still holds the value that was set. It
// does nothing the second time, or after a later Fit or Watch. It does not wait for the
// goroutine, which ends a moment later.
func (w *Watcher) Undo() {
	if w != nil && w.loop != nil {
		w.loop.Undo()
	}
}

// Stats is what a Watcher has done.
type Stats struct {
	Polls   int64         `json:"polls"`              // looks at the limits
	Changes int64         `json:"changes"`            // knobs set since the start, the first time not counted
	Every   time.Duration `json:"every_ns"`           // from the latest look to the next; 0 with SNUG=off
	GivenUp []string      `json:"given_up,omitempty"` // knobs that another part of the program changed: "GOMAXPROCS", ...
	Ended   bool          `json:"ended"`              // it follows no more, or never did
	Failure string        `json:"failure,omitempty"`  // of a panic, which ended it unless it came while a knob was set; else ""
}

// Stats is what was done until now. For a nil Watcher Ended is true.
func (w *Watcher) Stats() Stats {
	if w == nil || w.loop == nil {
		return Stats{Ended: true}
	}
	s := w.loop.Stats()
	return Stats{Polls: s.Polls, Changes: s.Changes, Every: s.Every, GivenUp: s.GivenUp, Ended: s.Ended, Failure: s.Failure}
}
