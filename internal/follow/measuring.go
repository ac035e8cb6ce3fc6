// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"math"
	"slices"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
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

// Measure configures what a Measuring adds to its Loop.
type Measure struct {
	Open  func() (Machine, error) // what to read; an error if limits cannot be read
	Adapt Parts
	GC    law.GCPolicy // the loop sets On, if Adapt has GC and the GOGC is snug's
	// OnPressure is called when the level has changed, from the loop's goroutine, which waits for it.
	OnPressure func(*Measured)
}

// Measured holds what a Measuring has done and measured. See adapt.Stats.
type Measured struct {
	Stats

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

// A Measuring is a Loop that also measures, and lets the laws decide.
type Measuring struct {
	*Loop
	more    Measure
	setGOGC func(now, n int64) apply.Did
	machine Machine // nil if limits cannot be read
	now     reading // the goroutine's own

	// Guarded by the Loop's lock, as other goroutines read them.
	heap      law.Heap
	cpu       law.CPU // the latest sample
	from      law.CPU // the sample that began the window
	waiting   law.Waiting
	used      int64 // as in reading
	mem       measuredMemory
	cpus      measuredProcs
	collector law.GCState
	gc        law.GCDecision
	pressure  law.PressureState
	level     law.Level
	pressed   bool // the level has changed
	quiet     int  // consecutive samples of an idle process
}

// never is the time of the next poll if nothing needs one.
const never = math.MaxFloat64

// NewMeasuring returns a Measuring that has not started.
func NewMeasuring(cfg *Config, more *Measure) *Measuring {
	Adapts()
	cfg.Review = plan.Review
	m := measuring(New(cfg), more)
	m.setGOGC = cfg.Result.GOGC
	return m
}

// measuring makes a Loop a Measuring.
func measuring(l *Loop, more *Measure) *Measuring {
	m := &Measuring{Loop: l, more: *more, used: -1}
	m.heap = law.Heap{Mapped: -1, Limit: -1, GOGC: -1}
	m.gc.Share, m.mem.decision = math.NaN(), unknownMemory
	m.now.shut = limits.Uncounted()
	m.beginProcs()
	l.part = m
	return m
}

// Start is Loop.Start. The files are opened now, because the program may enter a sandbox.
func (m *Measuring) Start(done <-chan struct{}) {
	if !m.over() {
		if machine, err := m.more.Open(); err == nil {
			m.machine = machine
		}
	}
	m.Loop.Start(done)
}

// CurrentMeasuring returns Current if that is a Measuring, or nil.
func CurrentMeasuring() *Measuring {
	l := Current()
	if l == nil {
		return nil
	}
	m, _ := l.part.(*Measuring)
	return m
}

// Measured returns the figures so far.
func (m *Measuring) Measured() Measured {
	s := Measured{Stats: m.Stats()}
	lock(&m.mu)
	defer unlock(&m.mu)
	if s.Polls > 0 {
		s.Limit.State = m.cfg.Input.Limits.Memory.Soft.State
		if n := m.memoryLimit(); n > 0 {
			s.Limit = limits.Of(n)
		}
	}
	s.Used, s.Heap, s.Memory, s.Level, s.GC = m.used, m.heap, m.mem.decision, m.level, m.gc
	s.Procs, s.Cores, s.Waiting, s.Raised = m.cpu.Procs, m.cpu.Cores, m.waiting, m.cpus.raised
	return s
}

// Verdict returns the latest verdict on waiting; ok is false if there is none.
func (m *Measuring) Verdict() (v law.Verdict, ok bool) {
	lock(&m.mu)
	defer unlock(&m.mu)
	return m.waiting.Verdict, m.waiting.Seconds > 0
}

// look polls once, as Loop.look.
func (m *Measuring) look() time.Duration {
	if m.machine == nil {
		return 0
	}
	every := m.step()
	m.notify()
	if m.pressed && m.more.OnPressure != nil {
		s := m.Measured()
		m.more.OnPressure(&s)
	}
	return every
}

func (m *Measuring) step() time.Duration {
	first := m.stats.Polls == 0
	at := time.Since(m.start).Seconds()
	m.read(at, first)
	procs, _ := m.knobs()
	lock(&m.mu)
	defer unlock(&m.mu)
	if m.take(at, first); first {
		if m.procs.own == 0 {
			m.cpus.fallback = int(procs)
		}
		m.foundGC()
	}
	moved := m.moved(at, procs)
	s, live := &m.plan.GOMEMLIMIT, &m.cfg.Input.Now.Live
	if m.now.changed || first || moved || m.heap.Limit != m.memory.seen ||
		s.Leave && s.Code == plan.LiveHeap && *live != m.heap.Live {
		*live, m.cfg.Input.Limits = m.heap.Live, m.next
		isOld := func(w limits.Warning) bool { return w.Code == plan.NotMeasured }
		m.cfg.Input.Warnings = slices.DeleteFunc(slices.Clone(m.cfg.Input.Warnings), isOld)
		m.more.Warn(&m.cfg.Input.Warnings, m.cfg.Input)
		m.decide(procs, m.heap.Limit, moved)
	}
	m.followGC(at)
	next := min(m.cfg.Poll.Seconds(), m.adaptMemory(at), m.adaptProcs(at, procs))
	m.press(at)
	m.stats.Every = m.rhythm(next)
	m.stats.Polls++
	return m.stats.Every
}

// press updates the pressure level.
func (m *Measuring) press(at float64) {
	before := m.level
	m.pressure, m.level = law.StepPressure(m.pressure, at, &m.heap, m.gc.Share)
	if m.pressed = m.level != before; m.pressed {
		fit.LogPressure(m.level.String(), m.heap.EffectiveGOGC())
	}
}

// show puts measured values in the place of those of the limits.
func (m *Measuring) show(u *Update) {
	k, s, x := &m.memory, &m.plan.GOMEMLIMIT, &m.mem
	u.Plan.GOMAXPROCS = m.procsSetting(m.procs.requested)
	if !k.foreign(s) && (x.decision.Limit > 0 || s.Leave && s.Code == plan.LiveHeap && k.own != 0 && k.own == x.decided) {
		u.Plan.GOMEMLIMIT = m.memorySetting()
	}
	u.Plan.GOGC = m.gcSetting()
	switch {
	case m.gogc.lost:
		u.GOGC = apply.Lost
	case !u.Plan.GOGC.Leave:
		u.GOGC = m.gogc.did
	}
}

// finish takes back a number of Ps that is being tried, so that the last value announced is in
// force.
func (m *Measuring) finish() {
	if x := &m.cpus; x.raised && x.code == law.ProcsTried {
		lock(&m.mu)
		x.raised = false
		s := m.plan.GOMAXPROCS
		m.request(m.procs.seen, x.planned, &s)
		unlock(&m.mu)
		m.procsChanged(<-m.changed)
		m.notify()
	}
}

// end closes the files and, after a failure, sets what followed measurements back to what the limits
// give. A high GOGC needs a loop that polls, a GOMEMLIMIT lowered by a peak would stay low, and a
// raised GOMAXPROCS must be tested again and again.
func (m *Measuring) end(failed bool) {
	defer func() {
		recover() // nothing left to do
	}()
	if m.machine != nil {
		defer m.machine.Close()
	}
	if !failed {
		return
	}
	k, x := &m.procs, &m.cpus
	if m.inFlight { // wait for it before restoring
		m.procsChanged(<-m.changed)
	}
	if x.base != 0 && k.own > x.base && !k.lost {
		if x.planned == restore {
			m.set.ReleaseProcs()
		} else {
			m.set.Procs(int(k.seen), int(x.planned), k.byRuntime)
		}
	}
	if own := m.gogc.own; own != 0 {
		m.setGOGC(own, m.more.GC.Base)
	}
	if s := &m.plan.GOMEMLIMIT; m.memory.own != 0 && !m.memory.lost && m.more.Adapt&Memory != 0 && !s.Leave {
		m.set.Memory(s.Value)
	}
}
