// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
)

// latest holds the Loops started last: one that sets, and one that only reports and was started
// after it.
var latest struct {
	sync.Mutex
	sets, reports *Loop
}

// register makes l the process's Loop. One that sets replaces all others, a dry one only other dry
// ones.
func register(l *Loop, dry bool) {
	lock(&latest.Mutex)
	if latest.reports = l; !dry {
		latest.sets, latest.reports = l, nil
	}
	unlock(&latest.Mutex)
}

// Current returns the Loop started last, even if it has ended, unless an earlier one is still
// running. It returns nil if none was started.
func Current() *Loop {
	latest.Lock()
	defer latest.Unlock()
	l, below := latest.reports, latest.sets
	if l == nil || below != nil && l.Stats().Ended && !below.Stats().Ended {
		return below
	}
	return l
}

// answered: SNUG_ADAPT is honoured, or a line has said that it is not.
var answered atomic.Bool

// Adapts declares that the program honours SNUG_ADAPT.
func Adapts() { answered.Store(true) }

// Unadapted prints once to standard error what SNUG_ADAPT needs, unless Adapts was called.
func Unadapted() {
	text := os.Getenv("SNUG_ADAPT")
	on, ok := plan.ParseSwitch(text)
	if text != "" && text != "none" && (on || !ok) && answered.CompareAndSwap(false, true) {
		fit.Say("warning", "ignored without import _ \"github.com/snug-go/snug/adapt/auto\" or adapt.Watch: SNUG_ADAPT="+text)
	}
}
