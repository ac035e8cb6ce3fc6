// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"github.com/snug-go/snug/internal/adapt"
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
)

// settings is the plan in force, with what was measured in it.
func (l *Loop) settings() plan.Plan {
	p := l.plan
	if k := &l.procs; k.escaped {
		p.GOMAXPROCS.Value, p.GOMAXPROCS.Leave = int64(k.asked), false
		p.GOMAXPROCS.Code, p.GOMAXPROCS.Number = k.code, float64(l.plan.GOMAXPROCS.Value)
	}
	if l.mem.decision.Limit > 0 && l.mine(GOMEMLIMIT, &l.plan.GOMEMLIMIT) {
		p.GOMEMLIMIT = l.memorySetting(l.mem.told)
	}
	p.GOGC = l.gcSetting()
	return p
}

// tell makes the update of a knob that was changed, asked for or lost.
func (l *Loop) tell(k Knobs, did apply.Did) {
	u := l.Latest()
	switch u.Requested = false; k {
	case GOMAXPROCS:
		u.GOMAXPROCS = did
	case GOMEMLIMIT:
		u.GOMEMLIMIT = did
	case GOGC:
		u.GOGC = did
	}
	l.announce(u)
}

// tellRequest says that GOMAXPROCS was asked for.
func (l *Loop) tellRequest() {
	u := l.Latest()
	u.Requested = true
	l.announce(u)
}

func (l *Loop) announce(u Update) {
	u.Plan, u.Limits = l.settings(), l.limits
	u.Verdict, u.Measured = l.waiting.Verdict, l.waiting.Seconds > 0
	u.Requested = u.Requested || l.procs.inFlight
	u.GOMAXPROCS = l.left(GOMAXPROCS, &u.Plan.GOMAXPROCS, u.GOMAXPROCS)
	u.GOMEMLIMIT = l.left(GOMEMLIMIT, &u.Plan.GOMEMLIMIT, u.GOMEMLIMIT)
	u.GOGC = l.left(GOGC, &u.Plan.GOGC, u.GOGC)
	l.mu.Lock()
	l.update = u
	l.mu.Unlock()
	if l.cfg.OnPlan != nil {
		l.publish()
		l.cfg.OnPlan(u)
	}
}

// left is what was done about a knob, where the plan leaves it or it was lost.
func (l *Loop) left(k Knobs, s *plan.Setting, did apply.Did) apply.Did {
	switch {
	case l.lost&k != 0:
		return apply.Lost
	case s.Leave:
		return apply.Left
	}
	return did
}

// worthALine reports whether a change is worth a line in a log: what follows a
// measurement moves all the time.
func (l *Loop) worthALine(k Knobs, s *plan.Setting) bool {
	if k != GOMEMLIMIT || l.mem.decision.Limit == 0 {
		return true
	}
	m := &l.mem
	if s.Code == m.loggedCode && s.Value > m.logged-m.logged/20 && s.Value < m.logged+m.logged/20 {
		return false
	}
	m.logged, m.loggedCode = s.Value, s.Code
	return true
}

// publish makes what was measured visible to others.
func (l *Loop) publish() {
	limit := l.memoryLimit()
	l.mu.Lock()
	s := &l.stats
	s.Polls, s.Every, s.Changes, s.GivenUp = l.counted, l.every, l.changes, l.lost
	s.Limit, s.Used, s.Heap = limit, l.used, l.heap
	s.Memory, s.Level, s.GC = l.mem.decision, l.level, l.gc.decision
	s.Procs, s.Cores, s.Waiting, s.Escaped = l.cpu.Procs, l.cpu.Cores, l.waiting, l.procs.escaped
	l.mu.Unlock()
}

// verdict tells when the verdict on waiting has become, or is no longer, one
// that somebody should act on.
func (l *Loop) verdict(before adapt.Verdict) {
	bad := func(v adapt.Verdict) bool { return v == adapt.TooFewPs || v == adapt.QuotaSpent }
	if now := l.waiting.Verdict; now != before && (bad(now) || bad(before)) {
		l.announce(l.Latest())
	}
}
