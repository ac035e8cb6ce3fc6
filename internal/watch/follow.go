// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math"

	"github.com/snug-go/snug/internal/adapt"
	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

const (
	// settle is how long growth must stand before it is followed, in seconds. A
	// resize writes the files of pod and container one after the other, and what
	// shrinks again at once is not worth a stop of the world.
	settle = 3
	// flapping is within how many seconds of growth a shrink says that limits go up
	// and down; each time the wait doubles, up to slowest.
	flapping = 10
	slowest  = 60
	// looks is how long the runtime has to follow by itself, in seconds: it looks
	// at its limits once a second (runtime/proc.go, sysmon).
	looks = 0.95
)

// never is when to look again where nothing asks for it.
var never = math.Inf(1)

// A patience makes growth wait.
type patience struct {
	wish  int64
	since float64 // when the wish came up; 0 = there is none
	wait  float64 // seconds; 0 = settle
	grew  float64 // when growth was followed last
}

// forget ends a wish: what is in force is what is wanted.
func (p *patience) forget() { p.since = 0 }

// granted is what growth may go to by now: the least that was wished for since
// it was wished for without a break; 0 = not yet.
func (p *patience) granted(at float64, wish int64) int64 {
	if p.since == 0 {
		p.wish, p.since = wish, at
	}
	p.wish = min(p.wish, wish)
	if at-p.since < max(p.wait, settle) {
		return 0
	}
	if at-p.grew > 30*flapping {
		p.wait = settle
	}
	p.grew, p.since = at, 0
	return p.wish
}

// shrank notes that growth was for nothing, if it was.
func (p *patience) shrank(at float64) {
	p.since = 0
	if p.grew != 0 && at-p.grew < flapping {
		p.wait = min(2*max(p.wait, settle), slowest)
	}
}

// procs is GOMAXPROCS as the loop knows it.
type procs struct {
	patience
	own        int  // what snug wrote; 0 = nothing
	planned    int  // what the limits asked for and got last; 0 = nothing
	seen       int  // what it was at the last decision
	byRuntime  bool // what it was before is the runtime's own choice
	fallback   int  // what the runtime chose when nothing was known of it
	asked      int  // what change is setting, 0 = gives back
	inFlight   bool
	left       float64 // since when a change is left to the runtime; 0 = none is
	odd        float64 // since when it is what the limits do not explain; 0 = they do
	starvation adapt.StarvationState
	wantKernel bool
	escaped    bool
	base       int // what escaped from
	did        apply.Did
	code       string
	force      plan.Setting // what was set last, and why
}

func (k *procs) begin(c *Config) {
	s, now := &c.Plan.GOMAXPROCS, &c.Input.Now
	k.did, k.own = c.Result.GOMAXPROCS, c.Result.OwnProcs
	if k.seen = now.Procs; k.own != 0 && !c.Dry {
		k.seen = k.own
	}
	if k.planned = int(s.Value); s.Leave && s.Code == plan.Unknown {
		k.planned = k.own
	}
	// A program may have set what the plan says as well.
	k.byRuntime = now.Procs == c.Plan.Runtime || now.Procs == now.NumCPU || now.Procs == c.Input.Limits.CPU.Affinity.N || now.Procs == now.OwnProcs
	if s.Leave && (s.Code == plan.ProgramSet || s.Code == plan.EnvSet) {
		k.byRuntime = false
	}
}

// found notes what is in force at the first look.
func (k *procs) found(n int) {
	if k.own == 0 {
		k.fallback = n
	}
}

func (k *procs) pending() bool { return k.inFlight || k.since != 0 || k.left != 0 || k.odd != 0 }

