// SPDX-License-Identifier: Apache-2.0

package golog

import (
	"bytes"
	"math"
)

// GC sums up the lines of gctrace (package runtime, "Environment Variables";
// gcMarkTermination in runtime/mgc.go). All fields are unknown if Cycles is 0.
//
// The runtime rounds down: sizes to MiB, times to two digits or to whole
// milliseconds. A sum of times is therefore up to 10% too small.
type GC struct {
	// Cycles is the number of collections in the figures, Forced the number
	// that the program forced (runtime.GC, debug.FreeOSMemory).
	Cycles, Forced int
	// FirstCycle and LastCycle are the runtime's numbers of the first and last
	// collection, from 1 at the start of the process. Lines are missing if
	// LastCycle-FirstCycle+1 is more than Cycles.
	FirstCycle, LastCycle uint32
	// First and Last are the start times of these two, in seconds since the process started.
	First, Last float64

	// Procs is GOMAXPROCS at the last collection; ProcsChanged reports whether
	// it had another value at an earlier one.
	Procs        int
	ProcsChanged bool
	// Percent is the share of CPU time spent on collections since the process started, from the
	// last line: 0 to 100, rounded down. It is relative to GOMAXPROCS times wall time, not to a
	// quota, and excludes idle marking.
	Percent int
	// CPU is the CPU time of the Cycles collections.
	CPU GCCPU
	// STW is the total time that the world was being stopped or was stopped, in
	// seconds of wall time; STWMax is the longest stop. A collection has two:
	// sweep termination and mark termination.
	STW, STWMax float64

	// Of the last collection, in bytes: the heap at its start, the heap at the end of marking,
	// the live heap, and the heap goal, which is NoGoal with GOGC=off and no GOMEMLIMIT.
	HeapStart, HeapEnd, Live, Goal int64
	// Maximum of each over the Cycles collections.
	HeapEndMax, LiveMax, GoalMax int64
	// Stacks and Globals are the bytes that the last collection scanned besides the heap.
	Stacks, Globals int64

	// GOGCLow and GOGCHigh, in percent, bound the GOGC from which the last goal follows:
	//
	//	goal = live + (live + stacks + globals) * GOGC / 100
	//
	// with the figures of the previous collection (commit in runtime/mgcpacer.go). It is a
	// range because of the rounding to MiB, and below the configured GOGC if GOMEMLIMIT lowers
	// the goal. Both are 0, unknown, if the last two lines are not consecutive, if there is no
	// goal, or if the heap is below 16 MiB, where the range would be meaningless.
	GOGCLow, GOGCHigh float64
}

// NoGoal is the goal of a heap without a bound.
const NoGoal = math.MaxInt64

// GCCPU is CPU time in seconds. SweepTerm and MarkTerm are wall time times the number of
// stopped Ps, which exceeds the CPU time used if there are more Ps than CPUs.
type GCCPU struct {
	SweepTerm float64 // world stopped, before marking
	Assist    float64 // marking by allocating goroutines
	Dedicated float64 // marking by dedicated and fractional workers
	Idle      float64 // marking on idle Ps
	MarkTerm  float64 // world stopped, after marking
}

// PerSecond returns the rate of collections between the first and the last. ok is
// false if there is no time between them.
func (g GC) PerSecond() (rate float64, ok bool) {
	if g.Last <= g.First || g.LastCycle <= g.FirstCycle {
		return 0, false
	}
	return float64(g.LastCycle-g.FirstCycle) / (g.Last - g.First), true
}

// gcLine is one line.
type gcLine struct {
	number  uint32
	at      float64 // seconds
	percent int
	clock   [3]float64 // seconds
	cpu     [5]float64 // seconds, in the order of GCCPU
	heap    [3]int64   // MiB
	goal    int64      // MiB
	stacks  int64      // MiB
	globals int64      // MiB
	procs   int
	forced  bool
}

const (
	gcWord = "gc "

	maxSeconds = 1e9     // 30 years
	maxMiB     = 1 << 44 // 2^64 bytes, the goal of an unbounded heap
	noGoal     = 1 << 40 // MiB; 2^60 bytes are more than Go can address
	maxProcs   = 1 << 20
)

