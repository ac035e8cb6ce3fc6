// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// procs is the loop's state of GOMAXPROCS.
type procs struct {
	patience
	own       int  // what snug set; 0 = nothing
	planned   int  // the limits' last value that was set; 0 = none
	seen      int  // its value at the last decision
	byRuntime bool // the runtime chose the value before snug
	fallback  int  // what the runtime chose while the limits were unknown
	requested int  // what change is setting, 0 = restores
	inFlight  bool
	left      float64 // since when a change is left to the runtime; 0 = it is not
	oddSince  float64 // since when the limits do not explain its value; 0 = they do
	law       law.ProcsState
	raised    bool
	base      int // what it is, or last was, raised from; 0 = it never was
	did       apply.Did
	code      string
	force     plan.Setting // what was set last, and why
}

func (k *procs) begin(c *Config) {
	s, now := &c.Plan.GOMAXPROCS, &c.Input.Now
	k.did, k.own = c.Result.GOMAXPROCS, c.Result.OwnProcs
	if k.did == apply.Would {
		k.requested = int(c.Plan.GOMAXPROCS.Value)
	}
	if k.seen = now.Procs; k.own != 0 && !c.Dry {
		k.seen = k.own
	}
	if k.planned = int(s.Value); s.Leave && s.Code == plan.Unknown {
		k.planned = k.own
	}
	// The program may have set the same value as the plan.
	k.byRuntime = now.Procs == c.Plan.Runtime || now.Procs == now.NumCPU || now.Procs == c.Input.Limits.CPU.Affinity.N || now.Procs == now.OwnProcs
	if s.Leave && (s.Code == plan.ProgramSet || s.Code == plan.EnvSet) {
		k.byRuntime = false
	}
}

// found records the value in force at the first poll.
func (k *procs) found(n int) {
	if k.own == 0 {
		k.fallback = n
	}
}

func (k *procs) pending() bool { return k.inFlight || k.since != 0 || k.left != 0 || k.oddSince != 0 }

// followProcs sets GOMAXPROCS to what the limits and the law decide. It returns when to poll
// again, in seconds.
func (l *Loop) followProcs(at float64) (next float64) {
	k, s := &l.procs, &l.plan.GOMAXPROCS
	next = never
	if !l.managed(GOMAXPROCS, s) {
		k.raised = false
		return next
	}
	if k.inFlight || k.oddSince != 0 {
		return next
	}
	wish := int(s.Value)
	if s.Leave && s.Code != plan.NoLimit || l.limits.CPU.Quota.State == limits.Unknown && wish > k.planned {
		wish = k.planned // an unknown limit changes nothing, and a hint cannot widen it
	}
	planned, urgent, kept := wish, false, false
	if l.cfg.Adapt&CPU != 0 && !l.cfg.Dry && l.cpu.At == at { // a dry run tries nothing
		base := wish
		if base == 0 {
			if base = max(l.plan.Runtime, 0); base == 0 {
				base = k.fallback
			}
		}
		policy := law.ProcsPolicy{Base: base}
		if most := l.in.Policy.MaxProcs; most > 0 {
			policy.Ceiling = min(most, law.ProcsCeiling(l.cpu.Cores))
		}
		var d law.ProcsDecision
		k.law, d = law.StepProcs(k.law, l.cpu, policy)
		// The law's growth need not settle; growth of the limits must.
		next, urgent = d.Next, k.raised && base == k.base || d.Procs != 0
		kept = k.raised && k.code == law.ProcsTried && d.Code == law.ProcsRaised
		if k.raised = d.Procs > base; k.raised {
			wish, k.base, k.code = d.Procs, base, d.Code
		}
	} else if k.raised {
		return next // between two samples
	}
	if k.raised {
		k.planned = planned
	}
	switch {
	case wish == 0 && k.own == 0, wish == l.cpu.Procs:
		k.forget()
		if k.left, k.planned = 0, planned; kept && k.raised {
			l.kept()
		}
		return next
	case l.cfg.Dry && k.requested == wish && k.did == apply.Would:
		return next
	case wish > l.cpu.Procs || wish == 0:
		if k.left = 0; !urgent {
			switch n := k.granted(at, back(wish)); n {
			case 0:
				return next
			case plan.NoMemLimit:
				wish = 0
			default:
				wish = int(n)
			}
		}
	default:
		k.shrank(at)
		// The runtime follows a value it has chosen itself, and keeps doing so only if
		// nothing else sets it.
		if k.own == 0 && k.byRuntime && wish == l.plan.Runtime {
			if k.left == 0 {
				k.left = at
			}
			if at-k.left < runtimeDelay {
				return next
			}
		}
	}
	k.left, k.planned = 0, planned
	k.requested, k.inFlight = wish, true
	go l.change(l.cpu.Procs, wish, k.byRuntime) // a callback may panic
	l.announce(l.Latest())
	return next
}

// kept announces that a tried value stays.
func (l *Loop) kept() {
	k := &l.procs
	k.force = l.procsSetting()
	fit.LogSetting("GOMAXPROCS", &k.force, k.did)
	l.announce(l.Latest())
}

// back converts a wish for granted: to restore a knob is the largest.
func back(wish int) int64 {
	if wish == 0 {
		return plan.NoMemLimit
	}
	return int64(wish)
}

// procsChanged records the result of change.
func (l *Loop) procsChanged(did apply.Did) {
	k := &l.procs
	k.inFlight = false
	l.machine.cpu(&l.cpu)
	if did == apply.Set {
		k.own = k.requested
	}
	if did == apply.Set || did == apply.Already {
		k.seen = l.cpu.Procs
	}
	k.did = did
	s := l.procsSetting()
	if k.requested != 0 {
		s.Value, s.Leave = int64(k.requested), false
	}
	if did == apply.Set {
		k.force = s
	}
	l.did(GOMAXPROCS, "GOMAXPROCS", &s, did)
	l.publish()
}

// procsSetting returns the plan's setting, or the law's.
func (l *Loop) procsSetting() plan.Setting {
	s, k := l.plan.GOMAXPROCS, &l.procs
	if k.raised {
		s.Value, s.Leave, s.Code, s.Number = int64(k.requested), false, k.code, float64(k.base)
	}
	return s
}
