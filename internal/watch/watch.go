// SPDX-License-Identifier: Apache-2.0

// Package watch follows limits and measurements. One goroutine polls them, lets internal/plan and
// internal/law decide, and makes changes through internal/apply. It decides no number itself.
package watch

import (
	"math"
	"sync"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Parts selects the knobs that may follow measurements, not only the limits.
type Parts uint8

const (
	Memory Parts = 1 << iota
	GC
	CPU
)

// Config configures a Loop.
type Config struct {
	Input  plan.Input   // the input of the first decision
	Plan   *plan.Plan   // the first decision
	Result apply.Result // what was done about it
	Dry    bool         // change nothing

	Adapt Parts
	Poll  time.Duration // 0 = follow.DefaultPoll
	GC    law.GCPolicy  // the loop sets On, if Adapt has GC and the GOGC is snug's

	// OnPlan is called when a decision has changed, and again when a requested GOMAXPROCS is in
	// force; OnPressure when the level has changed. Both are called from the loop's goroutine,
	// which waits for them.
	OnPlan     func(Update)
	OnPressure func(*Stats)
}

// Update is a decision with its results.
type Update struct {
	Plan   plan.Plan
	Limits limits.Limits

	Verdict                      law.Verdict // on waiting
	Measured                     bool        // there is a verdict
	GOMAXPROCS, GOMEMLIMIT, GOGC apply.Did
	Requested                    bool // GOMAXPROCS is requested and not yet in force
}

// Stats holds what a Loop has done and measured. See adapt.Stats.
type Stats struct {
	Polls   int64
	Every   time.Duration
	Changes int64
	GivenUp Knobs
	Ended   bool
	Failure string

	Limit  limits.Value[int64] // bytes
	Used   int64               // bytes; -1 = unknown
	Heap   law.Heap
	Memory law.MemoryDecision
	Level  law.Level
	GC     law.GCDecision

	Procs   int
	Cores   float64 // 0 = unknown
	Waiting law.Waiting
	Raised  bool // GOMAXPROCS is raised by the law
}

// Knobs is a set of knobs.
type Knobs uint8

const (
	GOMAXPROCS Knobs = 1 << iota
	GOMEMLIMIT
	GOGC
)

// Names returns the knobs' names for people; nil if there are none.
func (k Knobs) Names() (all []string) {
	for i, name := range [...]string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC"} {
		if k&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return all
}

// A Loop follows. Its goroutine is (*Loop).run, for goroutine-leak checkers. Short-lived ones
// beside it are (*Loop).change, which waits while GOMAXPROCS changes.
type Loop struct {
	cfg   Config
	knobs knobs
	stop  chan struct{}
	once  sync.Once

	changed  chan apply.Did // from change
	panicked chan string    // from change

	mu     sync.Mutex
	stats  Stats
	update Update

	look // the goroutine's own
}

// unknownMemory is the memory part of Stats while nothing is known.
var unknownMemory = law.MemoryDecision{NonGo: -1, Peak: -1}

// knobs is the part of apply.Result that a loop uses.
type knobs interface {
	Holds() bool
	Procs(now, n int, byRuntime bool) apply.Did
	Memory(n int64) apply.Did
	GOGC(now, n int64) apply.Did
	ReleaseMemory() apply.Did
	ReleaseProcs() apply.Did
	Undo()
}

// New returns a Loop that has not started.
func New(cfg Config) *Loop {
	follow.Adapts()
	l := prepare(cfg, &cfg.Result, nil)
	l.stats.Ended = true
	return l
}

// Start follows until done is closed, and then leaves the knobs as they are. Call it once.
func (l *Loop) Start(done <-chan struct{}) {
	l.mu.Lock()
	l.stats.Ended = false
	l.mu.Unlock()
	if !l.over() {
		follow.Register(follower{l}, l.cfg.Dry)
		l.machine = openMachine() // now, because the program may enter a sandbox
	}
	go l.run(done)
}

// follower is a Loop as package follow sees it.
type follower struct{ *Loop }

func (f follower) Latest() follow.Update {
	u := f.Loop.Latest()
	return u.Common()
}

// Common returns what an update has in common with those of package follow.
func (u *Update) Common() follow.Update {
	return follow.Update{Plan: u.Plan, Limits: u.Limits, GOMAXPROCS: u.GOMAXPROCS, GOMEMLIMIT: u.GOMEMLIMIT, GOGC: u.GOGC, Requested: u.Requested}
}

func (f follower) Stats() follow.Stats {
	s := f.Loop.Stats()
	return follow.Stats{Polls: s.Polls, Every: s.Every, Changes: s.Changes, GivenUp: s.GivenUp.Names(), Ended: s.Ended, Failure: s.Failure}
}

// Current returns the Loop that follows for this process; nil if none was started, or another one
// of package follow took over.
func Current() *Loop {
	f, _ := follow.Current().(follower)
	return f.Loop
}

func prepare(cfg Config, k knobs, m machine) *Loop {
	if cfg.Poll == 0 {
		cfg.Poll = follow.DefaultPoll
	}
	l := &Loop{
		cfg: cfg, knobs: k,
		stop:     make(chan struct{}),
		changed:  make(chan apply.Did, 1),
		panicked: make(chan string, 1),
	}
	l.stats = Stats{Used: -1, Every: cfg.Poll}
	l.stats.Memory = unknownMemory
	l.stats.GC.Share = math.NaN()
	l.stats.Heap = law.Heap{Mapped: -1, Limit: -1, GOGC: -1}
	l.look.begin(l)
	l.machine = m
	l.update = Update{Plan: l.plan, Limits: cfg.Input.Limits, GOMAXPROCS: cfg.Result.GOMAXPROCS, GOMEMLIMIT: cfg.Result.GOMEMLIMIT}
	return l
}

// Stats returns the figures so far.
func (l *Loop) Stats() Stats {
	over := l.over()
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.Ended = s.Ended || over
	return s
}

// Latest returns the decision in force.
func (l *Loop) Latest() Update {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.update
}

// Undo ends following and restores every knob that still holds snug's value. It waits while
// GOMAXPROCS changes.
func (l *Loop) Undo() {
	l.once.Do(func() { close(l.stop) })
	l.knobs.Undo()
}

// over reports whether the loop was undone or another has taken over.
func (l *Loop) over() bool {
	select {
	case <-l.stop:
		return true
	default:
		return !l.knobs.Holds()
	}
}

// run is the loop's goroutine. A panic in it, or in a callback, ends only the loop.
func (l *Loop) run(done <-chan struct{}) {
	defer l.end()
	returned := false
	defer func() { l.failed(follow.FailureOf(recover(), returned)) }()
	// Not at once: do not slow down a program that is starting, or ends soon.
	timer := time.NewTimer(min(l.cfg.Poll, follow.DefaultPoll))
	defer timer.Stop()
	for {
		select {
		case <-done:
			l.finish()
			returned = true
			return
		case <-l.stop:
			returned = true
			return
		case text := <-l.panicked:
			l.procs.inFlight, returned = false, true
			l.failed(text)
			return
		case did := <-l.changed:
			l.procsChanged(did)
		case <-timer.C:
			next := l.poll()
			if next <= 0 {
				returned = true
				return
			}
			timer.Reset(next)
		}
	}
}

// Contain calls f and reports whether it returned without a panic. Stats reports the panic.
func (l *Loop) Contain(f func()) (ok bool) {
	defer func() { l.failed(follow.FailureOf(recover(), ok)) }()
	f()
	return true
}

// finish takes back a number of Ps that is being tried, so that the last value announced is in
// force.
func (l *Loop) finish() {
	l.await()
	if k := &l.procs; k.raised && k.code == law.ProcsTried && !k.inFlight {
		k.raised, k.requested, k.inFlight = false, k.planned, true
		go l.change(l.cpu.Procs, k.planned, k.byRuntime)
		l.await()
	}
}

// await waits for a requested change of GOMAXPROCS.
func (l *Loop) await() {
	if !l.procs.inFlight {
		return
	}
	select {
	case did := <-l.changed:
		l.procsChanged(did)
	case text := <-l.panicked:
		l.procs.inFlight = false
		l.failure(text)
	case <-l.stop:
	}
}

// end marks the loop as ended.
func (l *Loop) end() {
	if l.machine != nil {
		l.machine.close()
	}
	l.mu.Lock()
	l.stats.Ended = true
	l.mu.Unlock()
}

// failed records and logs what ended the loop; "" is no failure.
func (l *Loop) failed(text string) {
	if text == "" {
		return
	}
	defer func() {
		recover() // nothing left to do
	}()
	l.failure(text)
	fit.Say("stopped", "stopped following: "+text)
	l.unadapt()
}

// unadapt sets what followed measurements back to what the limits give. A high GOGC needs a loop
// that polls, a GOMEMLIMIT lowered by a peak would stay low, and a raised GOMAXPROCS must be
// tested again and again.
func (l *Loop) unadapt() {
	k := &l.procs
	if k.inFlight { // wait for it before restoring
		select {
		case did := <-l.changed:
			if did == apply.Set {
				k.own = k.requested
			}
		case <-l.panicked:
		}
		k.inFlight = false
	}
	if k.base != 0 && k.own > k.base && l.lost&GOMAXPROCS == 0 {
		if k.raised = false; k.planned == 0 {
			l.knobs.ReleaseProcs()
		} else {
			l.knobs.Procs(l.cpu.Procs, k.planned, k.byRuntime)
		}
	}
	if l.gc.own != 0 {
		l.knobs.GOGC(l.gc.own, l.cfg.GC.Base)
	}
	if s := &l.plan.GOMEMLIMIT; l.mem.own != 0 && l.lost&GOMEMLIMIT == 0 && l.cfg.Adapt&Memory != 0 && !s.Leave {
		l.knobs.Memory(s.Value)
	}
}

func (l *Loop) failure(text string) {
	l.mu.Lock()
	l.stats.Failure = text
	l.mu.Unlock()
}

// change sets GOMAXPROCS, or restores it if n is 0, in a goroutine of its own: this can take as
// long as a garbage collection, and memory must not wait.
func (l *Loop) change(now, n int, byRuntime bool) {
	defer func() {
		if r := recover(); r != nil {
			l.panicked <- "GOMAXPROCS: panic"
		}
	}()
	if n == 0 {
		l.changed <- l.knobs.ReleaseProcs()
		return
	}
	l.changed <- l.knobs.Procs(now, n, byRuntime)
}
