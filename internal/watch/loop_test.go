// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package watch

import (
	"math"
	"slices"
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

// world is a process in its container: what a loop reads and sets.
type world struct {
	mu       sync.Mutex
	quota    float64 // cores; 0 = none
	memory   int64   // bytes; 0 = none
	host     bool    // memory is the machine's
	charged  int64   // bytes that cannot be reclaimed; 0 = unknown
	unknown  bool    // nothing can be read
	cpus     int
	follows  bool // the runtime follows the quota by itself, 1 s late
	busy     bool
	heap     law.Heap
	procs    int
	slow     time.Duration // how long a change of GOMAXPROCS takes
	late     time.Duration // how long until its effect is reported
	taken    bool          // a later Take took over
	owned    Knobs
	wrote    [3]int64
	log      []string
	when     []time.Duration
	start    time.Time
	broken   bool // reading panics
	undone   int
	used     float64
	closed   bool
	released Knobs
}

func (w *world) limits(l *limits.Limits) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		panic("broken")
	}
	*l = w.read()
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

func (w *world) get(f func() int64) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return f()
}

func (w *world) do(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
}

func (w *world) GOMAXPROCS() int   { return int(w.get(func() int64 { return int64(w.procs) })) }
func (w *world) GOMEMLIMIT() int64 { return w.get(func() int64 { return w.heap.Limit }) }

func (w *world) cpu(c *law.CPU) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.follows && w.owned&GOMAXPROCS == 0 && w.quota > 0 {
		w.procs = min(w.cpus, max(2, int(math.Ceil(w.quota))))
	}
	if w.busy {
		w.used = time.Since(w.start).Seconds()
	}
	*c = law.CPU{Procs: w.procs, Used: w.used, GC: w.used / 2, Busy: w.used}
}

func (w *world) mapped() int64              { return w.get(func() int64 { return w.heap.Mapped }) }
func (w *world) kernelWait() (float64, int) { return math.NaN(), 1 }
func (w *world) sealed() bool               { return false }
func (w *world) close()                     { w.do(func() { w.closed = true }) }
func (w *world) Holds() bool                { w.mu.Lock(); defer w.mu.Unlock(); return !w.taken }
func (w *world) Undo()                      { w.do(func() { w.undone++ }) }
func (w *world) note(text string) {
	w.log = append(w.log, text)
	w.when = append(w.when, time.Since(w.start).Round(10*time.Millisecond))
}

// machineOf has a method heap; world has a field of that name.
type machineOf struct{ *world }

func (m machineOf) heap(h *law.Heap) { m.do(func() { *h = m.world.heap }) }

func (w *world) set(k Knobs, i int, now *int64, value int64, name string) apply.Did {
	switch {
	case w.taken || w.owned&k != 0 && *now != w.wrote[i]:
		return apply.Lost
	case *now == value:
		return apply.Already
	}
	*now, w.wrote[i] = value, value
	w.owned |= k
	w.note(name)
	return apply.Set
}

func (w *world) Procs(from, n int, byRuntime bool) apply.Did {
	time.Sleep(w.slow)
	w.mu.Lock()
	if w.owned&GOMAXPROCS == 0 && w.procs != from {
		w.mu.Unlock()
		return apply.Left
	}
	now := int64(w.procs)
	did := w.set(GOMAXPROCS, 0, &now, int64(n), "procs")
	w.procs = int(now)
	w.mu.Unlock()
	time.Sleep(w.late)
	return did
}

func (w *world) Memory(n int64) apply.Did {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set(GOMEMLIMIT, 1, &w.heap.Limit, n, "memory")
}

func (w *world) GOGC(now, n int64) apply.Did {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set(GOGC, 2, &w.heap.GOGC, n, "gogc")
}

func (w *world) ReleaseMemory() apply.Did {
	w.do(func() {
		w.heap.Limit = plan.NoMemLimit
		w.owned &^= GOMEMLIMIT
		w.released |= GOMEMLIMIT
	})
	return apply.Set
}

func (w *world) ReleaseProcs() apply.Did {
	w.do(func() {
		w.procs = w.cpus
		w.owned &^= GOMAXPROCS
		w.released |= GOMAXPROCS
	})
	return apply.Set
}

// watching starts a loop on a world that is fitted to its quota and memory.
func watching(w *world, cfg Config) (*Loop, chan struct{}) {
	if w.cpus == 0 {
		w.cpus = 16
	}
	w.start = time.Now()
	w.heap.Limit, w.heap.GOGC = plan.NoMemLimit, 100
	w.procs = w.cpus
	cfg.Input.Limits = w.read()
	cfg.Input.Now = plan.Now{Procs: w.cpus, NumCPU: w.cpus, MemLimit: plan.NoMemLimit}
	if w.follows {
		w.procs = min(w.cpus, max(2, int(math.Ceil(w.quota))))
		cfg.Input.Now.Procs = w.procs
	}
	cfg.Plan = plan.Decide(&cfg.Input)
	m := machineOf{w}
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
	l := prepare(cfg, w, m)
	done := make(chan struct{})
	go l.run(done)
	return l, done
}

