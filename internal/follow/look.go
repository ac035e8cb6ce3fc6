// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/cgroup"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// look polls once and returns the time until the next poll; 0 if there is nothing left to
// follow.
func (l *Loop) look() time.Duration {
	switch {
	case l.over():
		return 0
	case l.part != nil:
		return l.part.look()
	case l.cfg.Limits == nil && l.fake == nil:
		return 0
	}
	// By now the import of package adapt, if any, has taken over.
	if !l.warned && time.Since(l.start) >= DefaultPoll {
		l.warned = true
		Unadapted()
	}
	every := l.step()
	l.notify()
	return every
}

// relook is the number of polls after which a live heap that was too large is looked at again.
const relook = 4

// step polls a machine that is open.
func (l *Loop) step() time.Duration {
	at := time.Since(l.start).Seconds()
	// Read files without the lock, so that Stats and Latest need not wait for them.
	changed := l.limits()
	procs, memory := l.knobs()
	lock(&l.mu)
	defer unlock(&l.mu)
	if l.steady() {
		changed = true
	}
	moved := l.moved(at, procs)
	if s := &l.plan.GOMEMLIMIT; s.Leave && s.Code == plan.LiveHeap && l.stats.Polls%relook == 0 {
		// The heap may have become smaller since.
		n := l.live()
		changed = changed || n != l.cfg.Input.Now.Live
		l.cfg.Input.Now.Live = n
	}
	if l.next.Memory.Soft != l.cfg.Input.Limits.Memory.Soft {
		l.cfg.Input.Now.Live = 0 // it was measured at the start; measuring it again would stop the world
	}
	if changed || moved || memory != l.memory.seen {
		l.decide(procs, memory, moved)
	}
	l.followMemory(at, memory)
	l.followProcs(at, procs)
	every := l.pace(at)
	l.stats.Polls++
	l.stats.Every = every
	return every
}

// steady keeps the last memory limit for one poll if the machine's has become smaller: lxcfs may
// show another container's memory for a moment (canonical/lxd#11088). It reports whether it did so
// at the last poll: the limit may have been new then.
//
//go:noinline
func (l *Loop) steady() (doubted bool) {
	m, old := &l.next.Memory, &l.cfg.Input.Limits.Memory
	doubted = l.doubt
	l.doubt = !doubted && m.SoftSource.File == cgroup.HostMemory &&
		(old.Soft.State == limits.None || m.Soft.N < old.Soft.N)
	if l.doubt {
		*m = *old
	}
	return doubted
}

// moved reports whether something else has changed GOMAXPROCS. If the runtime chose the value
// and the limits do not explain the new one, it waits: the runtime may have used limits that
// held in between, because it has to wait for a collection, and then corrects itself. A program
// does not.
func (l *Loop) moved(at float64, n int64) bool {
	k := &l.procs
	switch {
	case l.inFlight || n == k.seen:
		k.oddSince = 0
		return false
	case k.own != 0 || !k.byRuntime || n == int64(plan.RuntimeProcs(&l.next.CPU, l.cfg.Input.Go)):
	case k.oddSince == 0:
		k.oddSince = at
		return false
	case at-k.oddSince < law.Settle:
		return false
	}
	k.oddSince = 0
	return true
}

// decide plans again for the current limits. moved means that something else has changed
// GOMAXPROCS.
func (l *Loop) decide(procs, memory int64, moved bool) {
	now := &l.cfg.Input.Now
	l.cfg.Input.Limits = l.next
	now.Procs, now.OwnProcs = int(procs), int(l.procs.own)
	now.ByRuntime = l.procs.byRuntime && l.procs.own == 0 && !moved
	if l.inFlight {
		now.OwnProcs = now.Procs // the requested value may be in force already
	}
	now.MemLimit, now.OwnMemLimit = memory, l.memory.own
	before := l.plan
	if l.plan = plan.Choose(l.cfg.Input); l.cfg.Review != nil {
		l.cfg.Review(l.cfg.Input, l.plan)
	}
	if moved && !l.procs.lost {
		l.procs.did, l.dirty = apply.Already, true // the runtime has followed by itself
		s := l.plan.GOMAXPROCS
		s.Value, s.Leave = procs, false
		l.procs.force = &s
	}
	l.procs.giveUp(&l.plan.GOMAXPROCS, procs)
	l.memory.giveUp(&l.plan.GOMEMLIMIT, memory)
	if l.memory.seen = memory; l.procs.oddSince == 0 {
		l.procs.seen = procs
	}
	l.dirty = l.dirty || !alike(&before.GOMAXPROCS, &l.plan.GOMAXPROCS) ||
		!alike(&before.GOMEMLIMIT, &l.plan.GOMEMLIMIT) || len(before.Warnings) != len(l.plan.Warnings)
}

// alike reports whether two settings have the same effect.
//
//go:noinline
func alike(a, b *plan.Setting) bool {
	return a.Value == b.Value && a.Leave == b.Leave && (!a.Leave || a.Code == b.Code)
}

// giveUp leaves a knob that the program has set to the program, for good.
//
//go:noinline
func (k *knob) giveUp(s *plan.Setting, now int64) {
	if s.Leave && s.Code == plan.ProgramSet {
		k.lost = true
	}
	if k.lost && (!s.Leave || s.Code != plan.EnvSet) {
		s.Value, s.Leave = 0, true
		s.Reason = plan.Reason{Code: plan.ProgramSet, Number: float64(now)}
	}
}

