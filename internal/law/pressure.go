// SPDX-License-Identifier: Apache-2.0

package law

// Level is how hard the memory limit presses on the collector.
type Level uint8

const (
	Calm   Level = iota
	Tight        // effective GOGC below 20, whatever collections cost so far: time to shed load
	Spiral       // effective GOGC below 10, and collections use 10 % of the CPU time: the collector is about to take over
)

// String returns "calm", "tight" or "spiral".
func (l Level) String() string { return [...]string{"calm", "tight", "spiral"}[min(l, Spiral)] }

const (
	tightGOGC  = 20 // effective GOGC in percent, see Level
	spiralGOGC = 10

	// noPressure is the part of GOGC above which the effective one counts as GOGC itself.
	noPressure = 0.95

	// releaseAfter is the time in seconds without a reason for a level, after which it falls.
	releaseAfter = 10

	// busyShare is the share of the process's CPU time from which collections count as
	// expensive.
	busyShare = 0.1

	// stale is the time in seconds without a cycle after which the headroom is unknown and the
	// level falls: a program that sheds all load would otherwise wait forever. The runtime
	// forces a cycle every 120 s (runtime/proc.go, forcegcperiod), unless GOGC is off.
	stale = 150
)

// PressureState is the state of the level. The zero state is its start.
type PressureState struct {
	begun   bool
	at      float64
	level   Level
	cycles  uint64
	cycleAt float64    // when cycles last advanced
	lowAt   [3]float64 // when there last was reason for the level

	live, goal int64      // of the last cycle
	survived   [2]float64 // see ahead; the last cycle first
}

// StepPressure raises the level when the heap has little room to grow, one level at a time: Tight
// for that alone, Spiral one sample later at the earliest, when a collection has ended with a low
// effective GOGC and collections use 10 % of the process's CPU time. Between two collections
// it estimates the room, see ahead.
//
// A level falls after 10 seconds without a reason for it, and all levels fall when the collector
// has not run for 150 seconds. gcShare is 0 to 1 of the process's CPU time; NaN (unknown, as
// when hardly anything is collected) is no reason for Spiral. Before the first cycle, and after
// an impossible sample, the level stays.
func StepPressure(s PressureState, at float64, h *Heap, gcShare float64) (PressureState, Level) {
	if !h.sane() || !(at-at == 0) {
		return s, s.level
	}
	if !s.begun || at < s.at || h.Cycles < s.cycles {
		s = PressureState{begun: true, level: s.level, cycles: h.Cycles, cycleAt: at, lowAt: [3]float64{at, at, at},
			live: h.Live, goal: h.Goal}
	}
	s.at = at
	if n := h.Cycles - s.cycles; n > 0 {
		s.survived[1] = s.survived[0]
		if grown := float64(s.goal - s.live); grown > 0 {
			s.survived[0] = min(max(0, float64(h.Live-s.live)/(grown*float64(n))), 1)
		}
		s.cycles, s.cycleAt, s.live, s.goal = h.Cycles, at, h.Live, h.Goal
	}
	now := Calm
	switch e := h.EffectiveGOGC(); {
	case h.GOGC >= 0 && e >= noPressure*float64(h.GOGC): // GOGC decides; no limit presses
	case e < spiralGOGC && gcShare >= busyShare: // false if unknown
		now = Spiral
	case e < tightGOGC:
		now = Tight
	}
	if now == Calm && h.Limit > 0 && s.ahead(h).Need(tightGOGC) > h.Limit {
		now = Tight
	}
	for l := Tight; l <= now; l++ {
		s.lowAt[l] = at
	}
	if now > s.level {
		s.level++
	}
	for s.level > Calm && at-s.lowAt[s.level] >= releaseAfter {
		s.level--
	}
	if at-s.cycleAt >= stale {
		s.level = Calm
	}
	return s, s.level
}

// ahead estimates the heap that a collection would find now. Of the memory allocated since the
// last collection, it counts as live the share that survived the last two: none in a steady
// program, all in a heap that only grows. Such a heap doubles between two collections, and the
// collection that finds it at its limit comes too late.
func (s *PressureState) ahead(h *Heap) *Heap {
	then := *h
	then.Live += int64(min(s.survived[0], s.survived[1]) * float64(max(0, h.Objects-h.Live)))
	then.Objects = max(h.Objects, then.Live)
	return &then
}
