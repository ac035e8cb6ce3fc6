// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
)

// A Follower keeps this process fitted: a Loop, or one that measures as well. The interface lets
// package snug show either without linking both.
type Follower interface {
	Latest() Update
	Stats() Stats
	Undo()
}

// started is a Follower. A Loop is converted only in Current: programs with auto alone then do
// not link the type information of an interface.
type started struct {
	loop  *Loop
	other Follower
}

func (s started) follower() Follower {
	if s.loop != nil {
		return s.loop
	}
	return s.other
}

// latest holds the ones started last: one that sets, and one that only reports and was started
// after it.
var latest struct {
	sync.Mutex
	sets, reports started
}

// Register makes f the process's Follower. One that sets replaces all others, a dry one only
// other dry ones.
func Register(f Follower, dry bool) { register(started{other: f}, dry) }

func register(s started, dry bool) {
	latest.Lock()
	if latest.reports = s; !dry {
		latest.sets, latest.reports = s, started{}
	}
	latest.Unlock()
}

// Current returns the Follower started last, even if it has ended, unless an earlier one is
// still running. It returns nil if none was started.
func Current() Follower {
	latest.Lock()
	defer latest.Unlock()
	f, below := latest.reports.follower(), latest.sets.follower()
	if f == nil || below != nil && f.Stats().Ended && !below.Stats().Ended {
		return below
	}
	return f
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
