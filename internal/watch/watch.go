// SPDX-License-Identifier: Apache-2.0

// Package watch follows: one goroutine looks at the limits and at what the
// process measures, lets internal/plan and internal/law decide, and sets
// through internal/apply what has to change. Nothing here decides a number.
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

// Parts says which knobs may follow measurements, and not the limits alone.
type Parts uint8

const (
	Memory Parts = 1 << iota
	GC
	CPU
)

// Config is what to follow, and from where.
type Config struct {
	Input  plan.Input   // what the first decision was made from
	Plan   *plan.Plan   // the first decision
	Result apply.Result // what was done about it
	Dry    bool         // touch nothing

	Adapt Parts
	Poll  time.Duration // 0 = follow.DefaultPoll
	GC    law.GCPolicy  // On is the loop's: where Adapt has GC and GOGC is its own

	// OnPlan is called when a decision has changed, and again when a GOMAXPROCS
	// that was asked for is in force; OnPressure when the level has changed; both
	// from the loop's goroutine, which waits for them.
	OnPlan     func(Update)
	OnPressure func(*Stats)
}

// Update is a decision and what was done about it.
type Update struct {
	Plan   plan.Plan
	Limits limits.Limits

	Verdict                      law.Verdict // on waiting
	Measured                     bool        // there is a verdict
	GOMAXPROCS, GOMEMLIMIT, GOGC apply.Did
	Requested                    bool // GOMAXPROCS is asked for and not yet in force
}

// Stats is what was done and measured. See adapt.Stats.
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
	Raised  bool // GOMAXPROCS, by the law
}

// Knobs is a set of knobs.
type Knobs uint8

const (
	GOMAXPROCS Knobs = 1 << iota
	GOMEMLIMIT
	GOGC
)

// Names lists them, for people; nil when there is none.
func (k Knobs) Names() (all []string) {
	for i, name := range [...]string{"GOMAXPROCS", "GOMEMLIMIT", "GOGC"} {
		if k&(1<<i) != 0 {
			all = append(all, name)
		}
	}
	return all
}

// A Loop follows. Its goroutine is (*Loop).run, for goroutine-leak checkers;
// short-lived ones beside it are (*Loop).change, which waits while GOMAXPROCS
// changes.
type Loop struct {
	cfg   Config
	knobs knobs
	open  func() machine
	stop  chan struct{}
	once  sync.Once

	changed  chan apply.Did // from change
	panicked chan string    // from change

	mu     sync.Mutex
	stats  Stats
	update Update

	look // the goroutine's own
}

// unknownMemory is the memory side of Stats while nothing is known.
var unknownMemory = law.MemoryDecision{NonGo: -1, Peak: -1}

// knobs is what a Result lets a watcher do.
type knobs interface {
	Holds() bool
	Procs(now, n int, byRuntime bool) apply.Did
	Memory(n int64) apply.Did
	GOGC(now, n int64) apply.Did
	ReleaseMemory() apply.Did
	ReleaseProcs() apply.Did
	Undo()
}

// New is a Loop that does not follow.
func New(cfg Config) *Loop {
	follow.Adapts()
	l := prepare(cfg, &cfg.Result, openMachine)
	l.stats.Ended = true
	return l
}

// Start follows until done is closed, and from then on leaves the knobs as they
// are. It is called once.
func (l *Loop) Start(done <-chan struct{}) {
	l.mu.Lock()
	l.stats.Ended = false
	l.mu.Unlock()
	if !l.over() {
		follow.Register(follower{l}, l.cfg.Dry)
	}
	go l.run(done)
}

// follower is a Loop as package follow sees it.
type follower struct{ *Loop }

func (f follower) Latest() follow.Update {
	u := f.Loop.Latest()
	return follow.Update{Plan: u.Plan, Limits: u.Limits, GOMAXPROCS: u.GOMAXPROCS, GOMEMLIMIT: u.GOMEMLIMIT, Requested: u.Requested}
}

func (f follower) Stats() follow.Stats {
	s := f.Loop.Stats()
	return follow.Stats{Polls: s.Polls, Every: s.Every, Changes: s.Changes, GivenUp: s.GivenUp.Names(), Ended: s.Ended, Failure: s.Failure}
}

