// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math"
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

// never is when to look again where nothing asks for it.
var never = math.Inf(1)

// A patience makes growth wait.
type patience struct {
	wish  int64
	since float64 // when the wish came up; 0 = there is none
	wait  float64 // seconds; 0 = settle
	grew  float64 // when growth was followed last
}

// forget ends a wish: what is in force is what is wanted.
func (p *patience) forget() { p.since = 0 }

// granted is what growth may go to by now: the least that was wished for since
// it was wished for without a break; 0 = not yet.
func (p *patience) granted(at float64, wish int64) int64 {
	if p.since == 0 {
		p.wish, p.since = wish, at
	}
	p.wish = min(p.wish, wish)
	if at-p.since < max(p.wait, settle) {
		return 0
	}
	if at-p.grew > 30*flapping {
		p.wait = settle
	}
	p.grew, p.since = at, 0
	return p.wish
}

// shrank notes that growth was for nothing, if it was.
func (p *patience) shrank(at float64) {
	p.since = 0
	if p.grew != 0 && at-p.grew < flapping {
		p.wait = min(2*max(p.wait, settle), slowest)
	}
}