func (w *world) expect(t *testing.T, procs int, memory int64) {
	t.Helper()
	if got := w.GOMAXPROCS(); got != procs {
		t.Errorf("after %v GOMAXPROCS = %d, want %d", time.Since(w.start), got, procs)
	}
	if got := w.GOMEMLIMIT(); got != memory {
		t.Errorf("after %v GOMEMLIMIT = %d, want %d", time.Since(w.start), got, memory)
	}
}

func less(n int64) int64 { return n - max(n/10, 16*mib) }

func TestShrinkAtOnceGrowthLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		l, done := watching(w, Config{})
		w.expect(t, 8, less(512*mib))
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.quota, w.memory = 4, 256*mib })
		time.Sleep(1100 * time.Millisecond)
		w.expect(t, 4, less(256*mib))
		w.do(func() { w.quota, w.memory = 12, 1024*mib })
		time.Sleep(settle * time.Second)
		w.expect(t, 4, less(256*mib))
		time.Sleep(1100 * time.Millisecond)
		w.expect(t, 12, less(1024*mib))
		if s := l.Stats(); s.Changes != 4 || s.Ended {
			t.Errorf("stats %+v, want 4 changes", s)
		}
		close(done)
		synctest.Wait()
		w.expect(t, 12, less(1024*mib))
		if s := l.Stats(); !s.Ended || !w.closed || w.undone != 0 {
			t.Errorf("ended %v, closed %v, undone %d; want the last values left in force", s.Ended, w.closed, w.undone)
		}
	})
}

func TestADipIsNoGrowth(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 4, memory: 256 * mib, busy: true}
		_, done := watching(w, Config{})
		for range 20 { // up for 2 s, down for 2 s
			w.do(func() { w.quota, w.memory = 8, 512*mib })
			time.Sleep(2 * time.Second)
			w.do(func() { w.quota, w.memory = 4, 256*mib })
			time.Sleep(2 * time.Second)
		}
		w.expect(t, 4, less(256*mib))
		if len(w.log) != 0 {
			t.Errorf("set %v, want nothing", w.log)
		}
		close(done)
	})
}

// TestOneDipOfTheMachine: a smaller machine counts at the second look in a row.
func TestOneDipOfTheMachine(t *testing.T) {
	for _, adapt := range []Parts{0, Memory} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{memory: 1024 * mib, host: true, busy: true, charged: 64 * mib}
			_, done := watching(w, Config{Adapt: adapt})
			time.Sleep(500 * time.Millisecond) // between two looks
			for range 3 {
				w.do(func() { w.memory = 256 * mib })
				time.Sleep(time.Second)
				w.do(func() { w.memory = 1024 * mib })
				time.Sleep(3 * time.Second)
			}
			if len(w.log) != 0 {
				t.Errorf("set %v, want nothing", w.log)
			}
			w.do(func() { w.memory = 256 * mib })
			time.Sleep(2500 * time.Millisecond)
			if n := w.GOMEMLIMIT(); n > less(256*mib) {
				t.Errorf("GOMEMLIMIT = %d, want at most %d", n, less(256*mib))
			}
			close(done)
		})
	}
}

func TestFlappingSlowsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 4, memory: 256 * mib, busy: true}
		_, done := watching(w, Config{})
		for range 60 {
			w.do(func() { w.quota = 8 })
			time.Sleep(5 * time.Second)
			w.do(func() { w.quota = 4 })
			time.Sleep(5 * time.Second)
		}
		if n := len(w.log); n < 2 || n > 4 {
			t.Errorf("GOMAXPROCS was changed %d times in 10 minutes of going up and down, want 2 to 4: %v", n, w.when)
		}
		close(done)
	})
}

func TestMemoryDoesNotWaitForGOMAXPROCS(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		var plans []Update
		_, done := watching(w, Config{OnPlan: func(u Update) { plans = append(plans, u) }})
		time.Sleep(1500 * time.Millisecond)
		w.do(func() { w.slow, w.quota = 5*time.Second, 4 })
		time.Sleep(time.Second)
		w.do(func() { w.memory = 256 * mib })
		time.Sleep(1100 * time.Millisecond)
		w.expect(t, 8, less(256*mib))
		time.Sleep(5 * time.Second)
		w.expect(t, 4, less(256*mib))
		synctest.Wait()
		requested := slices.IndexFunc(plans, func(u Update) bool { return u.Requested && u.Plan.GOMAXPROCS.Value == 4 })
		last := plans[len(plans)-1]
		if requested != 0 || last.Requested || last.GOMAXPROCS != apply.Set {
			t.Errorf("%d plans, requested at %d, the last %+v; want a request first and the change last", len(plans), requested, last)
		}
		close(done)
	})
}

