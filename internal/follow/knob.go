// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
)

const (
	// settle is how long growth must stand before it is followed, in seconds. A
	// resize writes the files of pod and container one after the other, and what
	// shrinks again at once is not worth a stop of the world.
	settle = 3
	// flapping is within how many seconds of growth a shrink says that limits go up
	// and down; each time the wait doubles, up to slowest.
	flapping = 10
	slowest  = 60
	// looks is how long the runtime has to follow by itself, in seconds: it looks
	// at its limits once a second (runtime/proc.go, sysmon).
	looks = 0.95
)

// A knob is one of the two as the loop knows it. Values are Ps or bytes.
type knob struct {
	own       int64 // what snug wrote; 0 = nothing
	seen      int64 // what it was at the last decision
	asked     int64 // what was set last, or would have been; giveBack too
	lost      bool  // somebody else has changed it
	byRuntime bool  // what it was before is the runtime's own choice (GOMAXPROCS)
	did       apply.Did
	force     *plan.Setting // what was set last, and why; nil before

	// Growth waits.
	wish  int64
	since float64 // when the wish came up; 0 = there is none
	wait  float64 // seconds; 0 = settle
	grew  float64 // when growth was followed last

	left float64 // since when a change is left to the runtime; 0 = none is (GOMAXPROCS)
	odd  float64 // since when it is what the limits do not explain; 0 = they do (GOMAXPROCS)
}

// giveBack is the wish for what was there before snug, the largest of all.
const giveBack = plan.NoMemLimit

func (k *knob) begin(s *plan.Setting, did apply.Did, now, own int64, dry bool) {
	k.did, k.own, k.seen = did, own, now
	if own != 0 && !dry {
		k.seen = own
	}
	if did == apply.Would {
		k.asked = s.Value
	}
	if did == apply.Set {
		k.force = s
	}
}

func (k *knob) pending() bool { return k.since != 0 || k.left != 0 || k.odd != 0 }

// alien reports whether a knob may not be touched: it is the operator's or the program's.
func (k *knob) alien(s *plan.Setting) bool {
	return k.lost || s.Leave && (s.Code == plan.EnvSet || s.Code == plan.ProgramSet || s.Code == plan.NotSupported)
}

// follow is what a knob that is now should become, giveBack for what it was before snug; 0
// when nothing is to be done, or not yet. unknown says that the limit cannot be read: then
// nothing grows. by is what the runtime makes it by itself, 0 where it does not.
func (k *knob) follow(at float64, s *plan.Setting, now int64, unknown, dry bool, by int64) int64 {
	wish := s.Value
	if s.Leave {
		wish = giveBack
	}
	switch {
	case k.alien(s), s.Leave && (s.Code != plan.NoLimit && s.Code != plan.TooSmall || k.own == 0), wish == now,
		unknown && wish > now, dry && k.asked == wish && k.did == apply.Would:
		k.since, k.left = 0, 0
		return 0
	case wish > now:
		k.left = 0
		return k.granted(at, wish)
	}
	k.shrank(at)
	// The runtime follows by itself what it has chosen, and goes on doing so only if
	// nobody else sets it.
	if k.own == 0 && k.byRuntime && wish == by {
		if k.left == 0 {
			k.left = at
		}
		if at-k.left < looks {
			return 0
		}
	}
	k.left = 0
	return wish
}

// granted is what growth may go to by now: the least that was wished for since
// it was wished for without a break; 0 = not yet.
func (k *knob) granted(at float64, wish int64) int64 {
	if k.since == 0 {
		k.wish, k.since = wish, at
	}
	k.wish = min(k.wish, wish)
	if at-k.since < max(k.wait, settle) {
		return 0
	}
	if at-k.grew > 30*flapping {
		k.wait = settle
	}
	k.grew, k.since = at, 0
	return k.wish
}

// shrank notes that growth was for nothing, if it was.
func (k *knob) shrank(at float64) {
	k.since = 0
	if k.grew != 0 && at-k.grew < flapping {
		k.wait = min(2*max(k.wait, settle), slowest)
	}
}

// done notes what was done: value is what the knob was to become.
func (k *knob) done(did apply.Did, value int64, s *plan.Setting) {
	k.did, k.asked = did, value
	switch did {
	case apply.Lost:
		k.lost = true
	case apply.Set:
		k.force = s
		if k.own = value; value == giveBack {
			k.own = 0
		}
	}
}
