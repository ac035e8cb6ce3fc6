// SPDX-License-Identifier: Apache-2.0

// Package follow keeps a fitted process fitted. One goroutine polls the limits and the knobs,
// lets internal/plan decide, and makes changes through internal/apply. A Loop uses the limits alone.
// A Measuring is a Loop that polls measurements as well, and lets internal/law decide; only package
// adapt links its code.
package follow

import (
	"sync"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Config configures a Loop, which takes ownership of it, Input and Plan.
type Config struct {
	Input  *plan.Input      // the input of the first decision
	Plan   *plan.Plan       // the first decision
	Limits *limits.Follower // has read its limits; closed when the loop ends; nil if there are none to read
	Result apply.Result     // what was done about it
	Dry    bool             // change nothing
	Poll   time.Duration    // 0 = DefaultPoll

	// Review adds warnings to each plan but the first, as plan.Review does. If it is nil, Latest does.
	Review func(*plan.Input, *plan.Plan)
	// OnPlan is called from the loop's goroutine when a decision has changed, and again when a
	// requested GOMAXPROCS is in force.
	OnPlan func()
}

// The range of Poll, and its default.
const (
	MinPoll, MaxPoll = 10 * time.Millisecond, time.Hour
	DefaultPoll      = time.Second
)

// Stats counts what a Loop has done.
type Stats struct {
	Polls   int64
	Every   time.Duration
	Changes int64
	GivenUp []string // knobs that another part of the program changed
	Ended   bool
	Failure string
}

// A machine is what a test's loop reads in place of this process.
type machine struct {
	limits func(*limits.Limits) (changed bool)
	knobs  func() (procs, memory int64)
	used   func() time.Duration
	live   func() int64
}

// A part is what a Measuring adds to its Loop. All methods are called from the loop's goroutine; only
// show also from others, with the loop locked.
type part interface {
	look() time.Duration // in place of Loop.look
	show(*Update)        // replaces what the limits decide by what is decided
	finish()             // before following ends with the context
	end(failed bool)
}

// sealed: nothing may be asked but what is open, see limits.Sealed.
const sealed = time.Duration(-1)

// setter is the part of apply.Result that a loop uses.
type setter interface {
	Holds() bool
	Procs(now, n int, byRuntime bool) apply.Did
	Memory(n int64) apply.Did
	ReleaseMemory() apply.Did
	ReleaseProcs() apply.Did
	Undo()
}

// A Loop follows the limits. Its goroutine is (*Loop).run, for goroutine-leak checkers. A
// short-lived one beside it is (*Loop).change, which waits while GOMAXPROCS changes.
type Loop struct {
	set     setter
	cfg     *Config
	start   time.Time
	fake    *machine // a test's; a table of functions for this process would be more code
	part    part     // nil without measurements
	stop    chan struct{}
	once    sync.Once
	changed chan apply.Did // from change
	warned  bool           // Unadapted was called

	told     Update // by OnPlan
	warnings int    // at most, in told

	mu            sync.Mutex // guards all fields below, which other goroutines read
	plan          *plan.Plan // and what cfg.Input points to
	next          limits.Limits
	procs, memory knob
	gogc          knob          // only a Measuring changes it
	asked         *plan.Setting // what GOMAXPROCS is being changed to, and why
	inFlight      bool          // GOMAXPROCS is being changed
	dirty         bool          // the result of Latest may have changed
	news          bool          // and has, in more than Loop compares
	doubt         bool          // a smaller machine was seen at the last poll
	stats         Stats
	idle          idle
}

// New returns a Loop that has not started.
func New(cfg *Config) *Loop {
	l := prepare(cfg, &cfg.Result, nil)
	l.stats.Ended = true
	return l
}

func prepare(cfg *Config, set setter, m *machine) *Loop {
	l := &Loop{
		set: set, cfg: cfg, plan: cfg.Plan, fake: m, start: time.Now(),
		stop: make(chan struct{}), changed: make(chan apply.Did, 1),
	}
	if l.cfg.Poll == 0 {
		l.cfg.Poll = DefaultPoll
	}
	l.stats.Every = l.cfg.Poll
	now, r := &cfg.Input.Now, &cfg.Result
	l.procs.begin(&l.plan.GOMAXPROCS, r.GOMAXPROCS, int64(now.Procs), int64(r.OwnProcs), cfg.Dry)
	l.memory.begin(&l.plan.GOMEMLIMIT, r.GOMEMLIMIT, now.MemLimit, r.OwnMemLimit, cfg.Dry)
	// The program may have set the same value as the plan.
	l.procs.byRuntime = !l.procs.foreign(&l.plan.GOMAXPROCS) &&
		(now.Procs == cfg.Plan.Runtime || now.Procs == now.NumCPU ||
			now.Procs == cfg.Input.Limits.CPU.Affinity.N || now.Procs == now.OwnProcs)
	if l.cfg.OnPlan != nil {
		l.differs() // Watch tells of it
	}
	return l
}

// Start follows until done is closed, and then leaves the knobs as they are. Call it once.
func (l *Loop) Start(done <-chan struct{}) {
	lock(&l.mu)
	l.stats.Ended = false
	unlock(&l.mu)
	if !l.over() {
		register(l, l.cfg.Dry)
	}
	go l.run(done)
}

// Stats returns the counts so far.
func (l *Loop) Stats() Stats {
	over := l.over()
	lock(&l.mu)
	defer unlock(&l.mu)
	s := l.stats
	s.Ended = s.Ended || over
	for i, k := range [...]*knob{&l.procs, &l.memory, &l.gogc} {
		if k.lost {
			s.GivenUp = append(s.GivenUp, [...]string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC"}[i])
		}
	}
	return s
}

// Undo ends following and restores every knob that still holds snug's value. It waits while
// GOMAXPROCS changes.
func (l *Loop) Undo() {
	l.once.Do(func() { close(l.stop) })
	l.set.Undo()
}

// Not inlined: each would cost 30 bytes, in every program that imports snug.

//go:noinline
func lock(mu *sync.Mutex) { mu.Lock() }

//go:noinline
func unlock(mu *sync.Mutex) { mu.Unlock() }

// over reports whether the loop was undone or another has taken over.
func (l *Loop) over() bool {
	select {
	case <-l.stop:
		return true
	default:
		return !l.set.Holds()
	}
}

// run is the loop's goroutine. A panic in it, or in a callback, ends only the loop.
func (l *Loop) run(done <-chan struct{}) {
	returned := false
	defer func() { l.end(FailureOf(recover(), returned)) }()
	// Not at once: do not slow down a program that is starting, or ends soon.
	timer := time.NewTimer(min(l.cfg.Poll, DefaultPoll))
	for next := l.cfg.Poll; next > 0; {
		select {
		case <-done:
			if l.inFlight { // the last callback must report what is in force
				l.procsChanged(<-l.changed)
				l.notify()
			}
			if next = 0; l.part != nil {
				l.part.finish()
			}
		case <-l.stop:
			next = 0
		case did := <-l.changed:
			l.procsChanged(did)
			l.notify()
		case <-timer.C:
			if next = l.look(); next > 0 {
				timer.Reset(next)
			}
		}
	}
	returned = true
}

// end closes the files, marks the loop as ended, and logs the failure if there was one.
func (l *Loop) end(failure string) {
	if l.cfg.Limits.Close(); l.part != nil {
		l.part.end(failure != "")
	}
	lock(&l.mu)
	l.stats.Ended = true
	if failure != "" {
		l.stats.Failure = failure
	}
	unlock(&l.mu)
	if failure != "" {
		fit.Say("stopped", "stopped following: "+failure)
	}
}

// Contain calls f and reports whether it returned without a panic. Stats reports the panic.
func (l *Loop) Contain(f func()) (ok bool) {
	defer func() {
		if text := FailureOf(recover(), ok); text != "" {
			lock(&l.mu)
			l.stats.Failure = text
			unlock(&l.mu)
			ok = false
		}
	}()
	f()
	return true
}

// FailureOf describes how a function failed: by a panic with r or, if neither r nor returned is
// set, by runtime.Goexit. It returns "" for no failure.
func FailureOf(r any, returned bool) (text string) {
	defer func() {
		if recover() != nil || text == "" && r != nil { // an error whose Error method panics
			text = "panic"
		}
	}()
	switch r := r.(type) {
	case nil:
		if !returned {
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
