// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// collector is the loop's state of GOGC.
type collector struct {
	own      int64 // what snug set; 0 = nothing
	state    law.GCState
	decision law.GCDecision
	did      apply.Did
	decided  int64   // the last value decided
	oddSince float64 // since when GOGC is neither snug's nor Base; 0 = it is one of them
}

// goDefault is the GOGC of a program that does not set it.
const goDefault = 100

// foundGC records the GOGC in force without snug. One set by the program stays the program's.
func (l *Loop) foundGC() {
	if l.cfg.GC.Base == 0 {
		l.cfg.GC.Base = l.heap.GOGC
	}
	if l.cfg.Adapt&GC != 0 && l.heap.GOGC != goDefault && l.in.Env.GOGC == "" && !l.in.Policy.Override {
		l.lost |= GOGC
	}
}

// followGC sets GOGC to the GC law's value.
func (l *Loop) followGC(at float64) {
	k := &l.gc
	policy := l.cfg.GC
	touch := l.cfg.Adapt&GC != 0 && l.lost&GOGC == 0 && policy.Base > 0 && l.in.Env.GOGC == ""
	switch {
	case k.own != 0 && l.heap.GOGC == k.own || k.own == 0 && l.heap.GOGC == policy.Base:
		k.oddSince = 0
	case k.oddSince == 0:
		// A program reads GOGC by setting it for a moment (runtime/debug.SetGCPercent).
		k.oddSince, touch = at, false
	case at-k.oddSince >= settle:
		if k.own = 0; l.cfg.Adapt&GC != 0 {
			l.lost |= GOGC
		}
		fallthrough
	default:
		touch = false
	}
	policy.On = touch
	x := law.GCSample{At: at, Limit: l.memoryLimit(), Used: l.charged(), Heap: l.heap, CPU: l.cpu}
	k.state, k.decision = law.StepGC(k.state, x, policy)
	if n := k.decision.GOGC; touch && n > 0 && n != l.heap.GOGC {
		did := l.knobs.GOGC(l.heap.GOGC, n)
		if did == apply.Would && k.decided == n {
			return
		}
		k.did, k.decided = did, n
		if did == apply.Set {
			k.own = n
		}
		s := l.gcSetting()
		l.did(GOGC, "GOGC", &s, did)
	}
}

func (l *Loop) gcSetting() plan.Setting {
	s, k := l.plan.GOGC, &l.gc
	if text := l.in.Env.GOGC; l.cfg.Adapt&GC != 0 && text != "" && s.Leave {
		s.Reason = plan.Reason{Code: plan.EnvSet, Source: limits.Source{File: "GOGC", Raw: text}}
		return s
	}
	if l.lost&GOGC != 0 {
		s.Value, s.Leave = 0, true
		s.Reason = plan.Reason{Code: plan.ProgramSet, Number: float64(l.heap.GOGC)}
		return s
	}
	if d := &k.decision; d.Code != "" && d.Code != law.GCKeep && s.Leave {
		s.Code = d.Code // it may follow, whether or not it has yet
	}
	if k.own != 0 || k.did == apply.Would {
		s.Value, s.Leave = k.decided, false
		if s.Code = k.decision.Code; k.decision.Share > 0 { // false for NaN
			s.Number = k.decision.Share
		}
	}
	return s
}