// parseGC parses the line at the start of b, and returns its length in bytes.
//
//	gc 7 @0.012s 2%: 0.018+0.48+0.003 ms clock, 0.03+0.1/0.4/0+0.006 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)
//	(1)  (2)     (3) (4)                        (5)                          (6)         (7)        (8)          (9)           (10) (11)
//
// (1) number; (2) start time; (3) CPU share since the process started; (4) sweep
// termination, mark, mark termination; (5) the same, with marking split into assists,
// dedicated and fractional, idle; (6) heap at the start, at the end, live; (7) goal;
// (8) (9) other bytes scanned; (10) GOMAXPROCS; (11) only if forced. Go 1.26 adds
// " (checking for goroutine leaks)" after (3) for such collections.
func parseGC(b []byte) (gcLine, int, verdict) {
	var l gcLine
	c := cursor{b: b}
	c.word(gcWord)
	l.number = uint32(c.number(1<<32 - 1))
	c.word(" @")
	l.at = c.decimal(maxSeconds)
	c.word("s ")
	if c.failed || l.number == 0 {
		return l, c.at, other
	}
	l.percent = int(c.number(100))
	c.word("%")
	c.optional(" (checking for goroutine leaks)")
	c.word(": ")
	for i := range l.clock {
		if i > 0 {
			c.word("+")
		}
		l.clock[i] = c.decimal(maxSeconds*1000) / 1000
	}
	c.word(" ms clock, ")
	for i, before := range [len(l.cpu)]string{"", "+", "/", "/", "+"} {
		c.word(before)
		l.cpu[i] = c.decimal(maxSeconds*1000) / 1000
	}
	c.word(" ms cpu, ")
	for i := range l.heap {
		if i > 0 {
			c.arrow()
		}
		l.heap[i] = c.number(maxMiB)
	}
	c.word(" MB, ")
	l.goal = c.number(maxMiB)
	c.word(" MB goal, ")
	n := c.number(maxMiB)
	if c.optional(" MB stacks, ") { // since Go 1.18
		l.stacks, l.globals = n, c.number(maxMiB)
		c.word(" MB globals, ")
		n = c.number(maxProcs)
	}
	l.procs = int(min(n, maxProcs))
	c.word(" P")
	if c.failed || l.procs == 0 || max(l.heap[0], l.heap[1], l.heap[2], l.stacks, l.globals) >= noGoal {
		return l, c.at, damaged
	}
	l.forced = c.optional(" (forced)")
	return l, c.at, good
}

// Cycle is one collection. Times are in seconds.
type Cycle struct {
	Number  uint32
	Stops   [2]float64 // sweep and mark termination, in which the world is stopped
	CPU     float64    // that Ps spent on it: assists and idle Ps too
	HeapEnd int64      // bytes at the end of marking
	Procs   int
}

// ParseCycle returns the last collection in a line of a log; false = there is none.
func ParseCycle(line []byte) (c Cycle, ok bool) {
	at := bytes.LastIndex(line, []byte(gcWord))
	if at < 0 {
		return c, false
	}
	l, _, v := parseGC(line[at:])
	for _, t := range l.cpu {
		c.CPU += t
	}
	c.Number, c.Stops, c.HeapEnd, c.Procs = l.number, [2]float64{l.clock[0], l.clock[2]}, l.heap[1]<<20, l.procs
	return c, v == good
}

// gcSums holds the figures so far, including its last line.
type gcSums struct {
	GC
	last gcLine
}

func (s *summer) addGC(l gcLine) {
	if s.gc.Cycles > 0 && (l.number <= s.gc.LastCycle || l.at < s.gc.Last) {
		s.restart()
	}
	s.gc.add(l)
}

func (g *gcSums) add(l gcLine) {
	if g.Cycles == 0 {
		g.FirstCycle, g.First = l.number, l.at
	} else if l.procs != g.Procs {
		g.ProcsChanged = true
	}
	g.GOGCLow, g.GOGCHigh = 0, 0
	if g.Cycles > 0 && l.number == g.LastCycle+1 {
		g.GOGCLow, g.GOGCHigh = gogc(g.last, l.goal)
	}
	g.Cycles++
	if l.forced {
		g.Forced++
	}
	g.LastCycle, g.Last = l.number, l.at
	g.Procs, g.Percent = l.procs, l.percent
	g.CPU.SweepTerm += l.cpu[0]
	g.CPU.Assist += l.cpu[1]
	g.CPU.Dedicated += l.cpu[2]
	g.CPU.Idle += l.cpu[3]
	g.CPU.MarkTerm += l.cpu[4]
	g.STW += l.clock[0] + l.clock[2]
	g.STWMax = max(g.STWMax, l.clock[0], l.clock[2])
	g.HeapStart, g.HeapEnd, g.Live = l.heap[0]<<20, l.heap[1]<<20, l.heap[2]<<20
	g.Stacks, g.Globals = l.stacks<<20, l.globals<<20
	if g.Goal = NoGoal; l.goal < noGoal {
		g.Goal = l.goal << 20
	}
	g.HeapEndMax = max(g.HeapEndMax, g.HeapEnd)
	g.LiveMax = max(g.LiveMax, g.Live)
	g.GoalMax = max(g.GoalMax, g.Goal)
	g.last = l
}

// gogc returns the range of GOGC from which a goal follows; 0, 0 = unknown.
func gogc(before gcLine, goal int64) (low, high float64) {
	const enough = 16 // MiB
	live := before.heap[2]
	base := live + before.stacks + before.globals
	if live < enough || goal <= live || goal >= noGoal {
		return 0, 0
	}
	// Each figure was rounded down, so its true value is up to 1 more.
	low = 100 * float64(goal-live-1) / float64(base+3)
	high = 100 * float64(goal+1-live) / float64(base)
	return low, high
}