// followProcs makes GOMAXPROCS what limits and starvation ask for. It returns
// when to look again, in seconds.
func (l *Loop) followProcs(at float64) (next float64) {
	k, s := &l.procs, &l.plan.GOMAXPROCS
	next = never
	if k.inFlight || k.odd != 0 || !l.mine(GOMAXPROCS, s) {
		return next
	}
	wish := int(s.Value)
	if s.Leave && s.Code != plan.NoLimit || l.limits.CPU.Quota.State == limits.Unknown && wish > k.planned {
		wish = k.planned // what is unknown changes nothing, and a hint does not widen it
	}
	planned, urgent := wish, false
	if l.cfg.Adapt&CPU != 0 && l.cpu.At == at {
		base := wish
		if base == 0 {
			if base = max(l.plan.Runtime, 0); base == 0 {
				base = k.fallback
			}
		}
		policy := l.cfg.Starvation
		policy.Base = base
		if most := l.in.Policy.MaxProcs; most > 0 {
			policy.Ceiling = min(most, adapt.Ceiling(l.cpu.Cores))
		}
		var d adapt.StarvationDecision
		k.starvation, d = adapt.StepStarvation(k.starvation, l.cpu, policy)
		k.wantKernel, next = d.WantKernel, d.Next
		k.escaped, k.base = d.Procs > base, base
		k.code = d.Code
		if l.lost &^= Escape; d.GaveUp {
			l.lost |= Escape
		}
		if k.escaped {
			wish, urgent = d.Procs, d.Procs > l.cpu.Procs
		}
	} else if k.escaped {
		return next // between two samples
	}
	if k.escaped {
		k.planned = planned
	}
	switch {
	case wish == 0 && k.own == 0, wish == l.cpu.Procs:
		k.forget()
		k.left, k.planned = 0, planned
		return next
	case l.cfg.Dry && k.asked == wish && k.did == apply.Would:
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
		// The runtime follows by itself what it has chosen, and goes on doing so
		// only if nobody else sets it.
		if k.own == 0 && k.byRuntime && wish == l.plan.Runtime {
			if k.left == 0 {
				k.left = at
			}
			if at-k.left < looks {
				return next
			}
		}
	}
	k.left, k.planned = 0, planned
	k.asked, k.inFlight = wish, true
	l.announce(l.Latest())
	go l.change(l.cpu.Procs, wish, k.byRuntime)
	return next
}

// back is a wish among others: to give a knob back is the largest.
func back(wish int) int64 {
	if wish == 0 {
		return plan.NoMemLimit
	}
	return int64(wish)
}

// procsChanged notes that change is done.
func (l *Loop) procsChanged(did apply.Did) {
	k := &l.procs
	k.inFlight = false
	l.machine.cpu(&l.cpu)
	if did == apply.Set {
		k.own = k.asked
	}
	if did != apply.Lost {
		k.seen = l.cpu.Procs
	}
	k.did = did
	s := l.procsSetting()
	if k.asked != 0 {
		s.Value, s.Leave = int64(k.asked), false
	}
	if did == apply.Set {
		k.force = s
	}
	l.did(GOMAXPROCS, "GOMAXPROCS", &s, did)
	l.publish()
}

// procsSetting is the plan's setting, or the escape's.
func (l *Loop) procsSetting() plan.Setting {
	s, k := l.plan.GOMAXPROCS, &l.procs
	if k.escaped {
		s.Value, s.Leave, s.Code, s.Number = int64(k.asked), false, k.code, float64(k.base)
	}
	return s
}

// memory is GOMEMLIMIT as the loop knows it.
type memory struct {
	patience
	own      int64 // what snug wrote; 0 = nothing
	seen     int64 // what it was at the last decision
	state    adapt.MemoryState
	decision adapt.MemoryDecision
	did      apply.Did
	told     int64        // the last value that was decided
	force    plan.Setting // what was set last, and why

	logged     int64
	loggedCode string
}

func (k *memory) begin(c *Config) {
	k.did, k.own = c.Result.GOMEMLIMIT, c.Result.OwnMemLimit
	k.decision = unknownMemory
}

func (k *memory) pending() bool { return k.since != 0 }

func (k *memory) foreign(n int64) bool { return n != k.seen }

