// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math"
	"slices"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

const (
	// window is the time over which waiting is measured for a verdict, in seconds.
	window = 10
	// sample is the shortest time between two samples of CPU time, in seconds.
	sample = 0.45
	// idle is the CPU use, in cores, below which a process is polled less often, by a factor of
	// up to maxIdleFactor.
	idle          = 0.01
	maxIdleFactor = 4
)

// look is what the loop's goroutine keeps between polls.
type look struct {
	machine    machine // nil if limits cannot be read
	start      time.Time
	in         plan.Input
	plan       plan.Plan
	limits     limits.Limits
	next       limits.Limits // being read
	heap       law.Heap
	cpu        law.CPU // the latest sample
	from       law.CPU // the sample that began the window
	waiting    law.Waiting
	kernelNext float64 // when KernelWait may be read again
	shut       bool    // the files for kernelWait may not be opened, or no more
	doubt      bool    // a smaller machine was seen at the last poll
	used       int64   // bytes of the group that cannot be reclaimed; -1 = unknown

	procs procs
	mem   memory
	gc    collector
	lost  Knobs
	level law.Level

	warnings int // at most, of all plans
	pressure law.PressureState
	quiet    int // consecutive polls of an idle process
	counted  int64
	changes  int64
	every    time.Duration
}

func (k *look) begin(l *Loop) {
	k.start = time.Now()
	k.in, k.plan, k.limits = l.cfg.Input, *l.cfg.Plan, l.cfg.Input.Limits
	k.used, k.warnings, k.shut = -1, len(k.plan.Warnings), limits.Uncounted()
	k.every = l.cfg.Poll
	k.gc.decision.Share = math.NaN()
	k.procs.begin(&l.cfg)
	k.mem.begin(&l.cfg)
}

// poll polls once and returns the time until the next poll; 0 if there is nothing left to
// follow.
func (l *Loop) poll() time.Duration {
	if l.over() || l.machine == nil {
		return 0
	}
	first := l.counted == 0
	at := time.Since(l.start).Seconds()
	before := l.waiting.Verdict
	changed := l.read(at, first)
	if first {
		l.procs.found(l.cpu.Procs)
		l.foundGC()
	}
	moved := l.moved(at)
	if changed || first || moved || l.mem.foreign(l.heap.Limit) || l.heapMoved() {
		l.decide(moved)
	}
	next := float64(l.cfg.Poll) / float64(time.Second)
	l.followGC(at)
	next = min(next, l.followMemory(at), l.followProcs(at))
	l.press(at)
	l.verdict(before)
	l.every = l.pace(next)
	l.counted++
	l.publish()
	return l.every
}

// read reads everything and reports whether the limits have changed. It reads Go's memory before
// and after the group's, and uses the smaller value, because both move.
func (l *Loop) read(at float64, first bool) (changed bool) {
	before := l.heap
	if l.machine.heap(&l.heap); l.heap.Mapped < 0 {
		l.heap = before // this runtime does not report it
	}
	now := &l.next
	l.machine.limits(now)
	if n := l.machine.mapped(); n >= 0 {
		l.heap.Mapped = min(l.heap.Mapped, n)
	}
	// lxcfs may show another container's memory for a moment (canonical/lxd#11088).
	m, old := &now.Memory, &l.limits.Memory
	l.doubt = !l.doubt && m.SoftSource.File == cgroup.HostMemory && (old.Soft.State == limits.None || m.Soft.N < old.Soft.N)
	if l.doubt {
		m.Hard, m.Soft, m.Source, m.SoftSource = old.Hard, old.Soft, old.Source, old.SoftSource
	}
	changed = !same(now, &l.limits)
	l.limits = *now
	l.used = -1
	if n, ok := now.Memory.Unreclaimable.Get(); ok {
		l.used = n
	}
	if first || at-l.cpu.At >= sample {
		l.sampleCPU(at, first)
	}
	return changed
}

