// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package follow

import (
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
)

func TestShrinkAtOnceGrowthLater(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
		l, done := watching(w, Config{})
		w.expect(t, 8, less(512*mib))
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.quota, w.memory = 4, 256*mib })
		time.Sleep(1100 * time.Millisecond)
		w.expect(t, 4, less(256*mib))
		w.do(func() { w.quota, w.memory = 12, 1024*mib })
		time.Sleep(law.Settle * time.Second)
		w.expect(t, 4, less(256*mib))
		time.Sleep(1100 * time.Millisecond)
		w.expect(t, 12, less(1024*mib))
		if s := l.Stats(); s.Changes != 4 || s.Ended {
			t.Errorf("stats %+v, want 4 changes", s)
		}
		close(done)
		synctest.Wait()
		w.expect(t, 12, less(1024*mib))
		if s := l.Stats(); !s.Ended || w.undone != 0 || w.closed != (measure != nil) {
			t.Errorf("ended %v, undone %d, closed %v; want the last values left in force", s.Ended, w.undone, w.closed)
		}
	})
}

func TestADipIsNoGrowth(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 4, memory: 256 * mib, busy: true}
		_, done := watching(w, Config{})
		for range 20 { // up for 2 s, down for 2 s
			w.do(func() { w.quota, w.memory = 8, 512*mib })
			time.Sleep(2 * time.Second)
			w.do(func() { w.quota, w.memory = 4, 256*mib })
			time.Sleep(2 * time.Second)
		}
		w.expect(t, 4, less(256*mib))
		if len(w.log) != 0 {
			t.Errorf("set %v, want nothing", w.log)
		}
		close(done)
	})
}

func TestMemoryDoesNotWaitForGOMAXPROCS(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
		var plans []Update
		_, done := watching(w, Config{OnPlan: func() { plans = append(plans, w.l.Latest()) }})
		time.Sleep(1500 * time.Millisecond)
		w.do(func() { w.slow, w.quota = 5*time.Second, 4 })
		time.Sleep(time.Second)
		w.do(func() { w.memory = 256 * mib })
		time.Sleep(1100 * time.Millisecond)
		w.expect(t, 8, less(256*mib))
		time.Sleep(5 * time.Second)
		w.expect(t, 4, less(256*mib))
		synctest.Wait()
		requested := slices.IndexFunc(plans, func(u Update) bool { return u.Requested && u.Plan.GOMAXPROCS.Value == 4 })
		last := plans[len(plans)-1]
		if requested != 0 || last.Requested || last.GOMAXPROCS != apply.Set {
			t.Errorf("%d plans, requested at %d, the last %+v; want a request first and the change last", len(plans), requested, last)
		}
		close(done)
	})
}

func TestTheRuntimeFollowsItself(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, follows: true, busy: true}
		_, done := watching(w, Config{Input: &plan.Input{Go: plan.Go{Minor: 26}}})
		for _, q := range []float64{4, 6, 3.5, 12} {
			w.do(func() { w.quota = q })
			time.Sleep(10 * time.Second)
			w.expect(t, int(math.Ceil(q)), plan.NoMemLimit)
		}
		if len(w.log) != 0 {
			t.Errorf("set %v, want it left to the runtime", w.log)
		}
		// A runtime that has stopped following, as an idle process's may.
		w.do(func() { w.follows, w.quota = false, 2.5 })
		time.Sleep(2100 * time.Millisecond)
		w.expect(t, 3, plan.NoMemLimit)
		close(done)
	})
}

func TestForeignChangeIsGivenUpForGood(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
		l, done := watching(w, Config{})
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.procs, w.heap.Limit = 5, 100*mib })
		time.Sleep(2 * time.Second)
		w.do(func() { w.quota, w.memory = 4, 256*mib })
		time.Sleep(20 * time.Second)
		w.expect(t, 5, 100*mib)
		if lost := l.Stats().GivenUp; len(lost) != 2 {
			t.Errorf("given up %v, want both", lost)
		}
		if u := l.Latest(); u.Plan.GOMAXPROCS.Reason != (plan.Reason{Code: plan.ProgramSet, Number: 5}) || u.Plan.GOMEMLIMIT.Reason != (plan.Reason{Code: plan.ProgramSet, Number: 100 * mib}) {
			t.Errorf("plan %+v, want both the program's, 5 and 100 MiB", u.Plan)
		}
		w.do(func() { w.procs, w.heap.Limit = 8, less(512*mib) }) // back to what snug set
		time.Sleep(20 * time.Second)
		w.expect(t, 8, less(512*mib))
		close(done)
	})
}

func TestUnknownChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
		_, done := watching(w, Config{})
		time.Sleep(5 * time.Second)
		n := len(w.log)
		procs, memory := w.procs, w.heap.Limit
		w.do(func() { w.unknown = true })
		time.Sleep(time.Minute)
		w.expect(t, procs, memory)
		if len(w.log) != n {
			t.Errorf("set %v", w.log[n:])
		}
		close(done)
	}, nil, &Measure{}, &Measure{Adapt: Memory | CPU})
}

