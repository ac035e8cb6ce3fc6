// SPDX-License-Identifier: Apache-2.0

package rules

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

const (
	// minFinalizing is the length of a watch in seconds in which a finalizer that is always at work is no
	// accident.
	minFinalizing = 5
	// manyTimers is a number of live objects of time.After that is worth a word, if it is also timersEach
	// times the number of goroutines, each of which waits for few. A timer is three objects.
	manyTimers, timersEach = 30_000, 30
	// timersShare is the share of timers in the live heap from which they are a warning.
	timersShare = 0.25
)

// finalizersBehind finds a goroutine of the finalizers that is never without work.
func finalizersBehind(f *Facts) *result {
	if !(num(f.Finalizing) >= 1 && num(f.Seconds) >= minFinalizing) {
		return nil
	}
	res := &result{severity: finding.SeverityWarning, evidence: f.saw(finalizing, finalWaits, live, age)}
	for _, h := range f.Finalizers {
		res.evidence = append(res.evidence, h.evidence("finalizer at work in ", "", finding.UnitRatio, "goroutines"))
	}
	if len(f.Finalizers) == 0 { // it ran at every look, and what runs shows no calls
		res.fix = "fewer objects with finalizers, or less to do in each: " +
			"snug profile --html shows what they do, below runtime.runFinalizers"
		return res
	}
	by := f.Finalizers[0].in()
	res.fix = "fewer objects with finalizers, or less to do in " + by
	if num(f.FinalizerWaits) >= 0.5 {
		res.fix = "do not wait in a finalizer, as " + by + " does: no other runs meanwhile. " +
			"Close what it closes where the program is done with it, or let the finalizer start a goroutine"
	}
	return res
}

// timersKept finds timers of time.After that nothing waits for any more.
func timersKept(f *Facts) *result {
	n := num(f.TimerObjects)
	if !(f.KeepsTimers && n >= manyTimers && n >= timersEach*num(f.Goroutines)) || len(f.TimerSetters) == 0 {
		return nil
	}
	res := &result{severity: finding.SeverityInfo, evidence: f.saw(timerCount, timerBytes, live, goroutines)}
	if num(f.TimerBytes) >= timersShare*num(f.Live) {
		res.severity = finding.SeverityWarning
	}
	for _, h := range f.TimerSetters {
		res.evidence = append(res.evidence, h.evidence("live, by "+h.For+" in ", "", finding.UnitBytes, heapProfile))
	}
	by := &f.TimerSetters[0]
	res.fix = "one time.NewTimer outside of the loop, with Stop and Reset, in place of " + by.For + " in " + by.in()
	if f.Minor >= 23 {
		res.fix += "; or go 1.23 or later in go.mod. " +
			"GODEBUG=asynctimerchan=0 does the same for a program that is built already"
	} else {
		res.fix += "; or Go 1.23 or later, and go 1.23 or later in go.mod"
	}
	return res
}