func TestTheRuntimeFollowsItself(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, follows: true, busy: true}
		_, done := watching(w, Config{Input: plan.Input{Go: plan.Go{Minor: 26}}})
		for _, q := range []float64{4, 6, 3.5, 12} {
			w.do(func() { w.quota = q })
			time.Sleep(10 * time.Second)
			w.expect(t, int(math.Ceil(q)), plan.NoMemLimit)
		}
		if len(w.log) != 0 {
			t.Errorf("set %v, want it left to the runtime", w.log)
		}
		// A runtime that has stopped following, as an idle process's may.
		w.do(func() { w.follows, w.quota = false, 2.5 })
		time.Sleep(2100 * time.Millisecond)
		w.expect(t, 3, plan.NoMemLimit)
		close(done)
	})
}

func TestForeignChangeIsGivenUpForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		l, done := watching(w, Config{})
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.procs, w.heap.Limit = 5, 100*mib })
		time.Sleep(2 * time.Second)
		w.do(func() { w.quota, w.memory = 4, 256*mib })
		time.Sleep(20 * time.Second)
		w.expect(t, 5, 100*mib)
		if s := l.Stats(); s.GivenUp != GOMAXPROCS|GOMEMLIMIT {
			t.Errorf("given up %v, want both", s.GivenUp.Names())
		}
		if u := l.Latest(); u.Plan.GOMAXPROCS.Reason != (plan.Reason{Code: plan.ProgramSet, Number: 5}) || u.Plan.GOMEMLIMIT.Reason != (plan.Reason{Code: plan.ProgramSet, Number: 100 * mib}) {
			t.Errorf("plan %+v, want both the program's, 5 and 100 MiB", u.Plan)
		}
		w.do(func() { w.procs, w.heap.Limit = 8, less(512*mib) }) // back to what snug set
		time.Sleep(20 * time.Second)
		w.expect(t, 8, less(512*mib))
		close(done)
	})
}

func TestUnknownChangesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		_, done := watching(w, Config{Adapt: Memory | CPU})
		time.Sleep(5 * time.Second)
		n := len(w.log)
		procs, memory := w.GOMAXPROCS(), w.GOMEMLIMIT()
		w.do(func() { w.unknown = true })
		time.Sleep(time.Minute)
		w.expect(t, procs, memory)
		if len(w.log) != n {
			t.Errorf("set %v", w.log[n:])
		}
		close(done)
	})
}

func TestLimitsThatGoAwayGiveBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		_, done := watching(w, Config{})
		time.Sleep(1500 * time.Millisecond)
		w.do(func() { w.quota, w.memory = 0, 0 })
		time.Sleep(6 * time.Second)
		w.expect(t, 16, plan.NoMemLimit)
		if w.released != GOMAXPROCS|GOMEMLIMIT {
			t.Errorf("released %v, want both", w.released.Names())
		}
		w.do(func() { w.quota, w.memory = 2, 256*mib })
		time.Sleep(4 * time.Second)
		w.expect(t, 2, less(256*mib))
		w.do(func() { w.memory = 32 * mib }) // too small to set GOMEMLIMIT at the start either
		time.Sleep(10 * time.Second)
		w.expect(t, 2, plan.NoMemLimit)
		close(done)
	})
}

func TestDryRunTouchesNothingAndTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		var plans []Update
		dry := &dryKnobs{}
		l, _ := watching(w, Config{Dry: true})
		l.Undo()
		cfg := Config{Dry: true, Input: l.cfg.Input, Plan: l.cfg.Plan, OnPlan: func(u Update) { plans = append(plans, u) }}
		cfg.Result.GOMAXPROCS, cfg.Result.GOMEMLIMIT = apply.Would, apply.Would
		l = prepare(cfg, dry, machineOf{w})
		done := make(chan struct{})
		go l.run(done)
		time.Sleep(2 * time.Second)
		if len(plans) > 0 {
			t.Errorf("OnPlan repeats the plan of the start: %+v", plans)
		}
		w.do(func() { w.quota, w.memory = 4, 256*mib })
		time.Sleep(20 * time.Second)
		w.expect(t, 16, plan.NoMemLimit)
		if n := len(plans); n == 0 || n > 8 {
			t.Fatalf("%d plans, want a few", n)
		}
		for _, u := range plans {
			if u.Requested {
				t.Errorf("something is requested: %+v", u)
			}
		}
		if u := plans[len(plans)-1]; u.Plan.GOMAXPROCS.Value != 4 || u.GOMAXPROCS != apply.Would || u.Plan.GOMEMLIMIT.Value != less(256*mib) || u.GOMEMLIMIT != apply.Would {
			t.Errorf("last plan %+v, want 4 and %d, would", u, less(256*mib))
		}
		close(done)
	})
}

type dryKnobs struct{}

func (dryKnobs) Holds() bool                    { return true }
func (dryKnobs) Procs(int, int, bool) apply.Did { return apply.Would }
func (dryKnobs) Memory(int64) apply.Did         { return apply.Would }
func (dryKnobs) GOGC(int64, int64) apply.Did    { return apply.Would }
func (dryKnobs) ReleaseMemory() apply.Did       { return apply.Would }
func (dryKnobs) ReleaseProcs() apply.Did        { return apply.Would }
func (dryKnobs) Undo()                          {}
