// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package follow

import (
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/plan"
)

func TestTakesOverWhatAnEarlierWatchSet(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 3, memory: 512 * mib, busy: true}
		cfg := Config{}
		_, done := watchingAs(w, &cfg)
		close(done)
		synctest.Wait()
		// The same plan: every knob already has its value.
		cfg.Input = &plan.Input{Limits: w.read()}
		cfg.Input.Now = plan.Now{Procs: 3, NumCPU: 16, MemLimit: less(512 * mib), OwnProcs: 3, OwnMemLimit: less(512 * mib)}
		cfg.Plan = plan.Decide(cfg.Input)
		cfg.Result = apply.Result{GOMAXPROCS: apply.Already, GOMEMLIMIT: apply.Already, OwnProcs: 3, OwnMemLimit: less(512 * mib)}
		l := w.loop(&cfg, w)
		done = make(chan struct{})
		go l.run(done)
		time.Sleep(1500 * time.Millisecond)
		w.do(func() { w.quota, w.memory = 5, 256*mib })
		time.Sleep(6 * time.Second)
		w.expect(t, 5, less(256*mib))
		w.do(func() { w.quota, w.memory = 0, 0 })
		time.Sleep(6 * time.Second)
		w.expect(t, 16, plan.NoMemLimit)
		if lost := l.Stats().GivenUp; lost != nil {
			t.Errorf("given up %v, want nothing", lost)
		}
		close(done)
	})
}

// GOMAXPROCS is in force before the goroutine that changes it reports so.
func TestAChangeInFlightIsSnugs(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, busy: true}
		l, done := watching(w, Config{})
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.late, w.quota = 3*time.Second, 5 })
		time.Sleep(time.Second)
		w.do(func() { w.quota = 3 })
		time.Sleep(8 * time.Second)
		w.expect(t, 3, plan.NoMemLimit)
		if lost := l.Stats().GivenUp; lost != nil {
			t.Errorf("given up %v, want nothing", lost)
		}
		close(done)
	})
}

// The runtime may have to wait for a collection, and then sets a value it read earlier.
func TestTheRuntimeIsLate(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, follows: true, busy: true}
		l, done := watching(w, Config{Input: &plan.Input{Go: plan.Go{Minor: 26}}})
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.follows, w.quota, w.procs = false, 4, 6 }) // 8, 6, 4 within a second
		time.Sleep(time.Second)
		w.do(func() { w.follows = true })
		time.Sleep(5 * time.Second)
		w.expect(t, 4, plan.NoMemLimit)
		w.do(func() { w.quota = 12 })
		time.Sleep(5 * time.Second)
		w.expect(t, 12, plan.NoMemLimit)
		if lost := l.Stats().GivenUp; lost != nil || len(w.log) != 0 {
			t.Errorf("given up %v, set %v; want nothing", lost, w.log)
		}
		// The program's own value stays.
		w.do(func() { w.follows, w.procs = false, 7 })
		time.Sleep(3 * time.Second)
		if lost := l.Stats().GivenUp; lost != nil {
			t.Errorf("given up %v at once", lost)
		}
		time.Sleep(5 * time.Second)
		w.do(func() { w.quota = 3 })
		time.Sleep(8 * time.Second)
		w.expect(t, 7, plan.NoMemLimit)
		if lost := l.Stats().GivenUp; !slices.Equal(lost, []string{"GOMAXPROCS"}) {
			t.Errorf("given up %v, want GOMAXPROCS", lost)
		}
		close(done)
	})
}

func TestThePlanIsWhatIsInForce(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
		var plans []Update
		l, done := watching(w, Config{OnPlan: func() { plans = append(plans, w.l.Latest()) }})
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

func TestACallbackThatUndoes(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
		calls := 0
		l, _ := watching(w, Config{OnPlan: func() {
			calls++
			w.l.Undo()
			w.do(func() { w.taken = true })
		}})
		time.Sleep(1500 * time.Millisecond)
		w.do(func() { w.quota, w.memory = 4, 256*mib })
		time.Sleep(5 * time.Second)
		if s, lost := l.Stats(), l.Stats().GivenUp; calls != 1 || !s.Ended || lost != nil {
			t.Errorf("%d plans, ended %v, given up %v; want one plan and silence", calls, s.Ended, lost)
		}
	})
}

