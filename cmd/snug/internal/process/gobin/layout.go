// SPDX-License-Identifier: Apache-2.0

package gobin

//go:generate go run gen.go -o layout_table.go

// Layout holds offsets of fields, in bytes; -1 = the release does not have the field, or its
// offset is unknown.
type Layout struct {
	// Source says where the offsets come from: "DWARF", from the program itself; "table",
	// generated from the DWARF of each release; or "stable", only the offsets that are the same
	// in every release so far.
	Source string

	// In runtime.gcControllerState, from Vars.GCController.
	GCPercent    int64 // int32: GOGC, -1 = off
	MemoryLimit  int64 // int64: GOMEMLIMIT in bytes, math.MaxInt64 = none (Go 1.19 and later)
	HeapLive     int64 // uint64: bytes, allocated or marked since the last collection
	HeapMarked   int64 // uint64: bytes that the last collection marked
	LastHeapGoal int64 // uint64: bytes, the goal of the last collection
	HeapInUse    int64 // uint64: bytes in spans in use (Go 1.19 and later)
	HeapFree     int64 // uint64: bytes of free spans not returned (Go 1.19 and later)
	MappedReady  int64 // uint64: bytes mapped ready, what GOMEMLIMIT bounds

	// In runtime.mstats, from Vars.PauseTotal.
	NumGC         int64 // uint32: collections completed
	GCCPUFraction int64 // float64: of the CPU time since the start, 0 to 1

	// In runtime.cpuStats, from Vars.CPUStats: int64, nanoseconds, updated by each collection.
	// Idle, User and Total are parts of the time that GOMAXPROCS CPUs would have had. GCPause is
	// wall time times GOMAXPROCS.
	GCAssist, GCDedicated, GCIdle, GCPause, GCTotal int64
	ScavengeAssist, ScavengeBg, ScavengeTotal       int64
	Idle, User, Total                               int64
}

// layoutOf returns the layout from the program's own DWARF, or from the table, or else the
// offsets that are the same in all releases so far.
func layoutOf(f *File) Layout {
	known, ok := layouts[f.Minor]
	ok = ok && released(f.Version)
	// For a release in the table it is not worth unpacking hundreds of megabytes.
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

// noLayout is the Layout with no known offset.
var noLayout = func() Layout {
	var l Layout
	for _, list := range l.fields() {
		for _, field := range list {
			*field = -1
		}
	}
	return l
}()

// fields returns the fields of l by the runtime's struct and field. Names are in lower case,
// because the runtime has exported some of them over time.
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
