// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// settings is the plan in force, with what was measured in it.
func (l *Loop) settings() plan.Plan {
	p := l.plan
	p.GOMAXPROCS = l.procsSetting()
	m, s := &l.mem, &l.plan.GOMEMLIMIT
	if l.mine(GOMEMLIMIT, s) && (m.decision.Limit > 0 || s.Leave && s.Code == plan.LiveHeap && m.own != 0 && m.own == m.told) {
		p.GOMEMLIMIT = l.memorySetting(m.told)
	}
	p.GOGC = l.gcSetting()
	return p
}

// tell makes the update of a knob that was changed, asked for or lost.
func (l *Loop) tell(k Knobs, did apply.Did) {
	u := l.Latest()
	switch k {
	case GOMAXPROCS:
		u.GOMAXPROCS = did
	case GOMEMLIMIT:
		u.GOMEMLIMIT = did
	case GOGC:
		u.GOGC = did
	}
	l.announce(u)
}

func (l *Loop) announce(u Update) {
	l.renew(&u)
	l.store(u)
	if l.cfg.OnPlan != nil && !l.over() {
		l.publish()
		l.cfg.OnPlan(u)
	}
}

func (l *Loop) store(u Update) {
	l.mu.Lock()
	l.update = u
	l.mu.Unlock()
}

// renew makes an update say what is so now.
func (l *Loop) renew(u *Update) {
	before := u.Plan
	u.Plan, u.Limits = l.settings(), l.limits
	u.Verdict, u.Measured = l.waiting.Verdict, l.waiting.Seconds > 0
	u.Requested = l.procs.inFlight && !l.cfg.Dry
	u.GOMAXPROCS = l.shown(GOMAXPROCS, &u.Plan.GOMAXPROCS, &before.GOMAXPROCS, &l.procs.force, u.GOMAXPROCS, int64(l.cpu.Procs))
	u.GOMEMLIMIT = l.shown(GOMEMLIMIT, &u.Plan.GOMEMLIMIT, &before.GOMEMLIMIT, &l.mem.force, u.GOMEMLIMIT, l.mem.seen)
	u.GOGC = l.shown(GOGC, &u.Plan.GOGC, &before.GOGC, &before.GOGC, u.GOGC, l.gc.own)
}

// shown is what was done about a knob whose value is now. One that waits for a new value is
// shown with what it was set to before.
func (l *Loop) shown(k Knobs, s, before, force *plan.Setting, did apply.Did, now int64) apply.Did {
	switch {
	case l.lost&k != 0:
		return apply.Lost
	case s.Leave:
		return apply.Left
	case s.Value == now && (did == apply.Left || did == apply.Would):
		return apply.Already
	case s.Value == now, k == GOMAXPROCS && l.procs.inFlight && !l.cfg.Dry:
		return did
	case l.cfg.Dry:
		return apply.Would
	}
	if *s = *before; force.Value == now {
		*s = *force
	}
	return did
}

// like reports whether two updates say the same to somebody who sizes by them.
func (u *Update) like(v *Update) bool {
	return u.GOMAXPROCS == v.GOMAXPROCS && alike(&u.Plan.GOMAXPROCS, &v.Plan.GOMAXPROCS) &&
		u.GOMEMLIMIT == v.GOMEMLIMIT && alike(&u.Plan.GOMEMLIMIT, &v.Plan.GOMEMLIMIT) &&
		len(u.Plan.Warnings) == len(v.Plan.Warnings)
}

func alike(a, b *plan.Setting) bool {
	return a.Value == b.Value && a.Leave == b.Leave && (!a.Leave || a.Code == b.Code)
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
	limit := limits.Value[int64]{State: l.limits.Memory.Soft.State}
	if n := l.memoryLimit(); n > 0 {
		limit = limits.Of(n)
	}
	l.mu.Lock()
	if u := &l.update; u.Plan.GOGC.Leave {
		u.Plan.GOGC = l.gcSetting()
	}
	s := &l.stats
	s.Polls, s.Every, s.Changes, s.GivenUp = l.counted, l.every, l.changes, l.lost
	s.Limit, s.Used, s.Heap = limit, l.used, l.heap
	s.Memory, s.Level, s.GC = l.mem.decision, l.level, l.gc.decision
	s.Procs, s.Cores, s.Waiting, s.Raised = l.cpu.Procs, l.cpu.Cores, l.waiting, l.procs.raised
	l.mu.Unlock()
}

// verdict tells when the verdict on waiting has become, or is no longer, one
// that somebody should act on.
func (l *Loop) verdict(before law.Verdict) {
	bad := func(v law.Verdict) bool { return v >= law.TooFewPs }
	if now := l.waiting.Verdict; now != before && (bad(now) || bad(before)) {
		l.announce(l.Latest())
	}
}
