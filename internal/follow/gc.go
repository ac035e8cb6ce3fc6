// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// goDefault is the GOGC of a program that does not set it.
const goDefault = 100

// foundGC records the GOGC in force without snug. One set by the program stays the program's.
func (m *Measuring) foundGC() {
	if m.more.GC.Base == 0 {
		m.more.GC.Base = m.heap.GOGC
	}
	if m.more.Adapt&GC != 0 && m.heap.GOGC != goDefault && m.cfg.Input.Env.GOGC == "" && !m.cfg.Input.Policy.Override {
		m.gogc.lost = true
	}
}

// followGC sets GOGC to the GC law's value.
func (m *Measuring) followGC(at float64) {
	k, now := &m.gogc, m.heap.GOGC
	policy := m.more.GC
	touch := m.more.Adapt&GC != 0 && !k.lost && policy.Base > 0 && m.cfg.Input.Env.GOGC == ""
	switch {
	case k.own != 0 && now == k.own || k.own == 0 && now == policy.Base:
		k.oddSince = 0
	case k.oddSince == 0:
		// A program reads GOGC by setting it for a moment (runtime/debug.SetGCPercent).
		k.oddSince, touch = at, false
	case at-k.oddSince >= law.Settle:
		k.own = 0
		k.lost = k.lost || m.more.Adapt&GC != 0
		fallthrough
	default:
		touch = false
	}
	policy.On = touch
	x := law.GCSample{At: at, Limit: m.memoryLimit(), Used: m.used, Heap: m.heap, CPU: m.cpu}
	if shared(m.cfg.Input) {
		x.Used = -1
	}
	m.collector, m.gc = law.StepGC(m.collector, x, policy)
	n := m.gc.GOGC
	if !touch || n <= 0 || n == now {
		return
	}
	did := m.setGOGC(now, n)
	if did == apply.Would && k.did == did && k.requested == n {
		return
	}
	if k.did, k.requested = did, n; did == apply.Set {
		k.own = n
	}
	s := m.gcSetting()
	m.news = true
	m.record("GOGC", k, &s, did, n)
}

// gcSetting returns the decision about GOGC.
func (m *Measuring) gcSetting() plan.Setting {
	s, k := m.plan.GOGC, &m.gogc
	if text := m.cfg.Input.Env.GOGC; m.more.Adapt&GC != 0 && text != "" && s.Leave {
		s.Reason = plan.Reason{Code: plan.EnvSet, Source: limits.Source{File: "GOGC", Raw: text}}
		return s
	}
	if k.lost {
		s.Value, s.Leave = 0, true
		s.Reason = plan.Reason{Code: plan.ProgramSet, Number: float64(m.heap.GOGC)}
		return s
	}
	if d := &m.gc; d.Code != "" && d.Code != law.GCKeep && s.Leave {
		s.Code = d.Code // it may follow, whether or not it has yet
	}
	if k.own != 0 || k.did == apply.Would {
		s.Value, s.Leave = k.requested, false
		if s.Code = m.gc.Code; m.gc.Share > 0 { // false for NaN
			s.Number = m.gc.Share
		}
	}
	return s
}
