// SPDX-License-Identifier: Apache-2.0

//go:build go1.25

package watch

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snug-go/snug/internal/apply"
	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/plan"
)

// held is a world whose Ps are held in system calls: each uses a twentieth of a core.
type held struct {
	machineOf
	s *heldState
}

type heldState struct {
	used, goWait float64
	at           time.Time
}

func (held) kernelWait() (float64, int) { return 0.001, 10 }

func (m held) cpu(c *law.CPU) {
	procs := m.GOMAXPROCS()
	m.machineOf.cpu(c)
	dt := time.Since(m.s.at).Seconds()
	m.s.at = time.Now()
	m.s.used += 0.05 * float64(procs) * dt
	m.s.goWait += 100 * dt
	c.Used, c.Busy, c.GC, c.GoWait = m.s.used, m.s.used, 0, m.s.goWait
	c.Idle = 0.0001 * time.Since(m.start).Seconds()
}

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
				w := &world{quota: 1.5, cpus: 16}
				cfg := Config{Adapt: c.adapt}
				cfg.Input.Policy = c.policy
				l, done := watching(w, cfg)
				l.Undo()
				cfg = l.cfg
				l = prepare(cfg, w, held{machineOf{w}, &heldState{at: time.Now()}})
				go l.run(done)
				most, verdict, announced := 0, law.Unclear, false
				for range 120 {
					time.Sleep(time.Second)
					most = max(most, w.GOMAXPROCS())
					verdict = max(verdict, l.Stats().Waiting.Verdict)
					announced = announced || l.Latest().Plan.GOMAXPROCS.Code == law.ProcsRaised
				}
				if most != c.most || announced != (most > 2) {
					t.Errorf("GOMAXPROCS rose to %d, announced %v; want %d", most, announced, c.most)
				}
				if want := law.TooFewPs; c.most == 2 && verdict != want {
					t.Errorf("the verdict was %v at the worst, want %v", verdict, want)
				}
				close(done)
			})
		})
	}
}

// raising returns a loop of a process whose GOMAXPROCS the law has raised.
func raising(t *testing.T, w *world, onPlan func(Update)) (*Loop, chan struct{}) {
	t.Helper()
	l, done := watching(w, Config{Adapt: CPU, OnPlan: onPlan})
	l.Undo()
	l = prepare(l.cfg, w, held{machineOf{w}, &heldState{at: time.Now()}})
	go l.run(done)
	for range 60 {
		if time.Sleep(time.Second); w.GOMAXPROCS() == 16 && l.Stats().Raised {
			return l, done
		}
	}
	t.Fatalf("not raised: %d", w.GOMAXPROCS())
	return nil, nil
}

// TestRaisedAndGivenBack: a raised GOMAXPROCS needs a loop that keeps testing it.
func TestRaisedAndGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 1.5, cpus: 16}
		broken := false
		l, _ := raising(t, w, func(Update) {
			if broken {
				panic("theirs")
			}
		})
		w.do(func() { broken, w.quota = true, 3 })
		time.Sleep(time.Minute)
		if s := l.Stats(); !s.Ended || s.Failure != "theirs" || w.GOMAXPROCS() > 3 {
			t.Errorf("ended %v, failure %q, GOMAXPROCS %d", s.Ended, s.Failure, w.GOMAXPROCS())
		}
	})
}

// TestTried: a number of Ps is shown as tried, then as raised; one still being tried when the
// context ends is taken back.
func TestTried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 1.5, cpus: 16}
		var codes []string
		tried := make(chan struct{}, 1)
		l, done := watching(w, Config{Adapt: CPU})
		l.Undo()
		cfg := l.cfg
		cfg.OnPlan = func(u Update) {
			s := &u.Plan.GOMAXPROCS
			if codes = append(codes, strconv.Itoa(int(s.Value))+" "+s.Code); s.Value == 8 && s.Code == law.ProcsTried && !u.Requested {
				tried <- struct{}{}
			}
		}
		l = prepare(cfg, w, held{machineOf{w}, &heldState{at: time.Now()}})
		go l.run(done)
		<-tried
		close(done)
		time.Sleep(time.Second)
		synctest.Wait()
		got := strings.Join(slices.Compact(codes), ", ")
		if s := l.Stats(); !s.Ended || w.GOMAXPROCS() != 2 || got != "4 procs-tried, 4 procs-raised, 8 procs-tried, 2 quota-ceil" {
			t.Errorf("ended %v, GOMAXPROCS %d, announced %s", s.Ended, w.GOMAXPROCS(), got)
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
		if n := w.GOMAXPROCS(); n != 16 {
			t.Errorf("%d after 2.5 s, want the 16 there were", n)
		}
		time.Sleep(3 * time.Second)
		if n := w.GOMAXPROCS(); n != 32 {
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
		if s := l.Stats(); w.GOMAXPROCS() != 5 || s.Raised || s.GivenUp != GOMAXPROCS || u.Plan.GOMAXPROCS.Code != plan.ProgramSet {
			t.Errorf("GOMAXPROCS %d, raised %v, given up %v, %+v", w.GOMAXPROCS(), s.Raised, s.GivenUp.Names(), u.Plan.GOMAXPROCS)
		}
		close(done)
	})
}

