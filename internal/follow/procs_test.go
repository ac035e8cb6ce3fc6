// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package follow

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
)

// procsAlone is what is given up if GOMAXPROCS is.
var procsAlone = []string{"GOMAXPROCS"}

func TestHeldProcs(t *testing.T) {
	for _, c := range []struct {
		name   string
		adapt  Parts
		policy plan.Policy
		most   int // the highest GOMAXPROCS
	}{
		{"unasked", Memory | GC, plan.Policy{}, 2},
		{"asked", CPU, plan.Policy{}, 16},
		{"at most what was asked for", CPU, plan.Policy{MaxProcs: 4}, 4},
		{"no more than the plan", CPU, plan.Policy{MaxProcs: 2}, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{quota: 1.5, cpus: 16, held: &held{}}
				calls := 0
				in := &plan.Input{Policy: c.policy}
				l, done := adapting(w, c.adapt, Config{Input: in, OnPlan: func() { calls++ }})
				most, verdict, announced := 0, law.Unclear, false
				for range 120 {
					time.Sleep(time.Second)
					most = max(most, w.gomaxprocs())
					verdict = max(verdict, l.Measured().Waiting.Verdict)
					announced = announced || l.Latest().Plan.GOMAXPROCS.Code == law.ProcsRaised
				}
				if most != c.most || announced != (most > 2) {
					t.Errorf("GOMAXPROCS rose to %d, announced %v; want %d", most, announced, c.most)
				}
				if want := law.TooFewPs; c.most == 2 && verdict != want {
					t.Errorf("the verdict was %v at the worst, want %v", verdict, want)
				}
				if c.most == 2 {
					w.do(func() { w.held = nil })
					time.Sleep(30 * time.Second)
					synctest.Wait()
					if v, ok := l.Verdict(); calls != 2 || !ok || v >= law.TooFewPs {
						t.Errorf("OnPlan was called %d times, want 2; the verdict is %v in the end", calls, v)
					}
				}
				close(done)
			})
		})
	}
}

// raising returns a loop of a process whose GOMAXPROCS the law has raised.
func raising(t *testing.T, w *world, onPlan func()) (*Measuring, chan struct{}) {
	t.Helper()
	w.held = &held{}
	l, done := adapting(w, CPU, Config{OnPlan: onPlan})
	for range 60 {
		time.Sleep(time.Second)
		synctest.Wait()
		n, raised := w.gomaxprocs(), l.Measured().Raised
		if n == 16 && raised {
			return l, done
		}
		if n == 2 && raised {
			t.Error("a try waits as growth of the limits does")
		}
	}
	t.Fatalf("not raised: %d", w.gomaxprocs())
	return nil, nil
}

// TestRaisedAndGivenBack: a raised GOMAXPROCS needs a loop that keeps testing it.
func TestRaisedAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 1.5, cpus: 16}
		broken := false
		l, _ := raising(t, w, func() {
			var fails bool
			if w.do(func() { fails = broken }); fails {
				panic("theirs")
			}
		})
		w.do(func() { broken, w.quota = true, 3 })
		time.Sleep(time.Minute)
		if s := l.Stats(); !s.Ended || s.Failure != "theirs" || w.gomaxprocs() > 3 {
			t.Errorf("ended %v, failure %q, GOMAXPROCS %d", s.Ended, s.Failure, w.gomaxprocs())
		}
	})
}

// TestTried: a number of Ps is shown as tried, then as raised; one still being tried when the
// context ends is taken back.
func TestTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 1.5, cpus: 16, held: &held{}}
		var codes []string
		tried := make(chan struct{}, 1)
		l, done := adapting(w, CPU, Config{OnPlan: func() {
			u := w.l.Latest()
			s := &u.Plan.GOMAXPROCS
			if codes = append(codes, strconv.Itoa(int(s.Value))+" "+s.Code); s.Value == 8 && s.Code == law.ProcsTried && !u.Requested {
				tried <- struct{}{}
			}
		}})
		<-tried
		close(done)
		time.Sleep(time.Second)
		synctest.Wait()
		got := strings.Join(slices.Compact(codes), ", ")
		if s := l.Stats(); !s.Ended || w.gomaxprocs() != 2 || got != "4 procs-tried, 4 procs-raised, 8 procs-tried, 2 quota-ceil" {
			t.Errorf("ended %v, GOMAXPROCS %d, announced %s", s.Ended, w.gomaxprocs(), got)
		}
	})
}

// TestRaisedAndMore: growth of the limits is followed once it has held, even while the law has
// raised GOMAXPROCS.
func TestRaisedAndMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 1.5, cpus: 32}
		_, done := raising(t, w, nil)
		w.do(func() { w.quota = 32 })
		time.Sleep(2500 * time.Millisecond)
		if n := w.gomaxprocs(); n != 16 {
			t.Errorf("%d after 2.5 s, want the 16 there were", n)
		}
		time.Sleep(3 * time.Second)
		if n := w.gomaxprocs(); n != 32 {
			t.Errorf("%d after 5.5 s, want 32", n)
		}
		close(done)
	})
}

