// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// settings returns the plan in force, including measurements.
func (l *Loop) settings() plan.Plan {
	p := l.plan
	p.GOMAXPROCS = l.procsSetting()
	m, s := &l.mem, &l.plan.GOMEMLIMIT
	if l.managed(GOMEMLIMIT, s) && (m.decision.Limit > 0 || s.Leave && s.Code == plan.LiveHeap && m.own != 0 && m.own == m.decided) {
		p.GOMEMLIMIT = l.memorySetting(m.decided)
	}
	p.GOGC = l.gcSetting()
	return p
}

// announceKnob updates the result of a knob that was changed, requested or lost, and announces it.
func (l *Loop) announceKnob(k Knobs, did apply.Did) {
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
	l.refresh(&u)
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

// refresh brings an update up to date.
func (l *Loop) refresh(u *Update) {
	before := u.Plan
	u.Plan, u.Limits = l.settings(), l.limits
	u.Verdict, u.Measured = l.waiting.Verdict, l.waiting.Seconds > 0
	u.Requested = l.procs.inFlight && !l.cfg.Dry
	u.GOMAXPROCS = l.shown(GOMAXPROCS, &u.Plan.GOMAXPROCS, &before.GOMAXPROCS, &l.procs.force, u.GOMAXPROCS, int64(l.cpu.Procs), int64(l.procs.own))
	u.GOMEMLIMIT = l.shown(GOMEMLIMIT, &u.Plan.GOMEMLIMIT, &before.GOMEMLIMIT, &l.mem.force, u.GOMEMLIMIT, l.mem.seen, l.mem.own)
	u.GOGC = l.shown(GOGC, &u.Plan.GOGC, &before.GOGC, &before.GOGC, u.GOGC, l.gc.own, 0)
}

// shown returns the result to report for a knob whose value is now, and whose own is snug's. For a knob that waits for a
// new value it is that of the value set before.
func (l *Loop) shown(k Knobs, s, before, force *plan.Setting, did apply.Did, now, own int64) apply.Did {
	switch {
	case l.lost&k != 0:
		return apply.Lost
	case s.Leave && (l.cfg.Dry || !follow.Restores(s, own)):
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

// like reports whether two updates have the same effect.
func (u *Update) like(v *Update) bool {
	return u.GOMAXPROCS == v.GOMAXPROCS && alike(&u.Plan.GOMAXPROCS, &v.Plan.GOMAXPROCS) &&
		u.GOMEMLIMIT == v.GOMEMLIMIT && alike(&u.Plan.GOMEMLIMIT, &v.Plan.GOMEMLIMIT)
}

func alike(a, b *plan.Setting) bool {
	return a.Value == b.Value && a.Leave == b.Leave && (!a.Leave || a.Code == b.Code)
}

// worthLogging reports whether to log a change: a value that follows measurements moves all the
// time.
func (l *Loop) worthLogging(k Knobs, s *plan.Setting) bool {
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

// publish makes the measurements visible to other goroutines.
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

// verdict announces that the verdict on waiting has become one to act on, or no longer is one.
func (l *Loop) verdict(before law.Verdict) {
	bad := func(v law.Verdict) bool { return v >= law.TooFewPs }
	if now := l.waiting.Verdict; now != before && (bad(now) || bad(before)) {
		l.announce(l.Latest())
	}
}