func TestLimitsThatGoAwayGiveBack(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
		_, done := watching(w, Config{})
		time.Sleep(1500 * time.Millisecond)
		w.do(func() { w.quota, w.memory = 0, 0 })
		time.Sleep(6 * time.Second)
		w.expect(t, 16, plan.NoMemLimit)
		if w.released != [2]bool{true, true} {
			t.Errorf("released %v, want both", w.released)
		}
		w.do(func() { w.quota, w.memory = 2, 256*mib })
		time.Sleep(4 * time.Second)
		w.expect(t, 2, less(256*mib))
		w.do(func() { w.memory = 32 * mib }) // too small to set GOMEMLIMIT at the start either
		time.Sleep(10 * time.Second)
		w.expect(t, 2, plan.NoMemLimit)
		close(done)
	})
}

func TestDryRunTouchesNothingAndTells(t *testing.T) {
	each(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true, charged: 60 * mib}
		var plans []Update
		dry := &dryKnobs{}
		cfg := Config{Dry: true}
		l, _ := watchingAs(w, &cfg)
		l.Undo()
		cfg.OnPlan = func() { plans = append(plans, w.l.Latest()) }
		cfg.Result.GOMAXPROCS, cfg.Result.GOMEMLIMIT = apply.Would, apply.Would
		l = w.loop(&cfg, dry)
		done := make(chan struct{})
		go l.run(done)
		time.Sleep(2 * time.Second)
		if len(plans) > 0 {
			t.Errorf("OnPlan repeats the plan of the start: %+v", plans)
		}
		w.do(func() { w.quota, w.memory = 4, 256*mib })
		for range 60 {
			w.do(func() { w.collected(30 * mib) })
			time.Sleep(time.Second)
		}
		w.expect(t, 16, plan.NoMemLimit)
		if n := len(plans); n == 0 || n > 8 {
			t.Fatalf("%d plans, want a few", n)
		}
		for _, u := range plans {
			if u.Requested {
				t.Errorf("something is requested: %+v", u)
			}
		}
		u := plans[len(plans)-1]
		if s, did := &u.Plan.GOMAXPROCS, u.GOMAXPROCS; s.Value != 4 || did != apply.Would {
			t.Errorf("GOMAXPROCS %+v, %v, want that it would be 4", s, did)
		}
		if s, did := &u.Plan.GOMEMLIMIT, u.GOMEMLIMIT; s.Value != less(256*mib) || did != apply.Would {
			t.Errorf("GOMEMLIMIT %+v, %v, want that it would be %d", s, did, less(256*mib))
		}
		close(done)
		synctest.Wait()
		if dry.procs != 1 || dry.memory != 1 || dry.gogc != 0 {
			t.Errorf("attempts %+v, want one at each of two", dry)
		}
	}, nil, &Measure{}, &Measure{Adapt: CPU})
}

// TestDryGC: a GOGC that would be set is reported, and each value only once.
func TestDryGC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{measure: &Measure{Adapt: GC}, memory: 512 * mib, busy: true, charged: 60 * mib}
		dry, calls := &dryKnobs{}, 0
		cfg := Config{Dry: true, OnPlan: func() { calls++ }}
		l, _ := watchingAs(w, &cfg)
		l.Undo()
		l = w.loop(&cfg, dry)
		done := make(chan struct{})
		go l.run(done)
		w.do(func() { w.heap.Limit = 400 * mib }) // the program's
		for range 60 {
			w.do(func() { w.collected(30 * mib) })
			time.Sleep(time.Second)
		}
		close(done)
		synctest.Wait()
		if u := l.Latest(); u.GOGC != apply.Would || u.Plan.GOGC.Value <= 100 || w.heap.GOGC != 100 || calls > 8 {
			t.Errorf("GOGC %+v, %v; %d in force; OnPlan was called %d times", u.Plan.GOGC, u.GOGC, w.heap.GOGC, calls)
		}
	})
}

// dryKnobs counts what would be set.
type dryKnobs struct{ procs, memory, gogc int }

func (*dryKnobs) Holds() bool                      { return true }
func (d *dryKnobs) Procs(int, int, bool) apply.Did { d.procs++; return apply.Would }
func (d *dryKnobs) Memory(int64) apply.Did         { d.memory++; return apply.Would }
func (d *dryKnobs) GOGC(int64, int64) apply.Did    { d.gogc++; return apply.Would }
func (d *dryKnobs) ReleaseMemory() apply.Did       { d.memory++; return apply.Would }
func (d *dryKnobs) ReleaseProcs() apply.Did        { d.procs++; return apply.Would }
func (*dryKnobs) Undo()                            {}