func (l *Loop) sampleCPU(at float64, first bool) {
	before := l.cpu
	l.machine.cpu(&l.cpu)
	c, t := &l.limits.CPU, &l.limits.CPU.Throttle
	l.cpu.At = at
	l.cpu.Cores, l.cpu.Quota = c.Cores.N, c.Quota.N // 0 if unknown
	l.cpu.CPUs = c.Affinity.N
	l.cpu.Periods, l.cpu.Throttled = count(t.Periods), count(t.Throttled)
	l.cpu.KernelWait = math.NaN()
	ends := at-l.from.At >= window
	if first || ends {
		l.kernelWait(at)
	}
	if ends && !first {
		l.waiting = law.Measure(&l.from, &l.cpu)
	}
	if first || ends {
		l.from = l.cpu
	}
	switch {
	case first:
	case l.cpu.Used-before.Used > idle*(at-before.At): // not if unknown
		l.quiet = 0
	default:
		l.quiet++
	}
}

// kernelShare is the fraction of a CPU to spend on reading how long threads wait, and kernelCost
// the estimated CPU seconds per thread. Measured wall time would not do: while a process is
// throttled it grows, and the next reading would be minutes away.
const (
	kernelShare = 1.0 / 2000
	kernelCost  = 5e-6
)

// kernelWait reads how long threads have waited, unless reading so many would cost too much.
func (l *Loop) kernelWait(at float64) {
	if at < l.kernelNext || l.shut {
		return
	}
	if l.shut = l.machine.sealed(); l.shut {
		fit.Sealed()
		return
	}
	seconds, threads := l.machine.kernelWait()
	l.cpu.KernelWait = seconds
	l.kernelNext = at + kernelCost*float64(threads)/kernelShare - sample
}

func count(v limits.Value[int64]) int64 {
	if n, ok := v.Get(); ok {
		return n
	}
	return -1
}

// same reports whether two readings lead to the same decision.
func same(a, b *limits.Limits) bool {
	ac, bc, am, bm := &a.CPU, &b.CPU, &a.Memory, &b.Memory
	if ac.Quota != bc.Quota || ac.Affinity != bc.Affinity || ac.Source != bc.Source || len(ac.Levels) != len(bc.Levels) ||
		am.Hard != bm.Hard || am.Soft != bm.Soft || am.Source != bm.Source || am.SoftSource != bm.SoftSource ||
		len(a.Warnings) != len(b.Warnings) {
		return false
	}
	for i := range ac.Levels { // the runtime uses the first
		if ac.Levels[i].Quota != bc.Levels[i].Quota {
			return false
		}
	}
	return true
}

// moved reports whether something else has changed GOMAXPROCS. If the runtime chose the value
// and the limits do not explain the new one, it waits: the runtime may have used limits that
// held in between, because it has to wait for a collection, and then corrects itself. A program
// does not.
func (l *Loop) moved(at float64) bool {
	k, n := &l.procs, l.cpu.Procs
	switch {
	case k.inFlight || n == k.seen:
		k.oddSince = 0
		return false
	case k.own != 0 || !k.byRuntime || n == plan.RuntimeProcs(&l.limits.CPU, l.in.Go):
	case k.oddSince == 0:
		k.oddSince = at
		return false
	case at-k.oddSince < settle:
		return false
	}
	k.oddSince = 0
	return true
}

// heapMoved reports whether a live heap that did not fit has changed.
func (l *Loop) heapMoved() bool {
	s := &l.plan.GOMEMLIMIT
	return s.Leave && s.Code == plan.LiveHeap && l.heap.Live != l.in.Now.Live
}

