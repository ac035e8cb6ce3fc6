// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package watch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
)

func TestTakesOverWhatAnEarlierWatchSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 3, memory: 512 * mib, busy: true}
		first, done := watching(w, Config{})
		close(done)
		synctest.Wait()
		cfg := first.cfg // the same plan: every knob already has its value
		cfg.Input.Now = plan.Now{Procs: 3, NumCPU: 16, MemLimit: less(512 * mib), OwnProcs: 3, OwnMemLimit: less(512 * mib)}
		cfg.Plan = plan.Decide(&cfg.Input)
		cfg.Result = apply.Result{GOMAXPROCS: apply.Already, GOMEMLIMIT: apply.Already, OwnProcs: 3, OwnMemLimit: less(512 * mib)}
		l := prepare(cfg, w, machineOf{w})
		done = make(chan struct{})
		go l.run(done)
		time.Sleep(1500 * time.Millisecond)
		w.do(func() { w.quota, w.memory = 5, 256*mib })
		time.Sleep(6 * time.Second)
		w.expect(t, 5, less(256*mib))
		w.do(func() { w.quota, w.memory = 0, 0 })
		time.Sleep(6 * time.Second)
		w.expect(t, 16, plan.NoMemLimit)
		if s := l.Stats(); s.GivenUp != 0 {
			t.Errorf("given up %v, want nothing", s.GivenUp.Names())
		}
		close(done)
	})
}

// GOMAXPROCS is in force before the goroutine that changes it reports so.
func TestAChangeInFlightIsSnugs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, busy: true}
		l, done := watching(w, Config{})
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.late, w.quota = 3*time.Second, 5 })
		time.Sleep(time.Second)
		w.do(func() { w.quota = 3 })
		time.Sleep(8 * time.Second)
		w.expect(t, 3, plan.NoMemLimit)
		if s := l.Stats(); s.GivenUp != 0 {
			t.Errorf("given up %v, want nothing", s.GivenUp.Names())
		}
		close(done)
	})
}

// The runtime may have to wait for a collection, and then sets a value it read earlier.
func TestTheRuntimeIsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, follows: true, busy: true}
		l, done := watching(w, Config{Input: plan.Input{Go: plan.Go{Minor: 26}}})
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.follows, w.quota, w.procs = false, 4, 6 }) // 8, 6, 4 within a second
		time.Sleep(time.Second)
		w.do(func() { w.follows = true })
		time.Sleep(5 * time.Second)
		w.expect(t, 4, plan.NoMemLimit)
		w.do(func() { w.quota = 12 })
		time.Sleep(5 * time.Second)
		w.expect(t, 12, plan.NoMemLimit)
		if s := l.Stats(); s.GivenUp != 0 || len(w.log) != 0 {
			t.Errorf("given up %v, set %v; want nothing", s.GivenUp.Names(), w.log)
		}
		// The program's own value stays.
		w.do(func() { w.follows, w.procs = false, 7 })
		time.Sleep(8 * time.Second)
		w.do(func() { w.quota = 3 })
		time.Sleep(8 * time.Second)
		w.expect(t, 7, plan.NoMemLimit)
		if s := l.Stats(); s.GivenUp != GOMAXPROCS {
			t.Errorf("given up %v, want GOMAXPROCS", s.GivenUp.Names())
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
		l, done := watching(w, Config{})
		heap(300 * mib)
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.memory = 256 * mib })
		time.Sleep(2 * time.Second)
		if got := w.GOMEMLIMIT(); got < 300*mib || got > 400*mib {
			t.Errorf("GOMEMLIMIT = %d MiB beside 300 MiB of live heap", got/mib)
		}
		u := l.Latest()
		if s := u.Plan.GOMEMLIMIT; s.Value != w.GOMEMLIMIT() || s.Leave || s.Code != plan.LiveHeap || u.GOMEMLIMIT != apply.Set {
			t.Errorf("the plan is %+v, %v", s, u.GOMEMLIMIT)
		}
		heap(100 * mib)
		time.Sleep(5 * time.Second)
		w.expect(t, 16, less(256*mib))
		close(done)
	})
}

func TestThePlanIsWhatIsInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		var plans []Update
		l, done := watching(w, Config{OnPlan: func(u Update) { plans = append(plans, u) }})
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.quota, w.memory = 12, 256*mib }) // one limit grows, one shrinks
		time.Sleep(1500 * time.Millisecond)
		synctest.Wait()
		u := plans[len(plans)-1]
		if u.Plan.GOMAXPROCS.Value != 8 || u.Plan.GOMEMLIMIT.Value != less(256*mib) || u.GOMEMLIMIT != apply.Set {
			t.Errorf("GOMAXPROCS=%d, GOMEMLIMIT=%d (%v) are reported while growth to 8 waits", u.Plan.GOMAXPROCS.Value, u.Plan.GOMEMLIMIT.Value, u.GOMEMLIMIT)
		}
		w.do(func() { w.quota = 7.5 }) // the same 8, for another reason
		time.Sleep(1500 * time.Millisecond)
		if u := l.Latest(); u.Plan.GOMAXPROCS.Number != 7.5 || u.Limits.CPU.Quota.N != 7.5 {
			t.Errorf("the plan's quota is %v, the limits' %v; want 7.5", u.Plan.GOMAXPROCS.Number, u.Limits.CPU.Quota.N)
		}
		close(done)
	})
}

func TestMeasuredAndAskedForAreTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{memory: 512 * mib, busy: true}
		l, done := watching(w, Config{Adapt: Memory, Input: plan.Input{Policy: plan.Policy{Memory: plan.Memory{Percent: 50}}}})
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
		l, done := watching(w, Config{Adapt: GC})
		for range 60 {
			w.do(func() { w.collected(60 * mib) })
			time.Sleep(time.Second)
		}
		w.do(func() { w.quota = 4 })
		time.Sleep(5 * time.Second)
		gogc := w.get(func() int64 { return w.heap.GOGC })
		if u := l.Latest(); gogc <= 100 || u.Plan.GOGC.Value != gogc || u.GOGC != apply.Set {
			t.Errorf("GOGC = %d, plan %+v (%v)", gogc, u.Plan.GOGC, u.GOGC)
		}
		close(done)
	})
}

func TestACallbackThatUndoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		var l *Loop
		calls := 0
		l, _ = watching(w, Config{OnPlan: func(Update) {
			calls++
			l.Undo()
			w.do(func() { w.taken = true })
		}})
		time.Sleep(1500 * time.Millisecond)
		w.do(func() { w.quota, w.memory = 4, 256*mib })
		time.Sleep(5 * time.Second)
		if s := l.Stats(); calls != 1 || !s.Ended || s.GivenUp != 0 {
			t.Errorf("%d plans, ended %v, given up %v; want one plan and silence", calls, s.Ended, s.GivenUp.Names())
		}
	})
}

func TestALongPollIsLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, busy: true}
		l, done := watching(w, Config{Poll: time.Minute})
		time.Sleep(61 * time.Minute)
		if n := l.Stats().Polls; n < 60 || n > 62 {
			t.Errorf("%d looks in an hour, want one a minute", n)
		}
		w.do(func() { w.quota = 12 })
		time.Sleep(70 * time.Second)
		w.expect(t, 12, less(512*mib))
		close(done)
	})
}

func TestUnknownGrantsNoGrowth(t *testing.T) {
	for name, parts := range map[string]Parts{"limits": 0, "memory": Memory} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{quota: 4, memory: 256 * mib, busy: true, charged: 50 * mib}
				hints := plan.Hints{CPULimit: 14, MemoryLimit: 2048 * mib}
				_, done := watching(w, Config{Adapt: parts, Input: plan.Input{Hints: hints}})
				w.do(func() { w.collected(20 * mib) })
				time.Sleep(10500 * time.Millisecond)
				before := w.GOMEMLIMIT()
				w.do(func() { w.quota, w.memory = 12, 1024*mib })
				time.Sleep(time.Second) // noticed once
				w.do(func() { w.unknown = true })
				time.Sleep(20 * time.Second)
				w.expect(t, 4, before)
				w.do(func() { w.unknown = false })
				time.Sleep(2500 * time.Millisecond)
				if w.GOMAXPROCS() != 4 {
					t.Errorf("GOMAXPROCS = %d at once", w.GOMAXPROCS())
				}
				time.Sleep(4 * time.Second)
				if n, m := w.GOMAXPROCS(), w.GOMEMLIMIT(); n != 12 || m < 2*before {
					t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d MiB in the end, want what the limits say", n, m/mib)
				}
				close(done)
			})
		})
	}
}

