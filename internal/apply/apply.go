// SPDX-License-Identifier: Apache-2.0

// Package apply sets the knobs: the only place that calls runtime.GOMAXPROCS,
// debug.SetGCPercent and debug.SetMemoryLimit with a value. It keeps what this
// process's knobs were before and what snug wrote, so that a knob somebody else
// changed is given up and the rest can be undone.
package apply

import (
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// A knob is one setting of the process and snug's hold on it.
type knob struct {
	owned     bool
	before    int64 // what it was before snug first wrote it
	wrote     int64
	byRuntime bool // before was the runtime's own choice (GOMAXPROCS only)
	inFlight  bool // wrote is not yet in force (GOMAXPROCS only)
	adopted   bool // before was snug's as well, see Adopt
}

// One set of knobs per process, and one owner at a time: a later Take takes
// them over with their first values.
var (
	// world is held while GOMAXPROCS changes, which may take as long as a garbage
	// collection; mu never is held so long by a watcher. world comes first.
	world sync.Mutex

	mu    sync.Mutex
	owner int // counts takes; an undo of an earlier one has no say any more
	takes int // counts dry ones too
	// imported: the first take was that of an import.
	imported bool
	procs    knob
	memory   knob
	gogc     knob
)

// Did is what Take did about one knob.
type Did uint8

const (
	Left    Did = iota // left alone, as the plan says
	Already            // it had the value, nothing was called
	Set                // it was set
	Would              // a dry run: it would have been set
	Lost               // somebody else changed it, or a later Take has it: it is not touched any more
)

// String is the word for it that logs and plans use.
func (d Did) String() string { return [...]string{"left", "already", "set", "would", "lost"}[d] }

// Result says what was done, and can undo it. The zero Result did nothing.
type Result struct {
	GOMAXPROCS, GOMEMLIMIT Did
	// What snug wrote last and holds, perhaps since an earlier take; 0 = nothing.
	OwnProcs    int
	OwnMemLimit int64

	take int // which take it was; 0: none
	turn int // which it was of all, dry ones too
	dry  bool
}

// Now reads what the process uses, as far as a decision needs it.
func Now() plan.Now {
	n := AtStart()
	if n.Live >= plan.MinMemory-plan.MinHeadroom {
		var m runtime.MemStats
		runtime.ReadMemStats(&m) // stops the world
		n.Live = int64(m.HeapAlloc)
	}
	return n
}

// AtStart is Now for a process that has hardly started: its resident memory
// stands for the live heap, of which it is an upper bound. That costs neither a
// stop of the world nor the code for it.
func AtStart() plan.Now {
	n := plan.Now{
		Procs:    runtime.GOMAXPROCS(0),
		NumCPU:   runtime.NumCPU(),
		MemLimit: debug.SetMemoryLimit(-1),
		Live:     resident(),
	}
	mu.Lock()
	if procs.owned {
		n.OwnProcs = int(procs.wrote)
	}
	if procs.inFlight {
		n.Procs = n.OwnProcs
	}
	if memory.owned {
		n.OwnMemLimit = memory.wrote
	}
	mu.Unlock()
	return n
}

// Import is Take for the import of a package: it does nothing where something in the
// program has taken the knobs already, by its own wish. A package that does more takes
// over from one that does less, and again says so.
func Import(p *plan.Plan, dry, more bool) (r Result, again bool) {
	mu.Lock()
	defer mu.Unlock()
	if again = imported && more && takes == 1; owner != 0 && !again {
		return r, false
	}
	imported = true
	return set(p, dry), again
}

// None says that a Result did nothing because the knobs were taken already.
func (r *Result) None() bool { return r.take == 0 && !r.dry }

// Take makes the process use the plan. With dry it only says what it would do.
// A knob that snug holds and the plan leaves alone is given back, unless it is
// left because nothing is known.
func Take(p *plan.Plan, dry bool) Result {
	world.Lock()
	defer world.Unlock()
	mu.Lock()
	defer mu.Unlock()
	if !dry && p.GOMAXPROCS.Leave && p.GOMAXPROCS.Code != plan.Unknown {
		undoProcs()
	}
	if !dry && p.GOMEMLIMIT.Leave && p.GOMEMLIMIT.Code != plan.Unknown && p.GOMEMLIMIT.Code != plan.LiveHeap {
		undoMemory()
	}
	if !dry && p.GOGC.Leave {
		undoGOGC()
	}
	return set(p, dry)
}

func set(p *plan.Plan, dry bool) Result {
	takes++
	r := Result{dry: dry, turn: takes}
	if !dry {
		owner++
		r.take = owner
	}
	now := int64(runtime.GOMAXPROCS(0))
	r.GOMAXPROCS = procs.take(&p.GOMAXPROCS, now, now == int64(p.Runtime), dry)
	if r.GOMAXPROCS == Set {
		runtime.GOMAXPROCS(int(procs.wrote))
	}
	r.GOMEMLIMIT = memory.take(&p.GOMEMLIMIT, debug.SetMemoryLimit(-1), false, dry)
	if r.GOMEMLIMIT == Set {
		debug.SetMemoryLimit(memory.wrote)
	}
	if procs.owned {
		r.OwnProcs = int(procs.wrote)
	}
	if memory.owned {
		r.OwnMemLimit = memory.wrote
	}
	return r
}

// take says what is to be done with a knob whose value is now, and notes it.
func (k *knob) take(s *plan.Setting, now int64, byRuntime, dry bool) Did {
	if now != k.wrote {
		*k = knob{} // somebody else changed it
	}
	switch {
	case s.Leave:
		return Left
	case s.Value == now:
		return Already
	case dry:
		return Would
	}
	if !k.owned {
		*k = knob{owned: true, before: now, byRuntime: byRuntime}
	}
	k.wrote = s.Value
	return Set
}

// Undo restores every knob that still holds what snug wrote. It does nothing
// the second time, and nothing after a later Take.
func (r Result) Undo() {
	world.Lock()
	defer world.Unlock()
	mu.Lock()
	defer mu.Unlock()
	if r.take == owner && r.take != 0 {
		undoProcs()
		undoMemory()
		undoGOGC()
		owner++ // a watcher of this take has no say any more either
	}
}

func undoProcs() {
	procs.restoreProcs()
	procs = knob{}
}

// restoreProcs hands GOMAXPROCS back to the runtime where it was the runtime's
// and can be (Go 1.25), so that its own updates go on.
func (k *knob) restoreProcs() {
	if k.owned && runtime.GOMAXPROCS(0) == int(k.wrote) && !(k.byRuntime && safeDefault() && resetProcs()) {
		runtime.GOMAXPROCS(int(k.before))
	}
}

func undoMemory() {
	if memory.owned && debug.SetMemoryLimit(-1) == memory.wrote {
		debug.SetMemoryLimit(memory.before)
	}
	memory = knob{}
}

// safeDefault reports whether the runtime may be asked for its default: not
// while a quota that it cannot convert is in force.
func safeDefault() bool {
	f, err := limits.Follow()
	if err != nil {
		return false
	}
	var l limits.Limits
	f.Read(&l)
	for i := range l.CPU.Levels {
		if l.CPU.Levels[i].CrashesGo {
			return false
		}
	}
	return true
}
