// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// Text returns a reason as one sentence without a full stop, as plan.Text does. Package measure
// replaces it, for the laws' reasons.
var Text = plan.Text

// Update is the decision in force with its results.
type Update struct {
	Plan                   plan.Plan
	Limits                 limits.Limits
	GOMAXPROCS, GOMEMLIMIT apply.Did
	GOGC                   apply.Did // only by a Measuring
	Requested              bool      // GOMAXPROCS is requested and not yet in force
}

// Latest returns the decision in force.
func (l *Loop) Latest() Update {
	lock(&l.mu)
	u := Update{Plan: *l.plan, Limits: l.cfg.Input.Limits, Requested: l.inFlight && !l.cfg.Dry}
	if l.cfg.Review == nil {
		w := &u.Plan.Warnings
		*w = (*w)[:len(*w):len(*w)]
		plan.Review(l.cfg.Input, &u.Plan)
	}
	if l.part != nil {
		l.part.show(&u)
	}
	s := &u.Plan.GOMAXPROCS
	if u.Requested && l.procs.requested != restore {
		s.Value, s.Leave = l.procs.requested, false
	}
	u.GOMAXPROCS = l.shown(&l.procs, s, u.Requested)
	u.GOMEMLIMIT = l.shown(&l.memory, &u.Plan.GOMEMLIMIT, false)
	unlock(&l.mu)
	return u
}

// shown returns the result to report for a knob. For a knob that waits for a new value it is
// that of the value set before.
func (l *Loop) shown(k *knob, s *plan.Setting, inFlight bool) apply.Did {
	now := k.seen
	switch {
	case k.lost:
		return apply.Lost
	case s.Leave && (l.cfg.Dry || !Restores(s, k.own)):
		return apply.Left
	case s.Value == now && (k.did == apply.Left || k.did == apply.Would):
		return apply.Already
	case s.Value == now, inFlight:
		return k.did
	case l.cfg.Dry:
		return apply.Would
	}
	if k.force != nil && (k.force.Value == now || k.left != 0) {
		*s = *k.force
	}
	if s.Leave {
		return apply.Left
	}
	return k.did
}
