// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package follow

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

func TestMemoryFollowsWhatIsNotGos(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true, charged: 100 * mib}
		l, done := adapting(w, Memory, Config{})
		w.do(func() { w.collected(60 * mib) })
		time.Sleep(20 * time.Second)
		before := w.memlimit()
		if before <= 0 || before > less(512*mib) {
			t.Fatalf("GOMEMLIMIT %d with almost nothing beside Go, want at most nine tenths of the limit", before)
		}
		w.do(func() { w.charged = 300 * mib })
		time.Sleep(2 * time.Second)
		after := w.memlimit()
		if after > 512*mib-200*mib {
			t.Errorf("GOMEMLIMIT %d two seconds after 200 MiB more were not Go's, want it lowered by them", after)
		}
		if s := l.Measured(); s.Memory.NonGo < 190*mib || s.Memory.NonGo > 210*mib {
			t.Errorf("stats say %d bytes are not Go's, want 200 MiB", s.Memory.NonGo)
		}
		if u := l.Latest(); u.Plan.GOMEMLIMIT.Value != after || u.Plan.GOMEMLIMIT.Code == plan.MemoryMax {
			t.Errorf("the plan says %d for %s, want %d for a measurement", u.Plan.GOMEMLIMIT.Value, u.Plan.GOMEMLIMIT.Code, after)
		}
		w.do(func() { w.charged = 100 * mib })
		time.Sleep(10 * time.Minute)
		if late := w.memlimit(); late < before*9/10 {
			t.Errorf("GOMEMLIMIT %d ten minutes after they went, want about %d again", late, before)
		}
		close(done)
	})
}

func TestTheAlarmIsRaisedWithoutAdapting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		var levels []law.Level
		w.measure = &Measure{OnPressure: func(s *Measured) { levels = append(levels, s.Level) }}
		_, done := watching(w, Config{})
		w.do(func() { w.collected(60 * mib) })
		time.Sleep(5 * time.Second)
		tight := func(percent int64) {
			w.do(func() {
				w.collected(400 * mib)
				w.heap.Goal = w.heap.Live + w.heap.Live*percent/100
			})
		}
		for range 5 {
			tight(15)
			time.Sleep(time.Second)
		}
		for range 5 {
			tight(5)
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if len(levels) != 2 || levels[0] != law.Tight || levels[1] != law.Spiral {
			t.Errorf("levels %v, want tight, then spiral", levels)
		}
		for range 60 { // load was shed
			w.do(func() {
				w.collected(200 * mib)
				w.heap.Goal = 400 * mib
			})
			time.Sleep(time.Second)
		}
		synctest.Wait()
		if n := len(levels); n < 3 || levels[n-1] != law.Calm {
			t.Errorf("levels %v, want calm in the end", levels)
		}
		close(done)
	})
}

func TestNoLimitsNothingChanges(t *testing.T) {
	for _, busy := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{busy: busy, charged: 80 * mib}
			_, done := adapting(w, Memory|GC|CPU, Config{})
			w.do(func() { w.collected(30 * mib) })
			for range 60 {
				time.Sleep(time.Minute)
				w.do(func() { w.collected(30 * mib) })
			}
			w.expect(t, 16, plan.NoMemLimit)
			synctest.Wait()
			if len(w.log) != 0 {
				t.Errorf("busy %v: set %v, want everything as Go had it", busy, w.log)
			}
			close(done)
		})
	}
}

// TestGCIsPlanned: the plan says whether GOGC may rise, before it does.
func TestGCIsPlanned(t *testing.T) {
	for memory, want := range map[int64]string{0: law.GCNoLimit, 512 * mib: law.GCBase} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{quota: 8, memory: memory, busy: true, charged: 60 * mib}
			w.heap.GOGC = 100
			l, done := adapting(w, GC, Config{})
			w.do(func() { w.collected(30 * mib) })
			time.Sleep(15 * time.Second)
			if s := l.Latest().Plan.GOGC; s.Code != want || !s.Leave {
				t.Errorf("limit %d: %+v, want it left for %s", memory, s, want)
			}
			close(done)
		})
	}
}

