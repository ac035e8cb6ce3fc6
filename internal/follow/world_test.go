// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package follow

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

const mib = 1 << 20

// both runs a test for a loop that follows the limits alone, whose measure is nil, and for one that measures
// as well; each for the given ones.
func both(t *testing.T, test func(t *testing.T, measure *Measure)) { each(t, test, nil, &Measure{}) }

func each(t *testing.T, test func(t *testing.T, measure *Measure), all ...*Measure) {
	for _, measure := range all {
		name := "limits"
		if measure != nil {
			name = fmt.Sprint("adapt ", measure.Adapt)
		}
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, measure) })
		})
	}
}

// world is a process in its container: what a loop reads and sets.
type world struct {
	measure  *Measure // nil for a loop that does not measure
	l        *Loop    // the last one that loop made
	live     int64    // heap, at the start
	mu       sync.Mutex
	quota    float64 // cores; 0 = none
	memory   int64   // bytes; 0 = none
	charged  int64   // bytes that cannot be reclaimed; 0 = unknown
	unknown  bool    // nothing can be read
	cpus     int
	follows  bool // the runtime follows the quota by itself, 1 s late
	busy     bool
	load     float64 // cores in use while not busy
	procs    int
	heap     law.Heap
	slow     time.Duration // how long a change of GOMAXPROCS takes
	late     time.Duration // how long until its effect is reported
	taken    bool          // a later Take took over
	owned    [3]bool       // GOMAXPROCS, GOMEMLIMIT, GOGC
	wrote    [3]int64
	released [2]bool
	log      []string
	when     []time.Duration
	start    time.Time
	broken   bool // reading panics
	sealed   bool // nothing more may be asked
	asked    int  // how often the CPU time was
	closed   bool // what a Measuring reads
	threads  int
	waits    int // how often KernelWait was read
	held     *held
	host     bool // the limit is the machine's memory
	unset    bool // setting GOMAXPROCS panics
	undone   int
	said     string
}

func (w *world) limits(l *limits.Limits) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		panic("broken")
	}
	*l = w.read()
	said := fmt.Sprint(l.CPU.Quota, l.Memory.Hard)
	changed := said != w.said
	w.said = said
	return changed
}

func (w *world) read() (l limits.Limits) {
	l.CPU.Affinity = limits.Of(w.cpus)
	if w.unknown {
		return l
	}
	l.CPU.Quota, l.CPU.Cores = limits.NoLimit[float64](), limits.Of(float64(w.cpus))
	if w.quota > 0 {
		l.CPU.Cores = limits.Of(min(w.quota, float64(w.cpus)))
		plan.Confine(&l, w.quota, 0)
	}
	l.Memory.Hard, l.Memory.Soft = limits.NoLimit[int64](), limits.NoLimit[int64]()
	if w.charged > 0 {
		l.Memory.Unreclaimable = limits.Of(w.charged)
	}
	if w.memory > 0 {
		l.Memory.Hard, l.Memory.Soft = limits.Of(w.memory), limits.Of(w.memory)
		if w.host {
			l.Memory.SoftSource.File = "/proc/meminfo"
		}
	}
	return l
}

// loop returns a loop on a world that sets its knobs by set.
func (w *world) loop(cfg *Config, set setter) *Loop {
	l := prepare(cfg, set, &machine{w.limits, w.knobs, w.used, w.liveNow})
	if w.measure != nil {
		m := measuring(l, w.measure)
		m.machine, m.setGOGC = measured{w}, set.(interface{ GOGC(now, n int64) apply.Did }).GOGC
	}
	w.l = l
	return l
}

// measured is a world as a Measuring reads it.
type measured struct{ *world }

func (m measured) Limits(l *limits.Limits) { m.limits(l) }
func (m measured) Heap(h *law.Heap)        { m.do(func() { *h = m.heap }) }
func (m measured) Mapped() (n int64)       { m.do(func() { n = m.heap.Mapped }); return n }
func (m measured) Sealed() bool            { return m.sealed }
func (m measured) Close()                  { m.do(func() { m.closed = true }) }
func (m measured) KernelWait() (float64, int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waits++; m.held != nil {
		return 0.001, 10
	}
	return math.NaN(), max(m.threads, 1)
}

func (m measured) CPU(c *law.CPU, _ bool) {
	procs, _ := m.knobs()
	used := m.used().Seconds()
	*c = law.CPU{Procs: int(procs), Used: used, GC: used / 2, Busy: used}
	m.mu.Lock()
	defer m.mu.Unlock()
	if h := m.held; h != nil {
		seconds := time.Since(m.start).Seconds()
		h.used += 0.05 * float64(procs) * (seconds - h.at)
		h.at = seconds
		c.Used, c.Busy, c.GC, c.GoWait, c.Idle = h.used, h.used, 0, 100*seconds, 0.0001*seconds
	}
}

// held makes the Ps of a world be held in system calls: each uses a twentieth of a core.
type held struct{ used, at float64 }