func TestALongPollIsLong(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
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
	each(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 4, memory: 256 * mib, busy: true, charged: 50 * mib}
		hints := plan.Hints{CPULimit: 14, MemoryLimit: 2048 * mib}
		_, done := watching(w, Config{Input: &plan.Input{Hints: hints}})
		w.do(func() { w.collected(20 * mib) })
		time.Sleep(10500 * time.Millisecond)
		_, before := w.knobs()
		w.do(func() { w.quota, w.memory = 12, 1024*mib })
		time.Sleep(time.Second) // noticed once
		w.do(func() { w.unknown = true })
		time.Sleep(20 * time.Second)
		w.expect(t, 4, before)
		w.do(func() { w.unknown = false })
		time.Sleep(2500 * time.Millisecond)
		if n, m := w.knobs(); n != 4 || m != before && measure == nil {
			t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d at once", n, m)
		}
		time.Sleep(4 * time.Second)
		most := less(1024 * mib)
		if n, m := w.knobs(); n != 12 || m < 2*before || m > most || m != most && (measure == nil || measure.Adapt == 0) {
			t.Errorf("GOMAXPROCS = %d, GOMEMLIMIT = %d MiB in the end, want what the limits say", n, m/mib)
		}
		close(done)
	}, nil, &Measure{}, &Measure{Adapt: Memory})
}

func TestUnknownFromTheStartKeepsWhatAnEarlierWatchSet(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 3, memory: 512 * mib, busy: true}
		cfg := Config{}
		_, done := watchingAs(w, &cfg)
		close(done)
		synctest.Wait()
		w.unknown = true
		cfg.Input = &plan.Input{Limits: w.read()}
		cfg.Input.Now = plan.Now{Procs: 3, NumCPU: 16, MemLimit: less(512 * mib), OwnProcs: 3, OwnMemLimit: less(512 * mib)}
		cfg.Plan = plan.Decide(cfg.Input)
		cfg.Result = apply.Result{OwnProcs: 3, OwnMemLimit: less(512 * mib)}
		l := w.loop(&cfg, w)
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

func TestLoopEnds(t *testing.T) {
	for _, c := range []struct {
		name    string
		how     func(w *world, l *Loop, done chan struct{})
		failure string
		undone  int
	}{
		{"the context ends", func(w *world, l *Loop, done chan struct{}) { close(done) }, "", 0},
		{"undo", func(w *world, l *Loop, done chan struct{}) { l.Undo(); l.Undo() }, "", 2},
		{"a later fit takes over", func(w *world, l *Loop, done chan struct{}) { w.do(func() { w.taken = true }) }, "", 0},
		{"reading panics", func(w *world, l *Loop, done chan struct{}) { w.do(func() { w.broken = true }) }, "broken", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			both(t, func(t *testing.T, measure *Measure) {
				w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
				l, done := watching(w, Config{})
				time.Sleep(3500 * time.Millisecond)
				c.how(w, l, done)
				if s := l.Stats(); s.Ended != (c.undone > 0 || w.taken) {
					t.Errorf("ended %v at once", s.Ended)
				}
				time.Sleep(2 * time.Second)
				synctest.Wait()
				if s := l.Stats(); !s.Ended || s.Failure != c.failure || w.undone != c.undone || w.closed != (measure != nil) {
					t.Errorf("ended %v, failure %q, undone %d, closed %v; want true, %q, %d",
						s.Ended, s.Failure, w.undone, w.closed, c.failure, c.undone)
				}
			})
		})
	}
}

// TestSettingPanics: GOMAXPROCS is given up, and GOMEMLIMIT is still followed.
func TestSettingPanics(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
		l, done := watching(w, Config{})
		w.do(func() { w.quota, w.memory, w.unset = 4, 256*mib, true })
		time.Sleep(3 * time.Second)
		w.expect(t, 8, less(256*mib))
		if s := l.Stats(); s.Ended || s.Failure != "unset" || !slices.Equal(s.GivenUp, []string{"GOMAXPROCS"}) {
			t.Errorf("ended %v, failure %q, given up %q", s.Ended, s.Failure, s.GivenUp)
		}
		close(done)
	})
}

