// SPDX-License-Identifier: Apache-2.0

package golog

import "math"

// GC is what the lines of gctrace say (package runtime, "Environment Variables";
// gcMarkTermination in runtime/mgc.go). All of it is unknown when Cycles is 0.
//
// The runtime rounds down: sizes to MiB, times to two digits or to whole
// milliseconds, so that a sum of times is up to a tenth too small.
type GC struct {
	// Cycles is how many collections the figures are of, Forced how many of
	// them the program asked for (runtime.GC, debug.FreeOSMemory).
	Cycles, Forced int
	// FirstCycle and LastCycle are the runtime's numbers of the first and the
	// last of them, counted from 1 at the start of the process. Lines are
	// missing where LastCycle-FirstCycle+1 is more than Cycles.
	FirstCycle, LastCycle uint32
	// First and Last are when these two began, in seconds since the process
	// started.
	First, Last float64

	// Procs is GOMAXPROCS at the last collection; ProcsChanged says that it was
	// something else at another.
	Procs        int
	ProcsChanged bool
	// Percent is the share of its CPU time that the process spent on collecting
	// since it started, as the last line says: 0 to 100, rounded down. Of
	// GOMAXPROCS times wall time, that is, not of a quota. Idle marking is not
	// in it.
	Percent int
	// CPU is the CPU time of the Cycles collections.
	CPU GCCPU
	// STW is for how long in all the world was being stopped or stood still, in
	// seconds of wall time; STWMax the longest single time. There are two in a
	// collection: sweep termination and mark termination.
	STW, STWMax float64

	// Of the last collection, in bytes: the heap when it began, when marking
	// ended, what of that was found live, and the goal it was to end below,
	// NoGoal with GOGC=off and no GOMEMLIMIT.
	HeapStart, HeapEnd, Live, Goal int64
	// The largest of each in the Cycles collections.
	HeapEndMax, LiveMax, GoalMax int64
	// Stacks and Globals are what the last collection scanned besides the heap,
	// in bytes.
	Stacks, Globals int64

	// GOGCLow and GOGCHigh, in percent, have between them the GOGC that the
	// last goal follows from:
	//
	//	goal = live + (live + stacks + globals) * GOGC / 100
	//
	// with the figures that the collection before left (commit in
	// runtime/mgcpacer.go). Rounding to MiB leaves a range. It is below the
	// GOGC that was set where GOMEMLIMIT pulls the goal down. Unknown, both 0,
	// where the two last lines do not follow each other, where there is no goal,
	// and where the heap is so small (below 16 MiB) that the range would say
	// nothing.
	GOGCLow, GOGCHigh float64
}

// NoGoal is the goal of a heap that may grow without end.
const NoGoal = math.MaxInt64

// GCCPU is CPU time in seconds. The parts of SweepTerm and MarkTerm are wall
// time times the Ps that were stopped, which is more than was used where there
// are more Ps than CPUs.
type GCCPU struct {
	SweepTerm float64 // the world stopped, before marking
	Assist    float64 // marking that allocating goroutines had to do
	Dedicated float64 // marking by dedicated and fractional workers
	Idle      float64 // marking on Ps that had nothing else to do
	MarkTerm  float64 // the world stopped, after marking
}

// PerSecond is the rate of collections between the first and the last. ok is
// false when there is no time between them.
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
	maxMiB     = 1 << 44 // 2^64 bytes, the goal of a heap that may grow for ever
	noGoal     = 1 << 40 // MiB; 2^60 bytes are more than Go can address
	maxProcs   = 1 << 20
)

// parseGC reads the line that b begins with, and returns how many bytes it has.
//
//	gc 7 @0.012s 2%: 0.018+0.48+0.003 ms clock, 0.03+0.1/0.4/0+0.006 ms cpu, 4->4->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P (forced)
//	(1)  (2)     (3) (4)                        (5)                          (6)         (7)        (8)          (9)           (10) (11)
//
// (1) number; (2) when it began; (3) CPU share since the start; (4) sweep
// termination, mark, mark termination; (5) the same, marking split into assists,
// dedicated and fractional, idle; (6) heap at the start, at the end, live; (7)
// goal; (8) (9) scanned besides; (10) GOMAXPROCS; (11) only when asked for. Go
// 1.26 writes " (checking for goroutine leaks)" after (3) where it does that.
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
	l.stacks = c.number(maxMiB)
	c.word(" MB stacks, ")
	l.globals = c.number(maxMiB)
	c.word(" MB globals, ")
	l.procs = int(c.number(maxProcs))
	c.word(" P")
	if c.failed || l.procs == 0 || max(l.heap[0], l.heap[1], l.heap[2], l.stacks, l.globals) >= noGoal {
		return l, c.at, damaged
	}
	l.forced = c.optional(" (forced)")
	return l, c.at, good
}

// gcSums are the figures so far; its last line is in them.
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

// gogc is the range of GOGC from which a goal follows; 0, 0 when it cannot be
// told.
func gogc(before gcLine, goal int64) (low, high float64) {
	const enough = 16 // MiB
	live := before.heap[2]
	base := live + before.stacks + before.globals
	if live < enough || goal <= live || goal >= noGoal {
		return 0, 0
	}
	// Each figure was rounded down, so it is up to one more.
	low = 100 * float64(goal-live-1) / float64(base+3)
	high = 100 * float64(goal+1-live) / float64(base)
	return low, high
}