// TestRaisedAndLost: a value that the program sets while it is raised is the program's.
func TestRaisedAndLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 1.5, cpus: 16}
		l, done := raising(t, w, nil)
		w.do(func() { w.procs = 5 })
		time.Sleep(time.Minute)
		u := l.Latest()
		s, n := l.Measured(), w.gomaxprocs()
		if n != 5 || s.Raised || !slices.Equal(s.GivenUp, procsAlone) || u.Plan.GOMAXPROCS.Code != plan.ProgramSet {
			t.Errorf("GOMAXPROCS %d, raised %v, given up %v, %+v", w.gomaxprocs(), s.Raised, s.GivenUp, u.Plan.GOMAXPROCS)
		}
		close(done)
	})
}

func TestWhatTheProgramSetsBeforeTheFirstLook(t *testing.T) {
	for _, follows := range []bool{false, true} {
		both(t, func(t *testing.T, measure *Measure) {
			w := &world{measure: measure, quota: 8, busy: true, follows: follows}
			l, done := watching(w, Config{Input: &plan.Input{Go: plan.Go{Minor: 26}}})
			w.do(func() { w.follows, w.procs = false, 5 })
			time.Sleep(20 * time.Second)
			w.expect(t, 5, plan.NoMemLimit)
			if given := l.Stats().GivenUp; !slices.Equal(given, procsAlone) {
				t.Errorf("follows %v: given up %v, want GOMAXPROCS", follows, given)
			}
			close(done)
		})
	}
}

func TestOthersDoNotCountAgainstAHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{busy: true, charged: 700 * mib} // of a group without a limit
		l, done := adapting(w, Memory, Config{Input: &plan.Input{Hints: plan.Hints{MemoryLimit: 512 * mib}}})
		for range 60 {
			w.do(func() { w.collected(40 * mib) })
			time.Sleep(time.Second)
		}
		w.expect(t, 16, less(512*mib))
		if all := l.Latest().Plan.Warnings; len(all) != 1 || all[0].Code != plan.NotMeasured {
			t.Errorf("warnings %v, want that nothing is measured", all)
		}
		close(done)
	})
}

// TestTheProgramsGOGC: GOGC is given up if it is another one for longer than a program takes to read it,
// which it does by setting it for a moment.
func TestTheProgramsGOGC(t *testing.T) {
	for name, c := range map[string]struct {
		parts  Parts
		at     time.Duration // when the program sets it
		back   time.Duration // after that it is what it was, and followed on; 0 = it is not
		given  []string
		reason string
		env    string // GOGC of the operator
	}{
		"set":                  {GC, 5 * time.Second, 0, []string{"GOGC"}, plan.ProgramSet, ""},
		"read":                 {GC, 5500 * time.Millisecond, time.Second, nil, law.GCCapped, ""},
		"set before the start": {GC, 0, 0, []string{"GOGC"}, plan.ProgramSet, ""},
		"not to be adapted":    {0, 0, 0, nil, plan.NotManaged, ""},
		"of the operator":      {GC, 0, 0, nil, plan.EnvSet, "50"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{busy: true, memory: 512 * mib, charged: 60 * mib}
				l, done := adapting(w, c.parts, Config{Input: &plan.Input{Env: plan.Env{GOGC: c.env}}})
				time.Sleep(c.at)
				w.do(func() { w.heap.GOGC = 50 })
				if c.back > 0 {
					time.Sleep(c.back)
					w.do(func() { w.heap.GOGC = 100 })
				} else if time.Sleep(2500 * time.Millisecond); c.at > 0 && l.Stats().GivenUp != nil {
					t.Error("given up at once")
				}
				for range 120 {
					w.do(func() { w.collected(30 * mib) })
					time.Sleep(time.Second)
				}
				s, given := l.Latest().Plan.GOGC, l.Stats().GivenUp
				stays := c.back == 0
				if !slices.Equal(given, c.given) || s.Leave != stays || s.Code != c.reason || stays && w.heap.GOGC != 50 {
					t.Errorf("GOGC = %d, given up %q, %+v", w.heap.GOGC, given, s)
				}
				close(done)
			})
		})
	}
}

// TestACallbackThatPanicsAtARaise: a value being set when the loop ends is restored.
func TestACallbackThatPanicsAtARaise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 1.5, cpus: 16, held: &held{}}
		l, _ := adapting(w, CPU, Config{OnPlan: func() {
			if u := w.l.Latest(); u.Requested && u.Plan.GOMAXPROCS.Code == law.ProcsTried {
				panic("theirs")
			}
		}})
		w.do(func() { w.slow = time.Second })
		time.Sleep(time.Minute)
		if s := l.Stats(); !s.Ended || s.Failure != "theirs" || w.gomaxprocs() != 2 {
			t.Errorf("ended %v, failure %q, GOMAXPROCS %d; want 2 again", s.Ended, s.Failure, w.gomaxprocs())
		}
	})
}
