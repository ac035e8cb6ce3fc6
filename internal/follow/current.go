// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"os"
	"sync"
	"sync/atomic"

	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
)

// A Follower keeps this process fitted: a Loop, or one that measures as well. So package
// snug can show the one that follows without the code of the other.
type Follower interface {
	Latest() Update
	Stats() Stats
	Undo()
}

// started is a Follower. A Loop becomes one only where Current asks: what an interface
// needs to know of its type, programs with auto alone do not carry.
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

// latest are the ones that were started last: one that sets, and one that only reports
// and was started after it.
var latest struct {
	sync.Mutex
	sets, reports started
}

// Register makes f the process's Follower. One that sets ends all others, a dry one only
// those that are dry.
func Register(f Follower, dry bool) { register(started{other: f}, dry) }

func register(s started, dry bool) {
	latest.Lock()
	if latest.reports = s; !dry {
		latest.sets, latest.reports = s, started{}
	}
	latest.Unlock()
}

// Current is the Follower that was started last, also when it has ended; but the one
// before it where that goes on. It is nil when none was started.
func Current() Follower {
	latest.Lock()
	defer latest.Unlock()
	f, below := latest.reports.follower(), latest.sets.follower()
	if f == nil || below != nil && f.Stats().Ended && !below.Stats().Ended {
		return below
	}
	return f
}

// answered: SNUG_ADAPT has what it wants, or a line has said that it has not.
var answered atomic.Bool

// Adapts says that the program does what SNUG_ADAPT asks for.
func Adapts() { answered.Store(true) }

// Unadapted says on standard error, once, what SNUG_ADAPT is missing, unless Adapts was
// called.
func Unadapted() {
	text := os.Getenv("SNUG_ADAPT")
	on, ok := plan.ParseSwitch(text)
	if text != "" && text != "none" && (on || !ok) && answered.CompareAndSwap(false, true) {
		fit.Say("ignored, it wants import _ \"github.com/snug-go/snug/adapt/auto\" or adapt.Watch: SNUG_ADAPT=", text)
	}
}
