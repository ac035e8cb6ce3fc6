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
}

// One set of knobs per process, and one owner at a time: a later Take takes
// them over with their first values.
var (
	mu     sync.Mutex
	owner  int // counts takes; an undo of an earlier one has no say any more
	procs  knob
	memory knob
)

// Did is what Take did about one knob.
type Did uint8

const (
	Left    Did = iota // left alone, as the plan says
	Already            // it had the value, nothing was called
	Set                // it was set
	Would              // a dry run: it would have been set
)

// Result says what was done and how to undo it.
type Result struct {
	GOMAXPROCS, GOMEMLIMIT Did
	// Undo restores every knob that still holds what snug wrote. It does
	// nothing the second time, and nothing after a later Take.
	Undo func()
}

// Now reads what the process uses, as far as a decision needs it.
func Now() plan.Now {
	mu.Lock()
	defer mu.Unlock()
	n := plan.Now{
		Procs:    runtime.GOMAXPROCS(0),
		NumCPU:   runtime.NumCPU(),
		MemLimit: debug.SetMemoryLimit(-1),
		Live:     live(),
	}
	if procs.owned {
		n.OwnProcs = int(procs.wrote)
	}
	if memory.owned {
		n.OwnMemLimit = memory.wrote
	}
	return n
}

// live is the heap in use in bytes, of which the live heap is a part: an upper
// bound is what a limit must not be below. ReadMemStats stops the world, so it is
// asked only in a process that once used as much memory as the smallest
// GOMEMLIMIT there is. (runtime/metrics would not stop it, and would add 30 KB to
// every program.)
func live() int64 {
	if peakRSS() < plan.MinMemory-plan.MinHeadroom {
		return 0
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// Take makes the process use the plan. With dry it only says what it would do.
func Take(p *plan.Plan, dry bool) Result {
	mu.Lock()
	defer mu.Unlock()
	var r Result
	r.GOMAXPROCS = procs.take(&p.GOMAXPROCS, int64(runtime.GOMAXPROCS(0)), p.DefaultProcs, dry, setProcs, restoreProcs)
	r.GOMEMLIMIT = memory.take(&p.GOMEMLIMIT, debug.SetMemoryLimit(-1), false, dry, setMemory, restoreMemory)
	if dry {
		r.Undo = func() {}
		return r
	}
	owner++
	mine := owner
	r.Undo = func() {
		mu.Lock()
		defer mu.Unlock()
		if owner != mine {
			return
		}
		procs.undo(int64(runtime.GOMAXPROCS(0)), restoreProcs)
		memory.undo(debug.SetMemoryLimit(-1), restoreMemory)
	}
	return r
}

// take brings one knob to a setting. now is the value it has.
func (k *knob) take(s *plan.Setting, now int64, byRuntime, dry bool, set func(int64), restore func(*knob)) Did {
	if k.owned && now != k.wrote {
		*k = knob{} // somebody else changed it
	}
	switch {
	case s.Leave && k.owned && s.Code != plan.Unknown && !dry:
		// The reason snug had is gone.
		k.undo(now, restore)
		return Left
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
	set(s.Value)
	k.wrote = s.Value
	return Set
}

// undo gives the knob back as it was, unless somebody else changed it since.
func (k *knob) undo(now int64, restore func(*knob)) {
	if k.owned && now == k.wrote {
		restore(k)
	}
	*k = knob{}
}

func setProcs(n int64) { runtime.GOMAXPROCS(int(n)) }

func setMemory(n int64) { debug.SetMemoryLimit(n) }

// restoreProcs hands GOMAXPROCS back to the runtime where it was the runtime's
// and can be (Go 1.25), so that its own updates go on.
func restoreProcs(k *knob) {
	if k.byRuntime && safeDefault() && resetProcs() {
		return
	}
	runtime.GOMAXPROCS(int(k.before))
}

func restoreMemory(k *knob) { debug.SetMemoryLimit(k.before) }

// safeDefault reports whether the runtime may be asked for its default: not
// while a quota that it cannot convert is in force.
func safeDefault() bool {
	h, err := limits.Self()
	if err != nil {
		return false
	}
	defer h.Close()
	l, err := h.Read()
	return err == nil && !l.CPU.CrashesGo()
}
