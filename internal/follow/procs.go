// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// measuredProcs is what a Measuring adds to the state of GOMAXPROCS.
type measuredProcs struct {
	state    law.ProcsState
	raised   bool
	code     string // of the law that raised it
	base     int64  // what it is, or last was, raised from; 0 = it never was
	planned  int64  // the limits' last value that was set; restore if there was none
	fallback int    // what the runtime chose while the limits were unknown
}

func (m *Measuring) beginProcs() {
	x, s := &m.cpus, &m.plan.GOMAXPROCS
	switch x.planned = s.Value; {
	case s.Leave && s.Code == plan.Unknown && m.procs.own != 0:
		x.planned = m.procs.own
	case s.Leave:
		x.planned = restore
	}
}

// adaptProcs sets GOMAXPROCS, now, to what the limits and the law decide. It returns when to poll
// again, in seconds.
func (m *Measuring) adaptProcs(at float64, now int64) (next float64) {
	k, s, x := &m.procs, &m.plan.GOMAXPROCS, &m.cpus
	if next = never; k.foreign(s) {
		x.raised = false
		return next
	}
	if m.inFlight || k.oddSince != 0 {
		return next
	}
	wish := s.Value
	if s.Leave {
		wish = restore
	}
	if s.Leave && s.Code != plan.NoLimit || m.next.CPU.Quota.State == limits.Unknown && wish > x.planned {
		wish = x.planned // an unknown limit changes nothing, and a hint cannot widen it
	}
	planned, urgent, kept := wish, false, false
	if m.more.Adapt&CPU != 0 && !m.cfg.Dry && m.cpu.At == at { // a dry run tries nothing
		wish, next, urgent, kept = m.stepProcs(wish)
	} else if x.raised {
		return next // between two samples
	}
	if x.raised {
		x.planned = planned
	}
	value := wish
	if urgent && wish > now && (wish != restore || k.own != 0) {
		k.left = 0
	} else {
		to := plan.Setting{Value: wish, Leave: wish == restore, Reason: plan.Reason{Code: plan.NoLimit}}
		value = k.follow(at, &to, now, false, m.cfg.Dry, int64(m.plan.Runtime))
	}
	if value != now {
		x.planned = planned
		s := m.procsSetting(value)
		m.request(now, value, &s)
	} else if wish == now {
		if x.planned = planned; kept && x.raised { // a tried value stays
			s := m.procsSetting(now)
			k.force, m.dirty, m.news = &s, true, true
			fit.LogSetting("GOMAXPROCS", &s, k.did)
		}
	}
	return next
}

// request begins to change GOMAXPROCS.
func (m *Measuring) request(now, value int64, s *plan.Setting) {
	m.procs.requested, m.asked, m.inFlight, m.dirty = value, s, true, true
	go m.change(int(now))
}

// stepProcs takes a step of the law. urgent is that growth need not settle, as that of the limits must; kept
// that a value that was tried now stays.
func (m *Measuring) stepProcs(planned int64) (wish int64, next float64, urgent, kept bool) {
	x, base := &m.cpus, int(planned)
	if planned == restore {
		if base = max(m.plan.Runtime, 0); base == 0 {
			base = x.fallback
		}
	}
	policy := law.ProcsPolicy{Base: base}
	if most := m.cfg.Input.Policy.MaxProcs; most > 0 {
		policy.Ceiling = min(most, law.ProcsCeiling(m.cpu.Cores))
	}
	var d law.ProcsDecision
	x.state, d = law.StepProcs(x.state, m.cpu, policy)
	urgent = x.raised && int64(base) == x.base || d.Procs != 0
	kept = x.raised && x.code == law.ProcsTried && d.Code == law.ProcsRaised
	if x.raised = d.Procs > base; x.raised {
		planned, x.base, x.code = int64(d.Procs), int64(base), d.Code
	}
	return planned, d.Next, urgent, kept
}

// procsSetting returns the plan's setting or, while GOMAXPROCS is raised, the law's with a value.
func (m *Measuring) procsSetting(value int64) plan.Setting {
	s, x := m.plan.GOMAXPROCS, &m.cpus
	if x.raised {
		s.Value, s.Leave, s.Code, s.Number = value, false, x.code, float64(x.base)
	}
	return s
}
