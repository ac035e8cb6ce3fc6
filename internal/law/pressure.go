// SPDX-License-Identifier: Apache-2.0

package law

// Level says how hard the memory limit presses on the collector.
type Level uint8

const (
	Calm   Level = iota
	Tight        // effective GOGC below 20, whatever collections cost yet: time to shed load
	Spiral       // effective GOGC below 10, and collections take a tenth of the CPU time: the collector is about to take over
)

// String is the level's word: "calm", "tight", "spiral".
func (l Level) String() string { return [...]string{"calm", "tight", "spiral"}[min(l, Spiral)] }

const (
	tightGOGC  = 20 // effective GOGC in percent, see Level
	spiralGOGC = 10

	// asked is the part of GOGC above which the effective one is it.
	asked = 0.95

	// letGo is for how many seconds the effective GOGC has to be well before
	// an alarm ends.
	letGo = 10

	// busyShare is the share of the process's CPU time from which collections cost
	// something.
	busyShare = 0.1

	// stale is after how many seconds without a cycle nothing is known of the headroom,
	// so that an alarm ends: who shed all load would wait for ever. The runtime forces a
	// cycle every 120 s (runtime/proc.go, forcegcperiod), unless GOGC is off.
	stale = 150
)

// PressureState is what the alarm remembers. The zero state begins.
type PressureState struct {
	begun   bool
	at      float64
	level   Level
	cycles  uint64
	cycleAt float64    // when cycles last advanced
	lowAt   [3]float64 // when there was last reason for the level

	live, goal int64      // of the last cycle
	survived   [2]float64 // see ahead; the last cycle first
}

// StepPressure raises the alarm when there is little room for the heap to grow, one level at
// a time: Tight by that alone, Spiral one look later at the earliest, when a collection has
// ended with a low effective GOGC and collections take a tenth of the process's CPU time.
// Between two collections the room is estimated, see ahead.
//
// A level falls when there was no reason for it for 10 seconds, and all do when the collector
// has not run for 150 seconds. gcShare is 0 to 1 of the process's CPU time; NaN = unknown, as
// where hardly anything is collected, is no reason for Spiral. Before the first cycle, and
// after a sample that cannot be, the level stays.
func StepPressure(s PressureState, at float64, h *Heap, gcShare float64) (PressureState, Level) {
	if !h.sane() || !(at-at == 0) {
		return s, s.level
	}
	if !s.begun || at < s.at || h.Cycles < s.cycles {
		s = PressureState{begun: true, level: s.level, cycles: h.Cycles, cycleAt: at, lowAt: [3]float64{at, at, at}, live: h.Live, goal: h.Goal}
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
	case h.GOGC >= 0 && e >= asked*float64(h.GOGC): // as it was asked for; no limit presses
	case e < spiralGOGC && gcShare >= busyShare: // not if unknown
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
	for s.level > Calm && at-s.lowAt[s.level] >= letGo {
		s.level--
	}
	if at-s.cycleAt >= stale {
		s.level = Calm
	}
	return s, s.level
}

// ahead is the heap as a collection would find it now. Of what was allocated since the last
// one as large a part is taken for live as has survived the last two: none in a program that
// does the same all the time, all of it where a heap only grows. Such a heap doubles between
// two collections, and the one that finds it at its limit is too late.
func (s *PressureState) ahead(h *Heap) *Heap {
	then := *h
	then.Live += int64(min(s.survived[0], s.survived[1]) * float64(max(0, h.Objects-h.Live)))
	then.Objects = max(h.Objects, then.Live)
	return &then
}
