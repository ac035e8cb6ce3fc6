// SPDX-License-Identifier: Apache-2.0

package gobin

// Sched holds offsets of what the runtime counts about goroutines and stops, in bytes, from the
// DWARF of a release; -1 = it does not have the field.
type Sched struct {
	// In runtime.sched, from Vars.Spinning. TimeToRun and StopsGC are timeHistograms:
	// nanoseconds that goroutines waited for a P, and that stops of the world for a garbage
	// collection took (Go 1.22 and later). SysGs is an int32, the runtime's own goroutines.
	TimeToRun, StopsGC, SysGs int64
	// FreeGs and FreeGsNoStack are int32: ended goroutines that wait for reuse. Until Go 1.24
	// FreeGs counts both kinds.
	FreeGs, FreeGsNoStack int64
	// GCPauseDist is a timeHistogram in runtime.memstats, from Vars.PauseTotal: StopsGC until
	// Go 1.21.
	GCPauseDist int64
	// PFreeGs is an int32 in runtime.p: ended goroutines that wait for reuse on this P.
	PFreeGs int64
	// Histogram is the size of a timeHistogram.
	Histogram int64
}

// noSched is the Sched with no known offset.
var noSched = Sched{-1, -1, -1, -1, -1, -1, -1, -1}

// Sched returns the offsets of the program's release. All are -1 if it is not in the table.
func (f *File) Sched() Sched {
	if s, ok := scheds[f.Minor]; ok && released(f.Version) {
		return s
	}
	return noSched
}

// allPsVoters range over runtime.allp.
var allPsVoters = append(voters("schedtrace", "checkdead", "procresize", "retake", "stopTheWorldWithSema"),
	voter{"forEachP", "forEachPInternal"})