func TestACallbackThatPanics(t *testing.T) {
	for failure, callback := range map[string]func(){"theirs": func() { panic("theirs") }, "runtime.Goexit": runtime.Goexit} {
		both(t, func(t *testing.T, measure *Measure) {
			w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
			l, _ := watching(w, Config{OnPlan: callback})
			time.Sleep(1500 * time.Millisecond)
			w.do(func() { w.memory = 256 * mib })
			time.Sleep(3 * time.Second)
			if s := l.Stats(); !s.Ended || s.Failure != failure {
				t.Errorf("ended %v, failure %q; want %q", s.Ended, s.Failure, failure)
			}
			w.expect(t, 8, less(256*mib))
		})
	}
}

// TestAnErrorThatPanics: a callback may panic with an error whose Error method panics.
func TestAnErrorThatPanics(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
		l, done := watching(w, Config{})
		if l.Contain(func() { panic(brokenError{}) }) || l.Stats().Failure != "panic" {
			t.Errorf("failure %q", l.Stats().Failure)
		}
		close(done)
	})
}

type brokenError struct{}

func (brokenError) Error() string { panic("again") }

// TestALiveHeapThatDoesNotFit: the first poll does not set what the start left alone.
func TestALiveHeapThatDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, live: 480 * mib, busy: true}
		l, done := watching(w, Config{})
		time.Sleep(10 * time.Second)
		w.expect(t, 8, plan.NoMemLimit)
		if s := l.Latest().Plan.GOMEMLIMIT; !s.Leave || s.Code != plan.LiveHeap {
			t.Errorf("the plan is %+v", s)
		}
		close(done)
	})
}

func TestIdleIsLookedAtLess(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, memory: 512 * mib, busy: true}
		l, done := watching(w, Config{})
		time.Sleep(10 * time.Minute)
		busy, asked := l.Stats().Polls, w.asked
		if measure == nil && asked != int(busy)/8 {
			t.Errorf("asked %d times for the CPU time in %d polls", asked, busy)
		}
		w.do(func() { w.busy = false })
		time.Sleep(10 * time.Minute)
		idle := l.Stats().Polls - busy
		if busy < 595 || idle > busy/3 || idle < 100 {
			t.Errorf("%d looks in 10 minutes of work, %d in 10 idle minutes; want 600 and a quarter of it", busy, idle)
		}
		close(done)
	})
}

// TestALittleWork: a hundredth of a core and less is idle.
func TestALittleWork(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		for load, most := range map[float64]bool{0.02: true, 0.011: true, 0.009: false, 0.005: false} {
			w := &world{measure: measure, quota: 8, load: load}
			l, done := watching(w, Config{})
			time.Sleep(10 * time.Minute)
			if n := l.Stats().Polls; (n > 500) != most {
				t.Errorf("%v of a core: %d looks in 10 minutes", load, n)
			}
			close(done)
		}
	})
}

// TestWhatTheProgramSetsMeanwhile: a GOMAXPROCS that the program sets after the poll is its own.
func TestWhatTheProgramSetsMeanwhile(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, busy: true, slow: 400 * time.Millisecond}
		l, done := watching(w, Config{})
		time.Sleep(2500 * time.Millisecond)
		w.do(func() { w.quota = 4 })
		time.Sleep(700 * time.Millisecond)
		w.do(func() { w.procs = 7 })
		time.Sleep(10 * time.Second)
		w.expect(t, 7, plan.NoMemLimit)
		if given := strings.Join(l.Stats().GivenUp, " "); given != "GOMAXPROCS" {
			t.Errorf("given up %v, want GOMAXPROCS", given)
		}
		close(done)
	})
}

