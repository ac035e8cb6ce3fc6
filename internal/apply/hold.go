// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"runtime"
	"runtime/debug"

	"github.com/snug-go/snug/internal/plan"
)

// A Result is also a watcher's hold on the knobs: the methods below change one
// knob each, as long as no later Take has come and the knob holds what snug
// wrote, if snug wrote it. Otherwise they answer Lost and touch nothing.

// Holds reports whether no later Take has come. A dry Take ends the hold of dry
// Results alone; one that sets ends it for all.
func (r *Result) Holds() bool {
	mu.Lock()
	defer mu.Unlock()
	return r.holds()
}

func (r *Result) holds() bool { return r.dry && r.turn == takes || !r.dry && r.take == owner }

// Procs sets GOMAXPROCS from now to n. If it is no longer now and not held, nothing
// is done: Left. byRuntime says that the value before was the runtime's own
// choice. It waits for a garbage collection that runs, and then stops the world.
func (r *Result) Procs(now, n int, byRuntime bool) Did {
	world.Lock()
	defer world.Unlock()
	mu.Lock()
	did := Left
	if procs.owned || runtime.GOMAXPROCS(0) == now {
		did = r.change(&procs, int64(runtime.GOMAXPROCS(0)), int64(n), byRuntime)
	}
	procs.inFlight = did == Set
	mu.Unlock()
	if did == Set {
		runtime.GOMAXPROCS(n) // not under mu: see world
		mu.Lock()
		procs.inFlight = false
		mu.Unlock()
	}
	return did
}

// Memory sets GOMEMLIMIT to n bytes.
func (r *Result) Memory(n int64) Did {
	mu.Lock()
	defer mu.Unlock()
	did := r.change(&memory, debug.SetMemoryLimit(-1), n, false)
	if did == Set {
		debug.SetMemoryLimit(n)
	}
	return did
}

// GOGC sets GOGC to n percent, n >= 0; now is what it is.
func (r *Result) GOGC(now, n int64) Did {
	mu.Lock()
	defer mu.Unlock()
	did := r.change(&gogc, now, n, false)
	if did != Set {
		return did
	}
	// To read it is to write it (a negative one would even wait for a running
	// collection), so what was there is known only now.
	if old := int64(debug.SetGCPercent(int(n))); old != now {
		debug.SetGCPercent(int(old))
		gogc = knob{}
		return Lost
	}
	return did
}

// Adopt takes hold of a knob, "GOMAXPROCS" or "GOMEMLIMIT", that snug has set to n
// before this process began. It reports whether the knob is held now, which
// it is not where the program has set another value since.
func Adopt(name string, n int64) bool {
	mu.Lock()
	defer mu.Unlock()
	k, now := &memory, debug.SetMemoryLimit(-1)
	if name == "GOMAXPROCS" {
		k, now = &procs, int64(runtime.GOMAXPROCS(0))
	}
	if !k.owned && now == n {
		*k = knob{owned: true, before: n, wrote: n, adopted: true}
	}
	return k.owned
}

// change says what is to be done with a knob whose value is now, and notes it.
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

// ReleaseMemory restores GOMEMLIMIT when there is no reason for another any more. One that
// was adopted had that reason too: there is none then.
func (r *Result) ReleaseMemory() Did {
	mu.Lock()
	defer mu.Unlock()
	did := r.release(&memory)
	if did == Set {
		if memory.adopted {
			memory.before = plan.NoMemLimit
		}
		undoMemory()
	}
	return did
}

// ReleaseProcs restores GOMAXPROCS, one that was adopted to the runtime's choice. It may take
// as long as Procs.
func (r *Result) ReleaseProcs() Did {
	world.Lock()
	defer world.Unlock()
	mu.Lock()
	did := r.release(&procs)
	held := procs
	procs.inFlight = did == Set
	mu.Unlock()
	if did == Set {
		if held.adopted {
			held.before, held.byRuntime = int64(runtime.NumCPU()), true
		}
		held.restoreProcs()
		mu.Lock()
		procs = knob{}
		mu.Unlock()
	}
	return did
}

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
