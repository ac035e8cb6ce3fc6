// SPDX-License-Identifier: Apache-2.0

package gobin

//go:generate go run gen.go -o layout_table.go

// Layout are offsets of fields, in bytes; -1 is a field that this release does
// not have, or whose place is not known.
type Layout struct {
	// Source says where the offsets come from: "DWARF" of the program itself;
	// "table", generated from the DWARF of each release; or "stable", only what
	// was the same in every release so far.
	Source string

	// In runtime.gcControllerState, from Vars.GCController.
	GCPercent    int64 // int32: GOGC, -1 is off
	MemoryLimit  int64 // int64: GOMEMLIMIT in bytes, math.MaxInt64 is none (Go 1.19 and later)
	HeapLive     int64 // uint64: bytes, allocated or marked since the last collection
	HeapMarked   int64 // uint64: bytes that the last collection marked
	LastHeapGoal int64 // uint64: bytes, the goal of the last collection
	HeapInUse    int64 // uint64: bytes in spans in use (Go 1.19 and later)
	HeapFree     int64 // uint64: bytes of free spans not returned (Go 1.19 and later)
	MappedReady  int64 // uint64: bytes mapped ready, what GOMEMLIMIT bounds

	// In runtime.mstats, from Vars.PauseTotal.
	NumGC         int64 // uint32: collections completed
	GCCPUFraction int64 // float64: of the CPU time since the start, 0 to 1

	// In runtime.cpuStats, from Vars.CPUStats: int64, nanoseconds, brought up to
	// date by each collection. Idle, User and Total are of the time GOMAXPROCS
	// CPUs would have had. GCPause is wall time times GOMAXPROCS.
	GCAssist, GCDedicated, GCIdle, GCPause, GCTotal int64
	ScavengeAssist, ScavengeBg, ScavengeTotal       int64
	Idle, User, Total                               int64
}

// layoutOf asks the program's own DWARF, then the table, and else gives what all
// releases so far agree on.
func layoutOf(f *File) Layout {
	known, ok := layouts[f.Minor]
	ok = ok && released(f.Version)
	// Of a release in the table there is little to learn that is worth unpacking
	// hundreds of megabytes.
	limit := uint64(maxDWARF)
	if ok {
		limit = maxDWARFKnown
	}
	if l, found := dwarfLayout(f.img, limit); found {
		return l
	}
	if ok {
		return known
	}
	l := noLayout
	l.Source = "stable"
	l.GCPercent, l.NumGC, l.GCCPUFraction = 0, numGC, gcCPUFraction
	if f.tab.go120 {
		l.MemoryLimit = 8
	}
	return l
}

// noLayout knows nothing.
var noLayout = func() Layout {
	var l Layout
	for _, list := range l.fields() {
		for _, field := range list {
			*field = -1
		}
	}
	return l
}()

// fields are the fields of l by struct of the runtime and its field, in lower
// case: some were made public within the runtime over time.
func (l *Layout) fields() map[string]map[string]*int64 {
	return map[string]map[string]*int64{
		"runtime.gcControllerState": {
			"gcpercent": &l.GCPercent, "memorylimit": &l.MemoryLimit,
			"heaplive": &l.HeapLive, "heapmarked": &l.HeapMarked, "lastheapgoal": &l.LastHeapGoal,
			"heapinuse": &l.HeapInUse, "heapfree": &l.HeapFree, "mappedready": &l.MappedReady,
		},
		"runtime.mstats": {"numgc": &l.NumGC, "gc_cpu_fraction": &l.GCCPUFraction},
		"runtime.cpuStats": {
			"gcassisttime": &l.GCAssist, "gcdedicatedtime": &l.GCDedicated, "gcidletime": &l.GCIdle,
			"gcpausetime": &l.GCPause, "gctotaltime": &l.GCTotal,
			"scavengeassisttime": &l.ScavengeAssist, "scavengebgtime": &l.ScavengeBg, "scavengetotaltime": &l.ScavengeTotal,
			"idletime": &l.Idle, "usertime": &l.User, "totaltime": &l.Total,
		},
	}
}