// TestMeasuredNothing: before the first poll all figures are unknown.
func TestMeasuredNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{memory: 512 * mib}
		l, done := adapting(w, Memory, Config{})
		s := l.Measured()
		unknown := law.Heap{Mapped: -1, Limit: -1, GOGC: -1}
		if s.Limit.State != limits.Unknown || s.Used != -1 || s.Heap != unknown || s.Memory.NonGo != -1 ||
			s.Memory.Peak != -1 || !math.IsNaN(s.GC.Share) || s.Procs != 0 || s.Every != DefaultPoll {
			t.Errorf("%+v", s)
		}
		time.Sleep(1500 * time.Millisecond)
		s = l.Measured()
		if s.Limit != limits.Of[int64](512*mib) || s.Used != -1 || s.Memory.NonGo != -1 || s.Procs != 16 || s.Cores != 16 {
			t.Errorf("after a poll %+v", s)
		}
		w.do(func() { w.memory = 0 })
		time.Sleep(time.Second)
		if s := l.Measured(); s.Limit != limits.NoLimit[int64]() {
			t.Errorf("the limit is %v, want none", s.Limit)
		}
		close(done)
	})
}

// TestManyThreads: how long threads wait is read each ten seconds, but takes at most a 2000th of a CPU.
func TestManyThreads(t *testing.T) {
	for threads, want := range map[int]int{10: 61, 1040: 61, 1050: 31, 9900: 7, 100_000: 1} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{busy: true, threads: threads}
			_, done := adapting(w, 0, Config{})
			time.Sleep(10*time.Minute + 1500*time.Millisecond)
			close(done)
			synctest.Wait()
			if w.waits != want {
				t.Errorf("%d threads: read %d times in 10 minutes, want %d", threads, w.waits, want)
			}
		})
	}
}

func TestAPanicEndsAdapting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 1024 * mib, busy: true, charged: 300 * mib}
		fail := false
		l, _ := adapting(w, Memory|GC, Config{OnPlan: func() {
			if fail {
				panic("theirs")
			}
		}})
		for range 30 {
			w.do(func() { w.collected(60 * mib) })
			time.Sleep(time.Second)
		}
		if w.memlimit() == less(1024*mib) || w.heap.GOGC == 100 {
			t.Fatalf("not adapted: GOMEMLIMIT %d, GOGC %d", w.memlimit(), w.heap.GOGC)
		}
		fail = true
		w.do(func() { w.charged = 500 * mib })
		time.Sleep(5 * time.Second)
		if s := l.Stats(); !s.Ended || s.Failure != "theirs" || w.heap.GOGC != 100 {
			t.Errorf("ended %v, failure %q, GOGC %d", s.Ended, s.Failure, w.heap.GOGC)
		}
		w.expect(t, 8, less(1024*mib))
	})
}

// TestALimitThatComesBack: GOMEMLIMIT starts over, and not at its value for the old limit.
func TestALimitThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{memory: 512 * mib, busy: true, charged: 100 * mib}
		_, done := adapting(w, Memory, Config{})
		w.do(func() { w.collected(60 * mib) })
		time.Sleep(20 * time.Second)
		w.do(func() { w.memory = 0 })
		time.Sleep(20*time.Second + 500*time.Millisecond) // between two looks, so that only one follows
		w.expect(t, 16, plan.NoMemLimit)
		w.do(func() { w.memory, w.charged = 4096*mib, 1600*mib; w.collected(1000 * mib) })
		time.Sleep(600 * time.Millisecond)
		w.expect(t, 16, less(4096*mib))
		close(done)
	})
}

