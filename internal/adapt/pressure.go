// SPDX-License-Identifier: Apache-2.0

package adapt

// Level says how hard the memory limit presses on the collector.
type Level uint8

const (
	Calm   Level = iota
	Tight        // effective GOGC below 20: time to shed load
	Spiral       // effective GOGC below 10: the collector is about to take over
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

	// Collections matter from so many cores on, estimated from cycles and live
	// heap with a slow mark rate, or from so large a share of the CPU time. The
	// share is late: a small one only asks more of the estimate.
	busyCores  = 0.05
	sureCores  = 0.2
	busyShare  = 0.1
	calmShare  = 0.02
	markedRate = 1e9 // bytes a CPU marks in a second

	// lapse is after how many seconds in which collections took less than
	// idleCores an alarm ends, whatever the effective GOGC: who shed all load,
	// and so has no more cycles, would wait for ever.
	lapse     = 60
	idleCores = 0.01
)

// PressureState is what the alarm remembers. The zero state begins.
type PressureState struct {
	begun   bool
	at      float64
	level   Level
	cycles  uint64
	cycleAt float64    // when cycles last advanced
	rate    float64    // cycles a second, over the last advance
	lowAt   [3]float64 // when the effective GOGC was last low enough for the level
	busyAt  float64    // when collections last took idleCores
}

// StepPressure raises the alarm as soon as a collection ends with a low effective GOGC, if
// collections take a share of the CPU that is worth an alarm, and lets go with hysteresis.
//
// The alarm rises at the first sample that is low and busy. It falls when the
// effective GOGC has not been low for 10 seconds, never because of gcShare (0 to
// 1 of the process's CPU time; NaN = unknown); or when the collector has hardly
// run for a minute. Before the first cycle, and after a sample that cannot be,
// the level stays.
func StepPressure(s PressureState, at float64, h *Heap, gcShare float64) (PressureState, Level) {
	if !h.sane() || !(at-at == 0) {
		return s, s.level
	}
	if !s.begun || at < s.at || h.Cycles < s.cycles {
		s = PressureState{begun: true, at: at, level: s.level, cycles: h.Cycles, cycleAt: at, busyAt: at, lowAt: [3]float64{at, at, at}}
	}
	if n := h.Cycles - s.cycles; n > 0 {
		if dt := at - s.cycleAt; dt > 0 {
			s.rate = float64(n) / dt
		}
		// After a pause all but the first of them began since the last sample.
		if dt := at - s.at; dt > 0 {
			s.rate = max(s.rate, float64(n-1)/dt)
		}
		s.cycles, s.cycleAt = h.Cycles, at
	}
	s.at = at
	rate := s.rate
	if dt := at - s.cycleAt; dt*rate > 1 {
		rate = 1 / dt
	}
	cores := rate * float64(h.Roots()) / markedRate
	if cores >= idleCores {
		s.busyAt = at
	}
	enough := busyCores
	if gcShare < calmShare { // false for NaN
		enough = sureCores
	}
	busy := cores >= enough || gcShare >= busyShare

	now := Calm
	switch e := h.EffectiveGOGC(); {
	case h.GOGC >= 0 && e >= asked*float64(h.GOGC): // as it was asked for; no limit presses
	case e < spiralGOGC:
		now = Spiral
	case e < tightGOGC:
		now = Tight
	}
	for l := Tight; l <= now; l++ {
		s.lowAt[l] = at
	}
	if now > s.level && busy {
		s.level = now
	}
	for s.level > Calm && at-s.lowAt[s.level] >= letGo {
		s.level--
	}
	if at-s.busyAt >= lapse {
		s.level = Calm
	}
	return s, s.level
}