// followMemory makes GOMEMLIMIT what the limit and measured memory ask for. It
// returns when to look again, in seconds.
func (l *Loop) followMemory(at float64) (next float64) {
	k, s := &l.mem, &l.plan.GOMEMLIMIT
	next = never
	if k.decision = unknownMemory; l.used >= 0 {
		k.decision.NonGo = max(0, l.used-l.heap.Mapped)
	}
	if !l.mine(GOMEMLIMIT, s) {
		return next
	}
	if l.cfg.Adapt&Memory != 0 && l.in.Policy.Memory.Bytes == 0 && !l.in.Policy.Memory.Off {
		x := adapt.MemorySample{At: at, Limit: l.memoryLimit(), Used: l.charged(), Heap: l.heap}
		k.state, k.decision = adapt.StepMemory(k.state, x, l.cfg.Memory)
		d := &k.decision
		next = d.Next
		if d.Limit > 0 {
			value := d.Limit
			if l.in.Policy.Memory.Percent > 0 && !s.Leave {
				value = min(value, s.Value) // asked for outright
			}
			l.setMemory(value)
			if d.Collect && k.did == apply.Set && !l.cfg.Dry {
				l.collect()
			}
			return next
		}
	}
	switch {
	case s.Leave && s.Code == plan.NoLimit:
		if k.own == 0 || k.did == apply.Would && k.told == plan.NoMemLimit {
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
		k.seen, k.told = plan.NoMemLimit, plan.NoMemLimit
		l.did(GOMEMLIMIT, "GOMEMLIMIT", s, did)
	case s.Leave && s.Code == plan.LiveHeap:
		// Too late for the limit there is; what held before is worse still.
		if need := l.heap.Need(10); k.own != 0 && need < k.own {
			l.setMemory(need)
		}
	case s.Leave, s.Value > l.heap.Limit && l.limits.Memory.Soft.State == limits.Unknown:
		k.forget() // what is unknown changes nothing, and a hint does not widen it
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

// memoryLimit is the limit that the plan went by, in bytes; 0 = none or unknown.
func (l *Loop) memoryLimit() int64 {
	n, _ := l.limits.Memory.Soft.Get()
	if l.limits.Memory.Soft.State == limits.Unknown {
		return 0 // whatever is hinted
	}
	if h := l.in.Hints.MemoryLimit; h > 0 && (n == 0 || h < n) {
		n = h
	}
	if w := int64(l.in.Policy.Workers); w > 1 {
		n /= w
	}
	return n
}

// charged is what memoryLimit bounds and cannot be reclaimed, in bytes; -1 =
// unknown, as where a hint decides: the group that can be seen may hold others,
// whom the hint does not speak of.
func (l *Loop) charged() int64 {
	if h, n := l.in.Hints.MemoryLimit, l.limits.Memory.Soft; h > 0 && !(n.State == limits.Known && n.N <= h) {
		return -1
	}
	return l.used
}

func (l *Loop) setMemory(value int64) {
	k := &l.mem
	if value == l.heap.Limit {
		k.told = value
		return
	}
	did := l.knobs.Memory(value)
	if did == apply.Would && k.told == value {
		return
	}
	k.told = value
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

// memorySetting is the plan's setting with what was measured.
func (l *Loop) memorySetting(value int64) plan.Setting {
	s, d := l.plan.GOMEMLIMIT, &l.mem.decision
	if d.Limit > 0 && (s.Leave || s.Value != value) {
		if !s.Leave {
			s.Ignored = append(s.Ignored[:len(s.Ignored):len(s.Ignored)], s.Reason)
		}
		s.Code, s.Number, s.Source = d.Code, float64(d.NonGo), l.limits.Memory.SoftSource
	}
	s.Value, s.Leave = value, false
	return s
}

// collector is GOGC as the loop knows it.
type collector struct {
	own      int64 // what snug wrote; 0 = nothing
	state    adapt.GCState
	decision adapt.GCDecision
	did      apply.Did
	told     int64 // the last value that was decided
}

// goDefault is the GOGC of a program where nobody has set it.
const goDefault = 100

// found notes the GOGC that holds without snug. One that the program has set is
// the program's.
func (l *Loop) foundGC() {
	if l.cfg.GC.Base == 0 {
		l.cfg.GC.Base = l.heap.GOGC
	}
	if l.heap.GOGC != goDefault && l.in.Env.GOGC == "" && !l.in.Policy.Override {
		l.lost |= GOGC
	}
}

// followGC makes GOGC what the GC mode asks for.
func (l *Loop) followGC(at float64) {
	k := &l.gc
	policy := l.cfg.GC
	touch := l.cfg.Adapt&GC != 0 && l.lost&GOGC == 0 && policy.Base > 0 && l.in.Env.GOGC == ""
	if k.own != 0 && l.heap.GOGC != k.own || k.own == 0 && l.heap.GOGC != policy.Base {
		l.lost |= GOGC
		touch = false
		k.own = 0
	}
	if !touch {
		policy.Mode = adapt.Keep
	}
	x := adapt.GCSample{At: at, Limit: l.memoryLimit(), Used: l.charged(), Heap: l.heap, CPU: l.cpu}
	k.state, k.decision = adapt.StepGC(k.state, x, policy)
	if n := k.decision.GOGC; touch && n > 0 && n != l.heap.GOGC {
		did := l.knobs.GOGC(l.heap.GOGC, n)
		if did == apply.Would && k.told == n {
			return
		}
		k.did, k.told = did, n
		if did == apply.Set {
			k.own = n
		}
		s := l.gcSetting()
		l.did(GOGC, "GOGC", &s, did)
	}
}

func (l *Loop) gcSetting() plan.Setting {
	s, k := l.plan.GOGC, &l.gc
	if k.own != 0 || k.did == apply.Would {
		s.Value, s.Leave = k.told, false
		if s.Code = k.decision.Code; k.decision.Share > 0 { // false for NaN
			s.Number = k.decision.Share
		}
	}
	return s
}
