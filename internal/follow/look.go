// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/fit"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// look looks once and returns how long to wait until the next time; 0 when there is
// nothing to follow any more.
func (l *Loop) look() time.Duration {
	if l.over() {
		return 0
	}
	if l.machine.limits == nil {
		if l.machine = l.open(); l.machine.limits == nil {
			return 0
		}
	}
	// Where the import of package adapt is in the program it has taken over by then.
	if !l.told && time.Since(l.start) >= DefaultPoll {
		l.told = true
		Unadapted()
	}
	every := l.step()
	l.tell()
	return every
}

// step is a look at a machine that is open.
func (l *Loop) step() time.Duration {
	at := time.Since(l.start).Seconds()
	// Outside of the lock: who asks what is so does not wait for files.
	changed := l.machine.limits(&l.next)
	procs, memory := l.machine.knobs()
	l.mu.Lock()
	defer l.mu.Unlock()
	moved := l.moved(at, procs)
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

// moved reports whether GOMAXPROCS has changed without the loop. Where it was the
// runtime's and has become what the limits do not explain, it waits: the runtime
// may have gone by limits that were in between, since it has to wait for a
// collection, and puts that right by itself. A program does not.
func (l *Loop) moved(at float64, n int64) bool {
	k := &l.procs
	switch {
	case l.inFlight || n == k.seen:
		k.odd = 0
		return false
	case k.own != 0 || !k.byRuntime || n == int64(plan.RuntimeProcs(&l.next.CPU, l.in.Go)):
	case k.odd == 0:
		k.odd = at
		return false
	case at-k.odd < settle:
		return false
	}
	k.odd = 0
	return true
}

// decide decides anew what the limits ask for. moved says that GOMAXPROCS has
// changed without the loop.
func (l *Loop) decide(procs, memory int64, moved bool) {
	now := &l.in.Now
	if l.next.Memory.Soft != l.in.Limits.Memory.Soft {
		now.Live = 0 // that was at the start, and to ask for it would stop the world
	}
	l.in.Limits = l.next
	now.Procs, now.OwnProcs = int(procs), int(l.procs.own)
	now.ByRuntime = l.procs.byRuntime && l.procs.own == 0 && !moved
	if l.inFlight {
		now.OwnProcs = now.Procs // perhaps what was asked for already
	}
	now.MemLimit, now.OwnMemLimit = memory, l.memory.own
	before := l.plan
	l.plan = plan.Decide(l.in)
	if moved && !l.procs.lost {
		l.procs.did, l.news = apply.Already, true // the runtime has followed by itself
	}
	l.procs.give(&l.plan.GOMAXPROCS, procs)
	l.memory.give(&l.plan.GOMEMLIMIT, memory)
	if l.memory.seen = memory; l.procs.odd == 0 {
		l.procs.seen = procs
	}
	l.news = l.news || !alike(&before.GOMAXPROCS, &l.plan.GOMAXPROCS) || !alike(&before.GOMEMLIMIT, &l.plan.GOMEMLIMIT) ||
		len(before.Warnings) != len(l.plan.Warnings)
}

// alike reports whether two settings say the same to somebody who sizes by them.
func alike(a, b *plan.Setting) bool {
	return a.Value == b.Value && a.Leave == b.Leave && (!a.Leave || a.Code == b.Code)
}

// give gives a knob up that is the program's, and keeps to it.
func (k *knob) give(s *plan.Setting, now int64) {
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
	value := k.follow(at, s, now, l.next.Memory.Soft.State == limits.Unknown, l.dry, 0)
	if value == 0 {
		return
	}
	var did apply.Did
	if value == giveBack {
		did = l.set.ReleaseMemory()
	} else {
		did = l.set.Memory(value)
	}
	if did == apply.Set {
		k.seen = value
	}
	l.noted("GOMEMLIMIT", k, s, did, value)
}

func (l *Loop) followProcs(at float64, now int64) {
	k := &l.procs
	if l.inFlight || k.odd != 0 {
		return
	}
	value := k.follow(at, &l.plan.GOMAXPROCS, now, l.next.CPU.Quota.State == limits.Unknown, l.dry, int64(l.plan.Runtime))
	if value == 0 {
		return
	}
	k.asked, l.inFlight, l.news = value, true, true
	go l.change(int(now), value, k.byRuntime)
}

// change sets GOMAXPROCS, or gives it back, in a goroutine of its own: that can take as
// long as a garbage collection, and memory does not wait. What panics in it is not set again.
func (l *Loop) change(now int, value int64, byRuntime bool) {
	did := apply.Lost
	l.Contain(func() {
		if value == giveBack {
			did = l.set.ReleaseProcs()
			return
		}
		did = l.set.Procs(now, int(value), byRuntime)
	})
	l.changed <- did
}

// procsChanged notes that change is done.
func (l *Loop) procsChanged(did apply.Did) {
	defer l.tell()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight = false
	k := &l.procs
	if did == apply.Set || did == apply.Already {
		k.seen, _ = l.machine.knobs()
	}
	s := l.plan.GOMAXPROCS
	if k.asked != giveBack {
		s.Value, s.Leave = k.asked, false
	}
	l.noted("GOMAXPROCS", k, &s, did, k.asked)
}

// noted notes what was done about a knob.
func (l *Loop) noted(name string, k *knob, s *plan.Setting, did apply.Did, value int64) {
	switch did {
	case apply.Lost:
		if l.over() {
			return // nobody's business any more
		}
	case apply.Set:
		l.stats.Changes++
	}
	k.done(did, value, s)
	if k.lost {
		procs, memory := l.machine.knobs()
		l.procs.give(&l.plan.GOMAXPROCS, procs)
		l.memory.give(&l.plan.GOMEMLIMIT, memory)
	}
	fit.LogSetting(name, s, did)
	l.news = true
}

// tell calls back when there is something new.
func (l *Loop) tell() {
	l.mu.Lock()
	news := l.news
	l.news = false
	l.mu.Unlock()
	if news && l.onPlan != nil && !l.over() {
		l.onPlan()
	}
}

// How much a process does that counts as nothing, in cores, and how many times less often
// it is looked at then.
const (
	idleCores = 0.01
	laziest   = 4
)

// idle tells a process that works from one that does not.
type idle struct {
	at    float64
	used  time.Duration
	looks int // in a row at a process that did nothing
}

// pace is how long to wait until the next look: longer where nothing happens.
func (l *Loop) pace(at float64) time.Duration {
	i, used := &l.idle, l.machine.used()
	if (used - i.used).Seconds() > idleCores*(at-i.at) {
		i.looks = 0
	} else {
		i.looks++
	}
	i.at, i.used = at, used
	if l.inFlight || l.procs.pending() || l.memory.pending() {
		return min(l.poll, settle*time.Second)
	}
	return l.poll * time.Duration(min(1+i.looks/8, laziest))
}