func TestUnknownFromTheStartKeepsWhatAnEarlierWatchSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 3, memory: 512 * mib, busy: true}
		first, done := watching(w, Config{})
		close(done)
		synctest.Wait()
		cfg := first.cfg
		w.unknown = true
		cfg.Input.Limits = w.read()
		cfg.Input.Now = plan.Now{Procs: 3, NumCPU: 16, MemLimit: less(512 * mib), OwnProcs: 3, OwnMemLimit: less(512 * mib)}
		cfg.Plan = plan.Decide(&cfg.Input)
		cfg.Result = apply.Result{OwnProcs: 3, OwnMemLimit: less(512 * mib)}
		l := prepare(cfg, w, machineOf{w})
		done = make(chan struct{})
		go l.run(done)
		time.Sleep(10 * time.Second)
		w.expect(t, 3, less(512*mib))
		w.do(func() { w.unknown, w.quota, w.memory = false, 2, 256*mib })
		time.Sleep(3 * time.Second)
		w.expect(t, 2, less(256*mib))
		close(done)
	})
}

// TestWhatTheProgramSetsMeanwhile: a GOMAXPROCS that the program sets after the poll is its own.
func TestWhatTheProgramSetsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{busy: true, slow: 400 * time.Millisecond}
		l, done := watching(w, Config{})
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.quota = 4 })
		time.Sleep(700 * time.Millisecond)
		w.do(func() { w.procs = 7 })
		time.Sleep(10 * time.Second)
		w.expect(t, 7, plan.NoMemLimit)
		if given := l.Stats().GivenUp; given != GOMAXPROCS {
			t.Errorf("given up %v, want GOMAXPROCS", given)
		}
		close(done)
	})
}

// TestOnPlanWhileLimitsFlap: OnPlan is called for what changes, not for each limit that is soon revoked.
func TestOnPlanWhileLimitsFlap(t *testing.T) {
	for name, c := range map[string]struct{ a, b *world }{
		"both":                 {&world{quota: 4, memory: 256 * mib}, &world{quota: 8, memory: 512 * mib}},
		"a limit that is gone": {&world{quota: 4, memory: 256 * mib}, &world{}},
		"too small a limit":    {&world{quota: 4, memory: 256 * mib}, &world{quota: 4, memory: 32 * mib}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{quota: c.a.quota, memory: c.a.memory, busy: true}
				calls, last := 0, Update{}
				l, done := watching(w, Config{OnPlan: func(u Update) { calls++; last = u }})
				for i := range 1500 {
					to := c.a
					if i%2 == 0 {
						to = c.b
					}
					w.do(func() { w.quota, w.memory = to.quota, to.memory })
					time.Sleep(time.Second)
				}
				synctest.Wait() // the loop looks at the same moment
				// A new GOMAXPROCS calls it twice.
				if n := 2*int(l.Stats().Changes) + 1; calls > n {
					t.Errorf("%d calls for %d changes", calls, l.Stats().Changes)
				}
				time.Sleep(2 * time.Minute)
				synctest.Wait()
				if u := l.Latest(); !alike(&u.Plan.GOMAXPROCS, &last.Plan.GOMAXPROCS) || !alike(&u.Plan.GOMEMLIMIT, &last.Plan.GOMEMLIMIT) {
					t.Errorf("the last call told %+v, in force is %+v", last.Plan, u.Plan)
				}
				close(done)
			})
		})
	}
}