// TestAHintThatBeginsToDecide: from then on the group's memory may belong to others.
func TestAHintThatBeginsToDecide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{memory: 800 * mib, busy: true, charged: 400 * mib}
		l, done := adapting(w, Memory, Config{Input: &plan.Input{Hints: plan.Hints{MemoryLimit: 1024 * mib}}})
		w.do(func() { w.collected(60 * mib) })
		time.Sleep(20 * time.Second)
		if n := w.memlimit(); n > 500*mib || len(l.Latest().Plan.Warnings) != 0 {
			t.Errorf("GOMEMLIMIT %d, warnings %v; want room for 300 MiB, and none", n, l.Latest().Plan.Warnings)
		}
		w.do(func() { w.memory = 2048 * mib })
		time.Sleep(20 * time.Second)
		w.expect(t, 16, less(1024*mib))
		if all := l.Latest().Plan.Warnings; len(all) != 1 || all[0].Code != plan.NotMeasured {
			t.Errorf("warnings %v, want that nothing is measured", all)
		}
		close(done)
	})
}

// A live heap above the limit moves GOMEMLIMIT, but never below what the limit alone gives.
func TestALiveHeapThatFitsAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{memory: 512 * mib, busy: true}
		heap := func(live int64) {
			w.do(func() {
				w.heap.Live, w.heap.Objects, w.heap.Mapped, w.heap.Goal = live, live, live+8*mib, 2*live
				w.heap.Cycles++
			})
		}
		l, done := adapting(w, 0, Config{})
		heap(300 * mib)
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.memory = 256 * mib })
		time.Sleep(2 * time.Second)
		if got := w.memlimit(); got < 300*mib || got > 400*mib {
			t.Errorf("GOMEMLIMIT = %d MiB beside 300 MiB of live heap", got/mib)
		}
		u := l.Latest()
		if s := u.Plan.GOMEMLIMIT; s.Value != w.memlimit() || s.Leave || s.Code != plan.LiveHeap || u.GOMEMLIMIT != apply.Set {
			t.Errorf("the plan is %+v, %v", s, u.GOMEMLIMIT)
		}
		heap(100 * mib)
		time.Sleep(5 * time.Second)
		w.expect(t, 16, less(256*mib))
		close(done)
	})
}

func TestMeasuredAndAskedForAreTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{memory: 512 * mib, busy: true}
		l, done := adapting(w, Memory, Config{Input: &plan.Input{Policy: plan.Policy{Memory: plan.Memory{Percent: 50}}}})
		w.do(func() {
			w.charged = 150 * mib
			w.heap = law.Heap{Mapped: 100 * mib, Live: 40 * mib, Objects: 60 * mib, Goal: 80 * mib, Cycles: 5, GOGC: 100, Limit: w.heap.Limit}
		})
		time.Sleep(3 * time.Second)
		w.do(func() { w.memory = 520 * mib }) // the plan is made again
		time.Sleep(8 * time.Second)
		if u := l.Latest(); u.Plan.GOMEMLIMIT.Value != 260*mib || u.Plan.GOMEMLIMIT.Code != plan.MemoryMax {
			t.Errorf("GOMEMLIMIT %+v, want the requested value and its reason", u.Plan.GOMEMLIMIT)
		}
		close(done)
	})
}

func TestGOGCInForceIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 2048 * mib, busy: true, charged: 200 * mib}
		l, done := adapting(w, GC, Config{})
		for range 60 {
			w.do(func() { w.collected(60 * mib) })
			time.Sleep(time.Second)
		}
		w.do(func() { w.quota = 4 })
		time.Sleep(5 * time.Second)
		var gogc int64
		w.do(func() { gogc = w.heap.GOGC })
		if u := l.Latest(); gogc <= 100 || u.Plan.GOGC.Value != gogc || u.GOGC != apply.Set {
			t.Errorf("GOGC = %d, plan %+v (%v)", gogc, u.Plan.GOGC, u.GOGC)
		}
		close(done)
	})
}
