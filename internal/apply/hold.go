// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"runtime"
	"runtime/debug"

	"github.com/snug-go/snug/internal/plan"
)

// A Result is also a watcher's hold on the knobs. Each method below changes one knob, if no later
// Take has come and the knob still holds snug's value, if snug set it. Otherwise it changes
// nothing and returns Lost.

// Holds reports whether no later Take has come. A dry Take ends the hold of dry Results only; one
// that sets ends all.
func (r *Result) Holds() bool {
	lock()
	ok := r.holds()
	unlock()
	return ok
}

//go:noinline
func (r *Result) holds() bool { return r.dry && r.turn == takes || !r.dry && r.take == owner }

// Procs sets GOMAXPROCS from now to n. If it is neither now nor held, Procs changes nothing and
// returns Left. byRuntime means that the runtime chose the previous value. Procs waits for a
// running garbage collection, and then stops the world.
func (r *Result) Procs(now, n int, byRuntime bool) Did {
	world.Lock()
	lock()
	did := Left
	if procs.owned || runtime.GOMAXPROCS(0) == now {
		did = r.change(&procs, int64(runtime.GOMAXPROCS(0)), int64(n), byRuntime)
	}
	procs.inFlight = did == Set
	unlock()
	if did == Set {
		runtime.GOMAXPROCS(n) // not under mu: see world
		procsDone(false)
	}
	world.Unlock()
	return did
}

// procsDone records that GOMAXPROCS has changed, and with forget that snug no longer holds it.
//
//go:noinline
func procsDone(forget bool) {
	lock()
	if procs.inFlight = false; forget {
		procs = knob{}
	}
	unlock()
}

// Memory sets GOMEMLIMIT to n bytes.
func (r *Result) Memory(n int64) Did {
	lock()
	did := r.change(&memory, debug.SetMemoryLimit(-1), n, false)
	if did == Set {
		debug.SetMemoryLimit(n)
	}
	unlock()
	return did
}

// GOGC sets GOGC from now to n percent, n >= 0.
func (r *Result) GOGC(now, n int64) Did {
	mu.Lock()
	defer mu.Unlock()
	did := r.change(&gogc, now, n, false)
	if did != Set {
		return did
	}
	// GOGC can only be read by writing it (a negative value would even wait for a running
	// collection), so the previous value is known only now.
	if old := int64(debug.SetGCPercent(int(n))); old != now {
		debug.SetGCPercent(int(old))
		gogc = knob{}
		return Lost
	}
	return did
}

// Adopt takes ownership of a knob, "GOMAXPROCS" or "GOMEMLIMIT", that snug set to n before this
// process began. It reports whether snug holds the knob now: not if the program has set another
// value since.
func Adopt(name string, n int64) bool {
	lock()
	k, now := &memory, debug.SetMemoryLimit(-1)
	if name == "GOMAXPROCS" {
		k, now = &procs, int64(runtime.GOMAXPROCS(0))
	}
	if !k.owned && now == n {
		*k = knob{owned: true, before: n, wrote: n, adopted: true}
	}
	owned := k.owned
	unlock()
	return owned
}

// change decides what to do with a knob whose value is now, and records it.
func (r *Result) change(k *knob, now, value int64, byRuntime bool) Did {
	switch {
	case !r.holds() || k.owned && k.wrote != now:
		return Lost
	case now == value:
		return Already
	case r.dry:
		return Would
	}
	if !k.owned {
		*k = knob{owned: true, before: now, byRuntime: byRuntime}
	}
	k.wrote = value
	return Set
}

// ReleaseMemory restores GOMEMLIMIT when there is no longer a reason to set it. An adopted one had
// the same reason, so it becomes off.
func (r *Result) ReleaseMemory() Did {
	lock()
	did := r.release(&memory)
	if did == Set {
		if memory.adopted {
			memory.before = plan.NoMemLimit
		}
		if debug.SetMemoryLimit(-1) == memory.wrote {
			debug.SetMemoryLimit(memory.before)
		}
		memory = knob{}
	}
	unlock()
	return did
}

// ReleaseProcs restores GOMAXPROCS; an adopted one returns to the runtime's choice. It may take as
// long as Procs.
func (r *Result) ReleaseProcs() Did {
	world.Lock()
	lock()
	did := r.release(&procs)
	held := procs
	procs.inFlight = did == Set
	unlock()
	if did == Set {
		if held.adopted {
			held.before, held.byRuntime = int64(runtime.NumCPU()), true
		}
		held.restoreProcs()
		procsDone(true)
	}
	world.Unlock()
	return did
}

//go:noinline
func (r *Result) release(k *knob) Did {
	switch {
	case !r.holds():
		return Lost
	case !k.owned:
		return Already
	case r.dry:
		return Would
	}
	return Set
}

func undoGOGC() {
	if gogc.owned {
		if now := int64(debug.SetGCPercent(int(gogc.before))); now != gogc.wrote {
			debug.SetGCPercent(int(now))
		}
	}
	gogc = knob{}
}
