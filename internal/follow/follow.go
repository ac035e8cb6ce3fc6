// SPDX-License-Identifier: Apache-2.0

// Package follow keeps a fitted process fitted: one goroutine looks at the limits and the
// knobs, lets internal/plan decide, and sets through internal/apply what has to change. It
// goes by the limits alone; package adapt goes by what it measures as well.
package follow

import (
	"sync"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Config is what to follow, and from where. Input and Plan are the loop's from then on.
type Config struct {
	Input  *plan.Input  // what the first decision was made from
	Plan   *plan.Plan   // the first decision
	Result apply.Result // what was done about it
	Dry    bool         // touch nothing
	Poll   time.Duration

	// OnPlan is called, from the loop's goroutine, when a decision has changed, and again
	// when a GOMAXPROCS that was asked for is in force.
	OnPlan func()
}

// The range of Poll, and what 0 stands for.
const (
	MinPoll, MaxPoll = 10 * time.Millisecond, time.Hour
	DefaultPoll      = time.Second
)

// Stats is what was done until now.
type Stats struct {
	Polls   int64
	Every   time.Duration
	Changes int64
	GivenUp []string // knobs that another part of the program changed
	Ended   bool
	Failure string
}

// A machine is all that a loop reads: this process, or a test's. It is no interface: what
// reflection may ask of a type in one is kept in every program.
type machine struct {
	// limits reads the limits; changed says that they may lead to another decision.
	// nil where they cannot be read at all.
	limits func(*limits.Limits) (changed bool)
	knobs  func() (procs, memory int64)
	used   func() time.Duration
}

// setter is what a Result lets a loop do.
type setter interface {
	Holds() bool
	Procs(now, n int, byRuntime bool) apply.Did
	Memory(n int64) apply.Did
	ReleaseMemory() apply.Did
	ReleaseProcs() apply.Did
	Undo()
}

// A Loop follows. Its goroutine is (*Loop).run, for goroutine-leak checkers; a
// short-lived one beside it is (*Loop).change, which waits while GOMAXPROCS changes.
type Loop struct {
	set     setter
	open    func() machine
	dry     bool
	poll    time.Duration
	onPlan  func()
	start   time.Time
	machine machine
	stop    chan struct{}
	once    sync.Once
	changed chan apply.Did // from change
	told    bool           // what SNUG_ADAPT is missing

	mu            sync.Mutex // for all below, which others read
	in            *plan.Input
	plan          *plan.Plan
	next          limits.Limits
	procs, memory knob
	inFlight      bool // GOMAXPROCS is being changed
	news          bool // what Latest says has changed
	stats         Stats
	idle          idle
}

// New is a Loop that does not follow.
func New(cfg *Config) *Loop {
	l := prepare(cfg, &cfg.Result, openThis)
	l.stats.Ended = true
	return l
}

func prepare(cfg *Config, set setter, open func() machine) *Loop {
	l := &Loop{
		set: set, open: open, dry: cfg.Dry, poll: cfg.Poll, onPlan: cfg.OnPlan,
		start: time.Now(), stop: make(chan struct{}), changed: make(chan apply.Did, 1),
		in: cfg.Input, plan: cfg.Plan,
	}
	if l.poll == 0 {
		l.poll = DefaultPoll
	}
	l.stats.Every = l.poll
	now, r := &cfg.Input.Now, &cfg.Result
	l.procs.begin(&l.plan.GOMAXPROCS, r.GOMAXPROCS, int64(now.Procs), int64(r.OwnProcs), cfg.Dry)
	l.memory.begin(&l.plan.GOMEMLIMIT, r.GOMEMLIMIT, now.MemLimit, r.OwnMemLimit, cfg.Dry)
	// A program may have set what the plan says as well.
	l.procs.byRuntime = !l.procs.alien(&l.plan.GOMAXPROCS) && (now.Procs == cfg.Plan.Runtime || now.Procs == now.NumCPU ||
		now.Procs == cfg.Input.Limits.CPU.Affinity.N || now.Procs == now.OwnProcs)
	return l
}

// Start follows until done is closed, and from then on leaves the knobs as they
// are. It is called once.
func (l *Loop) Start(done <-chan struct{}) {
	l.mu.Lock()
	l.stats.Ended = false
	l.mu.Unlock()
	if !l.over() {
		register(started{loop: l}, l.dry)
	}
	go l.run(done)
}

// Stats returns what was done until now.
func (l *Loop) Stats() Stats {
	over := l.over()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Ended = s.Ended || over
	if l.procs.lost {
		s.GivenUp = append(s.GivenUp, "GOMAXPROCS")
	}
	if l.memory.lost {
		s.GivenUp = append(s.GivenUp, "GOMEMLIMIT")
	}
	return s
}

// Undo ends following and restores every knob that still holds what was
// written. It waits while GOMAXPROCS changes.
func (l *Loop) Undo() {
	l.once.Do(func() { close(l.stop) })
	l.set.Undo()
}

// over reports whether the knobs are somebody else's by now.
func (l *Loop) over() bool {
	select {
	case <-l.stop:
		return true
	default:
		return !l.set.Holds()
	}
}

// run is the goroutine. A panic inside, also of a callback, ends it and nothing
// else.
func (l *Loop) run(done <-chan struct{}) {
	whole := false
	defer func() { l.end(FailureOf(recover(), whole)) }()
	// Not at once: a program that is starting, or ends soon, has better things to do.
	timer := time.NewTimer(min(l.poll, DefaultPoll))
	defer timer.Stop()
	for {
		select {
		case <-done:
			if l.inFlight { // what is told last is to be what is in force
				l.procsChanged(<-l.changed)
			}
			whole = true
			return
		case <-l.stop:
			whole = true
			return
		case did := <-l.changed:
			l.procsChanged(did)
		case <-timer.C:
			next := l.look()
			if next <= 0 {
				whole = true
				return
			}
			timer.Reset(next)
		}
	}
}

// end says that the loop follows no more, and why where something inside panicked.
func (l *Loop) end(failure string) {
	l.mu.Lock()
	l.stats.Ended = true
	if failure != "" {
		l.stats.Failure = failure
	}
	l.mu.Unlock()
	if failure != "" {
		fit.Say("follows no more: ", failure)
	}
}

// Contain calls f and reports whether it did not panic. What it panics with is told
// by Stats.
func (l *Loop) Contain(f func()) (ok bool) {
	defer func() {
		if text := FailureOf(recover(), ok); text != "" {
			l.mu.Lock()
			l.stats.Failure = text
			l.mu.Unlock()
			ok = false
		}
	}()
	f()
	return true
}

// FailureOf is what a function failed of: r, which it panicked with, or a call of
// runtime.Goexit, where it neither panicked nor came to its whole end. "" is nothing.
func FailureOf(r any, whole bool) (text string) {
	defer func() {
		if recover() != nil || text == "" && r != nil { // an error that cannot say what it is
			text = "panic"
		}
	}()
	switch r := r.(type) {
	case nil:
		if !whole {
			return "runtime.Goexit"
		}
		return ""
	case error:
		return r.Error()
	case string:
		return r
	}
	return "panic"
}
