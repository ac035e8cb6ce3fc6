// SPDX-License-Identifier: Apache-2.0

package law

const (
	// Settle is how long growth must hold before it is followed, in seconds. A resize writes
	// the files of pod and container one after the other, and growth that is soon revoked is
	// not worth stopping the world.
	Settle = 3
	// flapping is the time in seconds after growth within which a shrink means that limits
	// oscillate. Each time the wait doubles, up to maxWait.
	flapping = 10
	maxWait  = 60
	// calm is the time in seconds without growth after which the wait is Settle again.
	calm = 30 * flapping
)

// GrowthState is what StepGrowth remembers of a knob.
type GrowthState struct {
	wish  int64
	Since float64 // when growth was first wanted; 0 = it is not, or is followed
	wait  float64 // seconds; 0 = Settle
	grew  float64 // when growth was last followed; 0 = never
}

// StepGrowth returns the value that a knob should have: wish if it is below now, the value in force.
// Growth waits until it has held for a while, and then reaches the smallest wish in that time; until
// then StepGrowth returns now. at is above 0.
func StepGrowth(s GrowthState, at float64, now, wish int64) (GrowthState, int64) {
	if wish <= now {
		s.Since = 0
		if wish < now && s.grew != 0 && at-s.grew < flapping { // that growth was in vain
			s.wait = min(2*max(s.wait, Settle), maxWait)
		}
		return s, wish
	}
	if s.Since == 0 {
		s.wish, s.Since = wish, at
	}
	s.wish = min(s.wish, wish)
	if at-s.Since < max(s.wait, Settle) {
		return s, now
	}
	if at-s.grew > calm {
		s.wait = Settle
	}
	s.grew, s.Since = at, 0
	return s, s.wish
}