func (l *Loop) followMemory(at float64, now int64) {
	k, s := &l.memory, &l.plan.GOMEMLIMIT
	value := k.follow(at, s, now, l.next.Memory.Soft.State == limits.Unknown, l.cfg.Dry, 0)
	if value == now {
		return
	}
	var did apply.Did
	if value == restore {
		did = l.set.ReleaseMemory()
	} else {
		did = l.set.Memory(value)
	}
	if did == apply.Set {
		k.seen = value
	}
	l.record("GOMEMLIMIT", k, s, did, value)
}

func (l *Loop) followProcs(at float64, now int64) {
	k, s := &l.procs, &l.plan.GOMAXPROCS
	if l.inFlight || k.oddSince != 0 {
		return
	}
	value := k.follow(at, s, now, l.next.CPU.Quota.State == limits.Unknown, l.cfg.Dry, int64(l.plan.Runtime))
	if value == now {
		return
	}
	k.requested, l.asked, l.inFlight, l.dirty = value, s, true, true
	go l.change(int(now))
}

// change sets GOMAXPROCS as requested, or restores it, in a goroutine of its own: this can take as long as a
// garbage collection, and memory must not wait. A value whose setting panics is not set again.
func (l *Loop) change(now int) {
	did, k := apply.Lost, &l.procs
	l.Contain(func() {
		if k.requested == restore {
			did = l.set.ReleaseProcs()
			return
		}
		did = l.set.Procs(now, int(k.requested), k.byRuntime)
	})
	l.changed <- did
}

// procsChanged records the result of change.
func (l *Loop) procsChanged(did apply.Did) {
	lock(&l.mu)
	l.inFlight = false
	k := &l.procs
	if did == apply.Set || did == apply.Already {
		k.seen, _ = l.knobs()
	}
	s := *l.asked
	if k.requested != restore {
		s.Value, s.Leave = k.requested, false
	}
	l.record("GOMAXPROCS", k, &s, did, k.requested)
	unlock(&l.mu)
}

// record records the result of a change to a knob.
func (l *Loop) record(name string, k *knob, s *plan.Setting, did apply.Did, value int64) {
	switch did {
	case apply.Lost:
		if l.over() {
			return // another loop has taken over
		}
	case apply.Set:
		l.stats.Changes++
	}
	k.done(did, value, s)
	if k.lost {
		procs, memory := l.knobs()
		l.procs.giveUp(&l.plan.GOMAXPROCS, procs)
		l.memory.giveUp(&l.plan.GOMEMLIMIT, memory)
	}
	if l.dirty = true; name != "" {
		fit.LogSetting(name, s, did)
	}
}

// notify calls OnPlan if what is in force has changed, or is requested: growth that is soon revoked
// changes nothing.
func (l *Loop) notify() {
	lock(&l.mu)
	dirty, news := l.dirty, l.news
	l.dirty, l.news = false, false
	unlock(&l.mu)
	if dirty && l.cfg.OnPlan != nil && !l.over() && (l.differs() || news) {
		l.cfg.OnPlan()
	}
}

// differs reports whether a knob or its result has changed since the last call, or there are more
// warnings than in any. A plan that comes and goes with the limits may have one each time.
func (l *Loop) differs() bool {
	u, told := l.Latest(), &l.told
	n := len(u.Plan.Warnings)
	same := n <= l.warnings && u.Requested == told.Requested &&
		u.GOMAXPROCS == told.GOMAXPROCS && alike(&u.Plan.GOMAXPROCS, &told.Plan.GOMAXPROCS) &&
		u.GOMEMLIMIT == told.GOMEMLIMIT && alike(&u.Plan.GOMEMLIMIT, &told.Plan.GOMEMLIMIT)
	l.told, l.warnings = u, max(n, l.warnings)
	return !same
}

// The CPU use below which a process is idle, in cores, and the factor by which its polls slow
// down.
const (
	idleCores     = 0.01
	maxIdleFactor = 4
)

// idle detects a process that does no work. It asks for the CPU time at every eighth poll, and at
// each once there was none.
type idle struct {
	_      [0]func() // not comparable: no code for it
	at     float64
	used   time.Duration
	polls  int // since used was asked for
	looks  int // consecutive polls of an idle process
	sealed bool
}

const asked = 8

// pending reports whether a knob waits for a change.
//
//go:noinline
func (l *Loop) pending() bool {
	k := &l.procs
	return l.inFlight || k.growth.Since != 0 || k.left != 0 || k.oddSince != 0 || l.memory.growth.Since != 0
}

// pace returns the time until the next poll, longer while the process is idle.
func (l *Loop) pace(at float64) time.Duration {
	i := &l.idle
	if i.polls++; !i.sealed && (i.looks > 0 || i.polls >= asked) {
		used := l.used()
		switch {
		case used == sealed:
			i.sealed, i.looks = true, 0
			fit.Sealed()
		case (used - i.used).Seconds() > idleCores*(at-i.at):
			i.looks = 0
		default:
			i.looks += i.polls
		}
		i.at, i.used, i.polls = at, used, 0
	}
	if l.pending() {
		return min(l.cfg.Poll, law.Settle*time.Second)
	}
	return l.cfg.Poll * time.Duration(min(1+i.looks/8, maxIdleFactor))
}
