// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/follow"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// memory is the loop's state of GOMEMLIMIT.
type memory struct {
	patience
	own      int64 // what snug set; 0 = nothing
	seen     int64 // its value at the last decision
	ceiling  int64 // what the limits alone allow, once growth has held for a while
	state    law.MemoryState
	decision law.MemoryDecision
	did      apply.Did
	decided  int64        // the last value decided
	force    plan.Setting // what was set last, and why

	logged     int64
	loggedCode string
}

func (k *memory) begin(c *Config) {
	k.did, k.own = c.Result.GOMEMLIMIT, c.Result.OwnMemLimit
	if k.did == apply.Would {
		k.decided = c.Plan.GOMEMLIMIT.Value
	}
	k.decision = unknownMemory
}

// allowed returns the most that the limits allow: a decrease at once, growth after it has held.
func (k *memory) allowed(at float64, value int64) int64 {
	switch {
	case k.ceiling == 0 || value == k.ceiling:
		k.forget()
		k.ceiling = value
	case value < k.ceiling:
		k.shrank(at)
		k.ceiling = value
	default:
		if n := k.granted(at, value); n != 0 {
			k.ceiling = n
		}
	}
	return k.ceiling
}

func (k *memory) pending() bool { return k.since != 0 }

func (k *memory) foreign(n int64) bool { return n != k.seen }

// followMemory sets GOMEMLIMIT to what the limit and measured memory allow. It returns when to
// poll again, in seconds.
func (l *Loop) followMemory(at float64) (next float64) {
	k, s := &l.mem, &l.plan.GOMEMLIMIT
	next = never
	if k.decision = unknownMemory; l.used >= 0 {
		k.decision.NonGo = max(0, l.used-l.heap.Mapped)
	}
	if !l.managed(GOMEMLIMIT, s) {
		return next
	}
	if l.cfg.Adapt&Memory != 0 && l.in.Policy.Memory.Bytes == 0 && !l.in.Policy.Memory.Off && !s.Leave && !l.shared() {
		x := law.MemorySample{At: at, Limit: l.memoryLimit(), Used: l.used, Max: k.allowed(at, s.Value), Heap: l.heap}
		k.state, k.decision = law.StepMemory(k.state, x)
		if n := k.decision.Limit; n > 0 {
			l.setMemory(n)
			return follow.DefaultPoll.Seconds()
		}
	}
	switch {
	case s.Leave && (s.Code == plan.NoLimit || s.Code == plan.TooSmall):
		if k.own == 0 || k.did == apply.Would && k.decided == plan.NoMemLimit {
			return next
		}
		if n := k.granted(at, plan.NoMemLimit); n != plan.NoMemLimit {
			if n != 0 {
				l.setMemory(n)
			}
			return next
		}
		did := l.knobs.ReleaseMemory()
		k.note(did, 0)
		k.ceiling, k.state = 0, law.MemoryState{}
		k.seen, k.decided = plan.NoMemLimit, plan.NoMemLimit
		l.did(GOMEMLIMIT, "GOMEMLIMIT", s, did)
	case s.Leave && s.Code == plan.LiveHeap:
		// Too late for the current limit, but the old value is worse still.
		if need := l.heap.Need(10); k.own != 0 && need < k.own {
			l.setMemory(need)
		}
	case s.Leave, s.Value > l.heap.Limit && l.limits.Memory.Soft.State == limits.Unknown:
		k.forget() // an unknown limit changes nothing, and a hint cannot widen it
	case s.Value > l.heap.Limit:
		if n := k.granted(at, s.Value); n != 0 {
			l.setMemory(n)
		}
	case s.Value < l.heap.Limit:
		k.shrank(at)
		l.setMemory(s.Value)
	default:
		k.forget()
	}
	return next
}

// memoryLimit returns the limit that the plan is based on, in bytes; 0 = none or unknown.
func (l *Loop) memoryLimit() int64 {
	n, _ := l.limits.Memory.Soft.Get()
	if l.limits.Memory.Soft.State == limits.Unknown {
		return 0 // even with a hint
	}
	if h := l.in.Hints.MemoryLimit; h > 0 && (n == 0 || h < n) {
		n = h
	}
	if w := int64(l.in.Policy.Workers); w > 1 {
		n /= w
	}
	return n
}

// charged returns the unreclaimable bytes below memoryLimit; -1 = unknown.
func (l *Loop) charged() int64 {
	if l.shared() {
		return -1
	}
	return l.used
}

// shared reports whether the visible group may hold processes to which memoryLimit does not
// apply: the other workers or, if a hint decides, any others.
func (l *Loop) shared() bool { return shared(&l.in, l.limits.Memory.Soft) }

func shared(in *plan.Input, limit limits.Value[int64]) bool {
	h := in.Hints.MemoryLimit
	return in.Policy.Workers > 1 || h > 0 && !(limit.State == limits.Known && limit.N <= h)
}

func (l *Loop) setMemory(value int64) {
	k := &l.mem
	if value == l.heap.Limit {
		k.decided = value
		return
	}
	did := l.knobs.Memory(value)
	if did == apply.Would && k.decided == value {
		return
	}
	k.decided = value
	k.note(did, value)
	s := l.memorySetting(value)
	if did == apply.Set {
		k.force = s
	}
	l.did(GOMEMLIMIT, "GOMEMLIMIT", &s, did)
}

func (k *memory) note(did apply.Did, value int64) {
	k.did = did
	if did == apply.Set {
		k.own, k.seen = value, value
	}
}

// memorySetting returns the plan's setting with what was measured.
func (l *Loop) memorySetting(value int64) plan.Setting {
	s, d := l.plan.GOMEMLIMIT, &l.mem.decision
	if d.Limit > 0 && (s.Leave || s.Value != value) {
		if !s.Leave {
			s.Ignored = append(s.Ignored[:len(s.Ignored):len(s.Ignored)], s.Reason)
		}
		s.Code, s.Number, s.Source = law.MemoryMeasured, float64(d.NonGo), l.limits.Memory.SoftSource
	}
	s.Value, s.Leave = value, false
	return s
}