// Current is the Loop that follows for this process; nil when none was started, or
// another one of package follow took over.
func Current() *Loop {
	f, _ := follow.Current().(follower)
	return f.Loop
}

func prepare(cfg Config, k knobs, open func() machine) *Loop {
	if cfg.Poll == 0 {
		cfg.Poll = follow.DefaultPoll
	}
	l := &Loop{
		cfg: cfg, knobs: k, open: open,
		stop:     make(chan struct{}),
		changed:  make(chan apply.Did, 1),
		panicked: make(chan string, 1),
	}
	l.stats = Stats{Used: -1, Every: cfg.Poll}
	l.stats.Memory = unknownMemory
	l.stats.GC.Share = math.NaN()
	l.stats.Heap = law.Heap{Mapped: -1, Limit: -1, GOGC: -1}
	l.look.begin(l)
	l.update = Update{Plan: l.plan, Limits: cfg.Input.Limits, GOMAXPROCS: cfg.Result.GOMAXPROCS, GOMEMLIMIT: cfg.Result.GOMEMLIMIT}
	return l
}

// Stats returns what was done and measured until now.
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

// Undo ends following and restores every knob that still holds what was
// written. It waits while GOMAXPROCS changes.
func (l *Loop) Undo() {
	l.once.Do(func() { close(l.stop) })
	l.knobs.Undo()
}

// over reports whether the knobs are somebody else's by now.
func (l *Loop) over() bool {
	select {
	case <-l.stop:
		return true
	default:
		return !l.knobs.Holds()
	}
}

// run is the goroutine. A panic inside, also of a callback, ends it and nothing
// else.
func (l *Loop) run(done <-chan struct{}) {
	defer l.end()
	whole := false
	defer func() { l.failed(follow.FailureOf(recover(), whole)) }()
	// Not at once: a program that is starting, or ends soon, has better things to do.
	timer := time.NewTimer(min(l.cfg.Poll, follow.DefaultPoll))
	defer timer.Stop()
	for {
		select {
		case <-done:
			l.finish()
			whole = true
			return
		case <-l.stop:
			whole = true
			return
		case text := <-l.panicked:
			l.procs.inFlight, whole = false, true
			l.failed(text)
			return
		case did := <-l.changed:
			l.procsChanged(did)
		case <-timer.C:
			next := l.poll()
			if next <= 0 {
				whole = true
				return
			}
			timer.Reset(next)
		}
	}
}

// Contain calls f and reports whether it did not panic. What it panics with is told
// by Stats.
func (l *Loop) Contain(f func()) (ok bool) {
	defer func() { l.failed(follow.FailureOf(recover(), ok)) }()
	f()
	return true
}

// finish takes back a number of Ps that is being tried, and leaves what is told last in
// force.
func (l *Loop) finish() {
	l.await()
	if k := &l.procs; k.raised && k.code == law.ProcsTried && !k.inFlight {
		k.raised, k.asked, k.inFlight = false, k.planned, true
		go l.change(l.cpu.Procs, k.planned, k.byRuntime)
		l.await()
	}
}

// await waits for a change of GOMAXPROCS that was asked for.
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

// end says that the loop follows no more.
func (l *Loop) end() {
	if l.machine != nil {
		l.machine.close()
	}
	l.mu.Lock()
	l.stats.Ended = true
	l.mu.Unlock()
}

// failed notes what ended the loop; "" is nothing.
func (l *Loop) failed(text string) {
	if text == "" {
		return
	}
	defer func() {
		recover() // nothing is left to do about it
	}()
	l.failure(text)
	fit.Say("follows no more: ", text)
	l.unadapt()
}

// unadapt puts what followed measurements back at what the limits ask for: a high GOGC
// needs a loop that looks, a GOMEMLIMIT that a peak has lowered would stay low, and a raised
// GOMAXPROCS is put to the test again and again.
func (l *Loop) unadapt() {
	k := &l.procs
	if k.inFlight { // it comes before what is put back
		select {
		case did := <-l.changed:
			if did == apply.Set {
				k.own = k.asked
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

// change sets GOMAXPROCS, or gives it back if n is 0, in a goroutine of its own:
// that can take as long as a garbage collection, and memory does not wait.
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