// collected sets a world's heap figures to those after a collection.
func (w *world) collected(live int64) {
	h := &w.heap
	h.Live, h.Objects, h.Mapped = live, live+live/2, live+live/2+8*mib
	h.Goal, h.Cycles = 2*live, h.Cycles+10
}

func (w *world) liveNow() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.live
}

func (w *world) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) knobs() (procs, memory int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.follows && !w.owned[0] && w.quota > 0 {
		w.procs = min(w.cpus, max(2, int(math.Ceil(w.quota))))
	}
	return int64(w.procs), w.heap.Limit
}

func (w *world) used() time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked++; w.sealed {
		return sealed
	}
	if w.busy {
		return time.Since(w.start)
	}
	return time.Duration(w.load * float64(time.Since(w.start)))
}

func (w *world) Holds() bool { w.mu.Lock(); defer w.mu.Unlock(); return !w.taken }
func (w *world) Undo()       { w.do(func() { w.undone++ }) }
func (w *world) note(text string) {
	w.log = append(w.log, text)
	w.when = append(w.when, time.Since(w.start).Round(10*time.Millisecond))
}

func (w *world) set(i int, now *int64, value int64, name string) apply.Did {
	switch {
	case w.taken || w.owned[i] && *now != w.wrote[i]:
		return apply.Lost
	case *now == value:
		return apply.Already
	}
	*now, w.wrote[i], w.owned[i] = value, value, true
	w.note(name)
	return apply.Set
}

func (w *world) Procs(from, n int, byRuntime bool) apply.Did {
	time.Sleep(w.slow)
	w.mu.Lock()
	if !w.owned[0] && w.procs != from {
		w.mu.Unlock()
		return apply.Left
	}
	if w.unset {
		w.mu.Unlock()
		panic("unset")
	}
	now := int64(w.procs)
	did := w.set(0, &now, int64(n), "procs")
	w.procs = int(now)
	w.mu.Unlock()
	time.Sleep(w.late)
	return did
}

func (w *world) Memory(n int64) apply.Did {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set(1, &w.heap.Limit, n, "memory")
}

func (w *world) GOGC(now, n int64) apply.Did {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set(2, &w.heap.GOGC, n, "gogc")
}

func (w *world) ReleaseMemory() apply.Did {
	w.do(func() { w.heap.Limit, w.owned[1], w.released[1] = plan.NoMemLimit, false, true })
	return apply.Set
}

func (w *world) ReleaseProcs() apply.Did {
	w.do(func() { w.procs, w.owned[0], w.released[0] = w.cpus, false, true })
	return apply.Set
}

func (w *world) gomaxprocs() int { n, _ := w.knobs(); return int(n) }
func (w *world) memlimit() int64 { _, n := w.knobs(); return n }

// adapting starts a loop that measures, on a world that is fitted.
func adapting(w *world, parts Parts, cfg Config) (*Measuring, chan struct{}) {
	w.measure = &Measure{Adapt: parts}
	l, done := watching(w, cfg)
	return l.part.(*Measuring), done
}

// watching starts a loop on a world that is fitted to its quota and memory.
func watching(w *world, cfg Config) (*Loop, chan struct{}) { return watchingAs(w, &cfg) }

func watchingAs(w *world, cfg *Config) (*Loop, chan struct{}) {
	if w.cpus == 0 {
		w.cpus = 16
	}
	w.start = time.Now()
	w.heap.Limit, w.heap.GOGC = plan.NoMemLimit, 100
	w.procs = w.cpus
	if cfg.Input == nil {
		cfg.Input = &plan.Input{}
	}
	cfg.Input.Limits = w.read()
	cfg.Input.Now = plan.Now{Procs: w.cpus, NumCPU: w.cpus, MemLimit: plan.NoMemLimit, Live: w.live}
	if w.follows {
		w.procs = min(w.cpus, max(2, int(math.Ceil(w.quota))))
		cfg.Input.Now.Procs = w.procs
	}
	cfg.Plan = plan.Decide(cfg.Input)
	if s := &cfg.Plan.GOMAXPROCS; !s.Leave && !cfg.Dry {
		if cfg.Result.GOMAXPROCS = apply.Already; int64(w.procs) != s.Value {
			cfg.Result.GOMAXPROCS = w.Procs(w.procs, int(s.Value), false)
			cfg.Result.OwnProcs = int(s.Value)
		}
	}
	if s := &cfg.Plan.GOMEMLIMIT; !s.Leave && !cfg.Dry {
		cfg.Result.GOMEMLIMIT = w.Memory(s.Value)
		cfg.Result.OwnMemLimit = s.Value
	}
	w.log, w.when = nil, nil
	l := w.loop(cfg, w)
	done := make(chan struct{})
	go l.run(done)
	return l, done
}

func (w *world) expect(t *testing.T, procs int, memory int64) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if got := w.procs; got != procs {
		t.Errorf("after %v GOMAXPROCS = %d, want %d", time.Since(w.start), got, procs)
	}
	if got := w.heap.Limit; got != memory {
		t.Errorf("after %v GOMEMLIMIT = %d, want %d", time.Since(w.start), got, memory)
	}
}

func less(n int64) int64 { return n - max(n/10, 16*mib) }
