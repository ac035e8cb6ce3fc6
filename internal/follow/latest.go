// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Text is a reason in one sentence without a full stop, as plan.Text makes it. Package
// watch knows more reasons, and replaces it where it is in the program.
var Text = plan.Text

// Update is the decision in force and what was done about it.
type Update struct {
	Plan                   plan.Plan
	Limits                 limits.Limits
	GOMAXPROCS, GOMEMLIMIT apply.Did
	Requested              bool // GOMAXPROCS is asked for and not yet in force
}

// Latest returns the decision in force.
func (l *Loop) Latest() Update {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := Update{Plan: *l.plan, Limits: l.in.Limits, Requested: l.inFlight && !l.dry}
	s := &u.Plan.GOMAXPROCS
	if u.Requested && l.procs.asked != giveBack {
		s.Value, s.Leave = l.procs.asked, false
	}
	u.GOMAXPROCS = l.shown(&l.procs, s, u.Requested)
	u.GOMEMLIMIT = l.shown(&l.memory, &u.Plan.GOMEMLIMIT, false)
	return u
}

// shown is what was done about a knob. One that waits for a new value is shown with
// what it was set to before.
func (l *Loop) shown(k *knob, s *plan.Setting, inFlight bool) apply.Did {
	now := k.seen
	switch {
	case k.lost:
		return apply.Lost
	case s.Leave:
		return apply.Left
	case s.Value == now && (k.did == apply.Left || k.did == apply.Would):
		return apply.Already
	case s.Value == now, inFlight:
		return k.did
	case l.dry:
		return apply.Would
	}
	if k.force != nil && k.force.Value == now {
		*s = *k.force
	}
	return k.did
}