// TestALiveHeapOfLongAgo: the live heap at the start says nothing about a later limit.
func TestALiveHeapOfLongAgo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{memory: 1024 * mib, live: 600 * mib, busy: true}
		_, done := watching(w, Config{})
		time.Sleep(10 * time.Second)
		w.expect(t, 16, less(1024*mib))
		w.do(func() { w.memory = 600 * mib })
		time.Sleep(2 * time.Second)
		w.expect(t, 16, less(600*mib))
		close(done)
	})
}

// TestALiveHeapBecomesSmall: a GOMEMLIMIT that was left alone for a large heap is set once the heap
// is small.
func TestALiveHeapBecomesSmall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{memory: 256 * mib, live: 241 * mib, busy: true}
		_, done := watching(w, Config{})
		time.Sleep(20 * time.Second)
		w.expect(t, 16, plan.NoMemLimit)
		w.do(func() { w.live = 20 * mib })
		time.Sleep(relook*time.Second + time.Second)
		w.expect(t, 16, less(256*mib))
		close(done)
	})
}

// TestOneDipOfTheMachine: a smaller machine counts at the second look in a row.
func TestOneDipOfTheMachine(t *testing.T) {
	each(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, memory: 1024 * mib, host: true, busy: true, charged: 64 * mib}
		_, done := watching(w, Config{})
		time.Sleep(500 * time.Millisecond) // between two looks
		for range 3 {
			w.do(func() { w.memory = 256 * mib })
			time.Sleep(time.Second)
			w.do(func() { w.memory = 1024 * mib })
			time.Sleep(3 * time.Second)
		}
		if len(w.log) != 0 {
			t.Errorf("set %v, want nothing", w.log)
		}
		w.do(func() { w.memory = 256 * mib })
		time.Sleep(2500 * time.Millisecond)
		if _, n := w.knobs(); n > less(256*mib) || n != less(256*mib) && (measure == nil || measure.Adapt == 0) {
			t.Errorf("GOMEMLIMIT = %d, want at most %d", n, less(256*mib))
		}
		close(done)
	}, nil, &Measure{}, &Measure{Adapt: Memory})
}

// TestSealed: once nothing more may be asked, limits are followed, and the CPU time is not asked for.
func TestSealed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 8, memory: 512 * mib, sealed: true}
		_, done := watching(w, Config{})
		time.Sleep(time.Minute)
		w.do(func() { w.quota, w.memory = 4, 256*mib })
		time.Sleep(1100 * time.Millisecond)
		w.expect(t, 4, less(256*mib))
		if w.asked != 1 {
			t.Errorf("asked %d times for the CPU time, want 1", w.asked)
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
			both(t, func(t *testing.T, measure *Measure) {
				w := &world{measure: measure, quota: c.a.quota, memory: c.a.memory, busy: true}
				calls, last := 0, Update{}
				l, done := watching(w, Config{OnPlan: func() { calls++; last = w.l.Latest() }})
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

// TestOnPlanWhenTheRuntimeFollows: OnPlan is called once the runtime has followed by itself, and tells what is in
// force, not what will be.
func TestOnPlanWhenTheRuntimeFollows(t *testing.T) {
	both(t, func(t *testing.T, measure *Measure) {
		w := &world{measure: measure, quota: 8, follows: true, busy: true}
		var told []int64
		_, done := watching(w, Config{OnPlan: func() {
			u := w.l.Latest()
			told = append(told, u.Plan.GOMAXPROCS.Value)
			if now, _ := w.knobs(); !u.Requested && u.Plan.GOMAXPROCS.Value != now {
				t.Errorf("told %d, in force is %d", u.Plan.GOMAXPROCS.Value, now)
			}
		}})
		time.Sleep(900 * time.Millisecond)
		want := []int64{4, 8, 3, 6, 2, 7}
		for _, quota := range want {
			w.do(func() { w.follows, w.quota = false, float64(quota) })
			time.Sleep(300 * time.Millisecond) // a look is before the runtime
			w.do(func() { w.follows = true })
			time.Sleep(time.Minute - 300*time.Millisecond)
		}
		synctest.Wait()
		if !slices.Equal(told, want) || len(w.log) > 0 {
			t.Errorf("told %d, want %d; set %v", told, want, w.log)
		}
		close(done)
	})
}
