// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// measuredMemory is what a Measuring adds to the state of GOMEMLIMIT.
type measuredMemory struct {
	ceiling  int64 // what the limits alone allow, once growth has held for a while; 0 = not decided
	state    law.MemoryState
	decision law.MemoryDecision
	decided  int64 // the last value that was not the limits'
	logged   plan.Setting
}

// unknownMemory is the decision while nothing is known.
var unknownMemory = law.MemoryDecision{NonGo: -1, Peak: -1}

// adaptMemory sets GOMEMLIMIT to what the limit and measured memory allow. It returns when to
// poll again, in seconds.
func (m *Measuring) adaptMemory(at float64) (next float64) {
	k, s, x := &m.memory, &m.plan.GOMEMLIMIT, &m.mem
	if x.decision = unknownMemory; m.used >= 0 {
		x.decision.NonGo = max(0, m.used-m.heap.Mapped)
	}
	if k.foreign(s) {
		return never
	}
	if p := &m.cfg.Input.Policy.Memory; m.more.Adapt&Memory != 0 && p.Bytes == 0 && !p.Off && !s.Leave &&
		!shared(m.cfg.Input) {
		if x.ceiling == 0 {
			x.ceiling = s.Value
		}
		k.growth, x.ceiling = law.StepGrowth(k.growth, at, x.ceiling, s.Value)
		sample := law.MemorySample{At: at, Limit: m.memoryLimit(), Used: m.used, Max: x.ceiling, Heap: m.heap}
		if x.state, x.decision = law.StepMemory(x.state, sample); x.decision.Limit > 0 {
			m.setMeasured(x.decision.Limit)
			return DefaultPoll.Seconds()
		}
	}
	if s.Leave && s.Code == plan.LiveHeap {
		// Too late for the current limit, but the old value is worse still.
		if need := m.heap.Need(10); k.own != 0 && need < k.own {
			m.setMeasured(need)
		}
		return never
	}
	if m.followMemory(at, m.heap.Limit); s.Leave && k.own == 0 {
		x.ceiling, x.state = 0, law.MemoryState{}
	}
	return never
}

// setMeasured sets GOMEMLIMIT to a value that the limits alone do not give.
func (m *Measuring) setMeasured(value int64) {
	k, x := &m.memory, &m.mem
	again := k.did == apply.Would && k.requested == value
	if x.decided = value; again || value == m.heap.Limit {
		return
	}
	s := m.memorySetting()
	name := "GOMEMLIMIT"
	switch {
	case x.decision.Limit == 0:
	case near(&x.logged, &s):
		name = ""
	default:
		x.logged = s
	}
	did := m.set.Memory(value)
	if did == apply.Set {
		k.seen = value
	}
	m.record(name, k, &s, did, value)
}

// memorySetting returns the plan's setting with what was measured.
func (m *Measuring) memorySetting() plan.Setting {
	s, x := m.plan.GOMEMLIMIT, &m.mem
	if x.decision.Limit > 0 && (s.Leave || s.Value != x.decided) {
		if !s.Leave {
			s.Ignored = append(s.Ignored[:len(s.Ignored):len(s.Ignored)], s.Reason)
		}
		s.Code, s.Number, s.Source = law.MemoryMeasured, float64(x.decision.NonGo), m.cfg.Input.Limits.Memory.SoftSource
	}
	s.Value, s.Leave = x.decided, false
	return s
}

// memoryLimit returns the limit that the plan is based on, in bytes; 0 = none or unknown.
func (m *Measuring) memoryLimit() int64 {
	limit := m.cfg.Input.Limits.Memory.Soft
	n, _ := limit.Get()
	if limit.State == limits.Unknown {
		return 0 // even with a hint
	}
	if h := m.cfg.Input.Hints.MemoryLimit; h > 0 && (n == 0 || h < n) {
		n = h
	}
	if w := int64(m.cfg.Input.Policy.Workers); w > 1 {
		n /= w
	}
	return n
}

// shared reports whether the visible group may hold processes to which memoryLimit does not
// apply: the other workers or, if a hint decides, any others.
func shared(in *plan.Input) bool {
	h, limit := in.Hints.MemoryLimit, in.Limits.Memory.Soft
	return in.Policy.Workers > 1 || h > 0 && !(limit.State == limits.Known && limit.N <= h)
}

// Warn adds a warning if memory is to be measured but may belong to other processes.
func (c *Measure) Warn(all *[]limits.Warning, in *plan.Input) {
	if c.Adapt&(Memory|GC) != 0 && shared(in) {
		plan.Warn(all, plan.NotMeasured, &limits.Source{}, 0)
	}
}
