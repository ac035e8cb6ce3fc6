// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math"
)

const (
	// settle is how long growth must hold before it is followed, in seconds. A resize writes
	// the files of pod and container one after the other, and growth that is soon revoked is
	// not worth stopping the world.
	settle = 3
	// flapping is the time in seconds after growth within which a shrink means that limits
	// oscillate. Each time the wait doubles, up to maxWait.
	flapping = 10
	maxWait  = 60
	// runtimeDelay is how long the runtime gets to follow by itself, in seconds: it reads its
	// limits once a second (runtime/proc.go, sysmon).
	runtimeDelay = 0.95
)

// never is the time of the next poll if nothing needs one.
var never = math.Inf(1)

// A patience delays growth.
type patience struct {
	wish  int64
	since float64 // when growth was first wanted; 0 = not
	wait  float64 // seconds; 0 = settle
	grew  float64 // when growth was last followed
}

// forget cancels waiting growth: the value in force is the one wanted.
func (p *patience) forget() { p.since = 0 }

// granted returns the value that growth may reach now: the smallest wish since growth was first
// wanted; 0 = not yet.
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

// shrank extends the wait if recent growth was in vain.
func (p *patience) shrank(at float64) {
	p.since = 0
	if p.grew != 0 && at-p.grew < flapping {
		p.wait = min(2*max(p.wait, settle), maxWait)
	}
}
