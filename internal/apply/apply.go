// SPDX-License-Identifier: Apache-2.0

// Package apply sets the knobs. Only it calls runtime.GOMAXPROCS, debug.SetGCPercent and
// debug.SetMemoryLimit with a value. It stores each knob's value before snug and the value snug
// wrote. It gives up a knob that something else has changed, and can undo the others.
package apply

import (
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// A knob is one setting of the process and snug's ownership of it.
type knob struct {
	owned     bool
	before    int64 // its value before snug first wrote it
	wrote     int64
	byRuntime bool // before was the runtime's own choice (GOMAXPROCS only)
	inFlight  bool // wrote is not yet in force (GOMAXPROCS only)
	adopted   bool // snug also set before, see Adopt
}

// There is one set of knobs per process, and one owner at a time: a later Take takes them over,
// with their original values.
var (
	// world is held while GOMAXPROCS changes, which may take as long as a garbage collection; a
	// watcher never holds mu that long. Lock world before mu.
	world sync.Mutex

	mu    sync.Mutex
	owner int // counts takes; an Undo of an earlier one has no effect
	takes int // counts dry ones too
	// imported: the first take was an import's.
	imported bool
	procs    knob
	memory   knob
	gogc     knob
)

// Not inlined, and not deferred: each would cost 100 bytes, in every program that imports snug.

//go:noinline
func lock() { mu.Lock() }

//go:noinline
func unlock() { mu.Unlock() }

// Did is what was done about one knob.
type Did uint8

const (
	Left    Did = iota // left alone, as the plan says
	Already            // it had the value; nothing was called
	Set                // it was set
	Would              // a dry run: it would have been set
	Lost               // changed by another part of the program, or taken over by a later Take; no longer touched
)

// String returns the word that logs and plans use.
//
//go:noinline
func (d Did) String() string { return [...]string{"left", "already", "set", "would", "lost"}[d] }

// Result reports what was done, and can undo it. The zero Result did nothing.
type Result struct {
	_                      [0]func() // not comparable: no code for it
	GOMAXPROCS, GOMEMLIMIT Did
	// The values snug wrote last and holds, perhaps from an earlier take; 0 = none.
	OwnProcs    int
	OwnMemLimit int64

	take int // the owner number of this take; 0 = none
	turn int // the number of this take, counting dry ones too
	dry  bool
}

// Now returns the process's current values, as needed for a decision. live is an upper bound of its
// live heap, in bytes; if that matters, Now measures it.
func Now(live int64) plan.Now {
	n := AtStart(live)
	if n.Live >= plan.MinValue {
		var m runtime.MemStats
		runtime.ReadMemStats(&m) // stops the world
		n.Live = int64(m.HeapAlloc)
	}
	return n
}

// AtStart is Now for a process that has just started. It uses the upper bound. That neither stops the
// world nor links the code for it.
func AtStart(live int64) plan.Now {
	n := plan.Now{
		Procs:    runtime.GOMAXPROCS(0),
		NumCPU:   runtime.NumCPU(),
		MemLimit: debug.SetMemoryLimit(-1),
		Live:     live,
	}
	lock()
	if procs.owned {
		n.OwnProcs = int(procs.wrote)
	}
	if procs.inFlight {
		n.Procs = n.OwnProcs
	}
	if memory.owned {
		n.OwnMemLimit = memory.wrote
	}
	unlock()
	return n
}

// Import is Take for the import of a package. It does nothing if the program has called Take
// already. A package that does more takes over from one that does less, and again reports so.
func Import(p *plan.Plan, dry, more bool) (r Result, again bool) {
	lock()
	again = imported && more && takes == 1
	if owner == 0 || again {
		imported = true
		r = set(p, dry)
	}
	unlock()
	return r, again
}

// None reports whether a Result did nothing because the knobs were taken already.
func (r *Result) None() bool { return r.take == 0 && !r.dry }

// Take applies the plan to the process; a dry take only reports what it would do. A knob that snug
// holds and the plan leaves alone is restored, unless it is left alone because the limit is
// unknown.
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

// take decides what to do with a knob whose value is now, and records it.
//
//go:noinline
func (k *knob) take(s *plan.Setting, now int64, byRuntime, dry bool) Did {
	if now != k.wrote {
		*k = knob{} // something else has changed it
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

// Undo restores every knob that still holds snug's value. It does nothing when called again, or
// after a later Take.
func (r Result) Undo() {
	world.Lock()
	defer world.Unlock()
	mu.Lock()
	defer mu.Unlock()
	if r.take == owner && r.take != 0 {
		undoProcs()
		undoMemory()
		undoGOGC()
		owner++ // ends watchers of this take
	}
}

func undoProcs() {
	procs.restoreProcs()
	procs = knob{}
}

// restoreProcs returns GOMAXPROCS to the runtime, if the runtime chose it and can take it back
// (Go 1.25), so that it keeps updating it. Otherwise it restores the value.
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

// safeDefault reports whether the runtime may compute its default: not under a quota that it
// cannot convert.
func safeDefault() bool {
	if limits.Sealed() {
		return false // nothing can be read
	}
	f, err := limits.Follow()
	if err != nil {
		return false
	}
	var l limits.Limits
	f.Read(&l)
	f.Close()
	for i := range l.CPU.Levels {
		if l.CPU.Levels[i].CrashesGo {
			return false
		}
	}
	return true
}