// decide plans again for the current limits. moved means that something else has changed
// GOMAXPROCS.
func (l *Loop) decide(moved bool) {
	k := &l.procs
	l.in.Limits = l.limits
	l.in.Now = plan.Now{
		Procs: l.cpu.Procs, NumCPU: l.cfg.Input.Now.NumCPU, ByRuntime: k.byRuntime && k.own == 0 && !moved, OwnProcs: k.own,
		MemLimit: l.heap.Limit, OwnMemLimit: l.mem.own, Live: l.heap.Live,
	}
	if k.inFlight {
		l.in.Now.OwnProcs = l.cpu.Procs // the requested value may be in force already
	}
	l.in.Warnings = slices.DeleteFunc(slices.Clone(l.in.Warnings), func(w limits.Warning) bool { return w.Code == plan.NotMeasured })
	l.cfg.Warn(&l.in.Warnings, &l.in)
	l.plan = *plan.Decide(&l.in)
	notify := moved && l.lost&GOMAXPROCS == 0
	l.giveUp(GOMAXPROCS, &l.plan.GOMAXPROCS)
	l.giveUp(GOMEMLIMIT, &l.plan.GOMEMLIMIT)
	if l.mem.seen = l.heap.Limit; k.oddSince == 0 {
		k.seen = l.cpu.Procs
	}
	before := l.Latest()
	u := before
	if moved {
		u.GOMAXPROCS = apply.Already // the runtime has followed by itself
	}
	l.refresh(&u)
	// A plan that comes and goes with the limits may have a warning each time.
	n := len(u.Plan.Warnings)
	notify = notify || n > l.warnings
	if l.warnings = max(n, l.warnings); notify || !u.like(&before) {
		l.announce(u)
	} else {
		l.store(u)
	}
}

// giveUp leaves a knob that the program has set to the program, for good.
func (l *Loop) giveUp(k Knobs, s *plan.Setting) {
	if s.Leave && s.Code == plan.ProgramSet {
		l.lost |= k
	}
	if l.lost&k != 0 && (!s.Leave || s.Code != plan.EnvSet) {
		s.Value, s.Leave = 0, true
		s.Reason = plan.Reason{Code: plan.ProgramSet, Number: float64(l.cpu.Procs)}
		if k == GOMEMLIMIT {
			s.Number = float64(l.heap.Limit)
		}
	}
}

// managed reports whether snug may change a knob.
func (l *Loop) managed(k Knobs, s *plan.Setting) bool {
	return l.lost&k == 0 && !(s.Leave && (s.Code == plan.EnvSet || s.Code == plan.ProgramSet || s.Code == plan.NotSupported))
}

// did records the result of a change to a knob, and announces it.
func (l *Loop) did(k Knobs, name string, s *plan.Setting, did apply.Did) {
	switch did {
	case apply.Lost:
		if l.over() {
			return // another loop has taken over
		}
		l.lost |= k
		l.giveUp(GOMAXPROCS, &l.plan.GOMAXPROCS)
		l.giveUp(GOMEMLIMIT, &l.plan.GOMEMLIMIT)
	case apply.Set:
		l.changes++
	}
	if l.worthLogging(k, s) {
		fit.LogSetting(name, s, did)
	}
	l.announceKnob(k, did)
}

// press updates the pressure level.
func (l *Loop) press(at float64) {
	var level law.Level
	l.pressure, level = law.StepPressure(l.pressure, at, &l.heap, l.gc.decision.Share)
	if level != l.level {
		l.level = level
		fit.LogPressure(level.String(), l.heap.EffectiveGOGC())
		if l.cfg.OnPressure != nil {
			l.publish()
			s := l.Stats()
			l.cfg.OnPressure(&s)
		}
	}
}

// pace returns the time until the next poll: what the laws need, and longer while the process is
// idle.
func (l *Loop) pace(next float64) time.Duration {
	pending := l.procs.pending() || l.mem.pending()
	if pending {
		next = min(next, settle)
	}
	if l.level > law.Calm { // a growing heap soon reaches the next level
		next = min(next, 0.25)
	}
	d := time.Duration(next * float64(time.Second))
	if d >= l.cfg.Poll && l.level == law.Calm && !pending {
		d = l.cfg.Poll * time.Duration(min(1+l.quiet/8, maxIdleFactor))
	}
	return max(d, time.Millisecond)
}
