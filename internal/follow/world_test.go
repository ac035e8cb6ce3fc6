// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package follow

import (
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

const mib = 1 << 20

// world is a process in its container: what a loop reads and sets.
type world struct {
	live     int64 // heap, at the start
	mu       sync.Mutex
	quota    float64 // cores; 0 = none
	memory   int64   // bytes; 0 = none
	unknown  bool    // nothing can be read
	cpus     int
	follows  bool // the runtime follows the quota by itself, 1 s late
	busy     bool
	procs    int
	limit    int64         // GOMEMLIMIT
	slow     time.Duration // how long a change of GOMAXPROCS takes
	late     time.Duration // how long until its effect is reported
	taken    bool          // a later Take took over
	held     [2]bool       // GOMAXPROCS, GOMEMLIMIT
	wrote    [2]int64
	released [2]bool
	log      []string
	when     []time.Duration
	start    time.Time
	broken   bool // reading panics
	sealed   bool // nothing more may be asked
	asked    int  // how often the CPU time was
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
	if w.memory > 0 {
		l.Memory.Hard, l.Memory.Soft = limits.Of(w.memory), limits.Of(w.memory)
		if w.host {
			l.Memory.SoftSource.File = "/proc/meminfo"
		}
	}
	return l
}

func (w *world) machine() *machine {
	return &machine{w.limits, w.knobs, w.used, w.liveNow}
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
	if w.follows && !w.held[0] && w.quota > 0 {
		w.procs = min(w.cpus, max(2, int(math.Ceil(w.quota))))
	}
	return int64(w.procs), w.limit
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
	return 0
}

func (w *world) Holds() bool { w.mu.Lock(); defer w.mu.Unlock(); return !w.taken }
func (w *world) Undo()       { w.do(func() { w.undone++ }) }
func (w *world) note(text string) {
	w.log = append(w.log, text)
	w.when = append(w.when, time.Since(w.start).Round(10*time.Millisecond))
}

func (w *world) set(i int, now *int64, value int64, name string) apply.Did {
	switch {
	case w.taken || w.held[i] && *now != w.wrote[i]:
		return apply.Lost
	case *now == value:
		return apply.Already
	}
	*now, w.wrote[i], w.held[i] = value, value, true
	w.note(name)
	return apply.Set
}

func (w *world) Procs(from, n int, byRuntime bool) apply.Did {
	time.Sleep(w.slow)
	w.mu.Lock()
	if !w.held[0] && w.procs != from {
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
	return w.set(1, &w.limit, n, "memory")
}

func (w *world) ReleaseMemory() apply.Did {
	w.do(func() { w.limit, w.held[1], w.released[1] = plan.NoMemLimit, false, true })
	return apply.Set
}

func (w *world) ReleaseProcs() apply.Did {
	w.do(func() { w.procs, w.held[0], w.released[0] = w.cpus, false, true })
	return apply.Set
}

// watching starts a loop on a world that is fitted to its quota and memory.
func watching(w *world, cfg Config) (*Loop, chan struct{}) { return watchingAs(w, &cfg) }

func watchingAs(w *world, cfg *Config) (*Loop, chan struct{}) {
	if w.cpus == 0 {
		w.cpus = 16
	}
	w.start = time.Now()
	w.limit = plan.NoMemLimit
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
	l := prepare(cfg, w, w.machine())
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
	if got := w.limit; got != memory {
		t.Errorf("after %v GOMEMLIMIT = %d, want %d", time.Since(w.start), got, memory)
	}
}

func less(n int64) int64 { return n - max(n/10, 16*mib) }