func TestWhatTheProgramSetsBeforeTheFirstLook(t *testing.T) {
	for _, follows := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{quota: 8, busy: true, follows: follows}
			l, done := watching(w, Config{Input: plan.Input{Go: plan.Go{Minor: 26}}})
			w.do(func() { w.follows, w.procs = false, 5 })
			time.Sleep(20 * time.Second)
			w.expect(t, 5, plan.NoMemLimit)
			if l.Stats().GivenUp != GOMAXPROCS {
				t.Errorf("follows %v: given up %v, want GOMAXPROCS", follows, l.Stats().GivenUp.Names())
			}
			close(done)
		})
	}
}

func TestOthersDoNotCountAgainstAHint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{busy: true, charged: 700 * mib} // of a group without a limit
		cfg := Config{Adapt: Memory}
		cfg.Input.Hints.MemoryLimit = 512 * mib
		l, done := watching(w, cfg)
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

func TestTheProgramsGOGC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{busy: true, memory: 512 * mib, charged: 60 * mib}
		gc := &gcKnob{world: w}
		l, done := watching(w, Config{})
		l.Undo()
		cfg := l.cfg
		cfg.Adapt, cfg.GC = GC, law.GCPolicy{}
		l = prepare(cfg, gc, machineOf{w})
		go l.run(done)
		time.Sleep(5 * time.Second)
		w.do(func() { w.heap.GOGC = 50 }) // after the first poll
		for range 120 {
			w.do(func() { w.collected(30 * mib) })
			time.Sleep(time.Second)
		}
		if w.heap.GOGC != 50 || l.Stats().GivenUp != GOGC {
			t.Errorf("GOGC = %d, given up %v; want the program's 50", w.heap.GOGC, l.Stats().GivenUp.Names())
		}
		close(done)
	})
}

// TestAGOGCThatIsRead: a program reads GOGC by setting it for a moment.
func TestAGOGCThatIsRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{busy: true, memory: 512 * mib, charged: 60 * mib}
		l, done := watching(w, Config{})
		l.Undo()
		cfg := l.cfg
		cfg.Adapt, cfg.GC = GC, law.GCPolicy{}
		l = prepare(cfg, &gcKnob{world: w}, machineOf{w})
		go l.run(done)
		time.Sleep(5500 * time.Millisecond)
		w.do(func() { w.heap.GOGC = 70 })
		time.Sleep(time.Second)
		w.do(func() { w.heap.GOGC = 100 })
		time.Sleep(time.Minute)
		if given := l.Stats().GivenUp; given != 0 {
			t.Errorf("given up %v", given.Names())
		}
		close(done)
	})
}

// TestAGOGCThatSnugDidNotSet: it is the program's, and snug never gives it up.
func TestAGOGCThatSnugDidNotSet(t *testing.T) {
	for adapt, want := range map[Parts]Knobs{0: 0, GC: GOGC} {
		synctest.Test(t, func(t *testing.T) {
			w := &world{busy: true, memory: 512 * mib}
			l, done := watching(w, Config{})
			l.Undo()
			w.do(func() { w.heap.GOGC = 200 })
			cfg := l.cfg
			cfg.Adapt = adapt
			l = prepare(cfg, w, machineOf{w})
			go l.run(done)
			time.Sleep(10 * time.Second)
			s := l.Latest().Plan.GOGC
			if given := l.Stats().GivenUp; given != want || !s.Leave || (s.Code == plan.ProgramSet) != (want != 0) {
				t.Errorf("adapting %d: given up %v, %+v", adapt, given.Names(), s)
			}
			close(done)
		})
	}
}

// gcKnob is a world whose GOGC can be set.
type gcKnob struct{ *world }

func (g *gcKnob) GOGC(now, n int64) apply.Did {
	g.do(func() { g.heap.GOGC = n })
	return apply.Set
}

// TestACallbackThatPanicsAtARaise: a value being set when the loop ends is restored.
func TestACallbackThatPanicsAtARaise(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{quota: 1.5, cpus: 16}
		l, done := watching(w, Config{Adapt: CPU, OnPlan: func(u Update) {
			if u.Requested && u.Plan.GOMAXPROCS.Code == law.ProcsTried {
				panic("theirs")
			}
		}})
		l.Undo()
		w.do(func() { w.slow = time.Second })
		l = prepare(l.cfg, w, held{machineOf{w}, &heldState{at: time.Now()}})
		go l.run(done)
		time.Sleep(time.Minute)
		if s := l.Stats(); !s.Ended || s.Failure != "theirs" || w.GOMAXPROCS() != 2 {
			t.Errorf("ended %v, failure %q, GOMAXPROCS %d; want 2 again", s.Ended, s.Failure, w.GOMAXPROCS())
		}
	})
}
