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

// starving is a world whose Ps are held in system calls: it uses a tenth of a
// core, and runs the more the more Ps there are.
type starving struct {
	machineOf
	reading time.Duration // what it takes to look at the threads: the process is throttled meanwhile
}

func (m starving) kernelWait() (float64, int) {
	time.Sleep(m.reading)
	return 0.001, 10
}

func (m starving) cpu(c *law.CPU) {
	m.machineOf.cpu(c)
	t := time.Since(m.start).Seconds()
	c.Used, c.Busy, c.GC = 0.1*t, 0.1*t, 0
	c.GoWait, c.Wakeups = 100*t, 1000*t*float64(m.GOMAXPROCS())
	c.Idle = 0.0001 * t
}

func TestEscape(t *testing.T) {
	for _, c := range []struct {
		name    string
		adapt   Parts
		policy  plan.Policy
		reading time.Duration
		most    int // the highest GOMAXPROCS
	}{
		{"unasked", Memory | GC, plan.Policy{}, 0, 2},
		{"asked", CPU, plan.Policy{}, 0, 8},
		{"asked, and throttled while it looks", CPU, plan.Policy{}, 300 * time.Millisecond, 8},
		{"at most what was asked for", CPU, plan.Policy{MaxProcs: 4}, 0, 4},
		{"no more than the plan", CPU, plan.Policy{MaxProcs: 2}, 0, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := &world{quota: 1.5, cpus: 16}
				cfg := Config{Adapt: c.adapt}
				cfg.Input.Policy = c.policy
				l, done := watching(w, cfg)
				l.Undo()
				cfg = l.cfg
				l = prepare(cfg, w, func() machine { return starving{machineOf{w}, c.reading} })
				go l.run(done)
				most, verdict, told := 0, law.Unclear, false
				for range 120 {
					time.Sleep(time.Second)
					most = max(most, w.GOMAXPROCS())
					verdict = max(verdict, l.Stats().Waiting.Verdict)
					told = told || l.Latest().Plan.GOMAXPROCS.Code == law.StarvationEscape
				}
				if most != c.most || told != (most > 2) {
					t.Errorf("GOMAXPROCS rose to %d, told %v; want %d", most, told, c.most)
				}
				if verdict != law.TooFewPs {
					t.Errorf("the verdict was %v at the worst, want %v", verdict, law.TooFewPs)
				}
				close(done)
			})
		})
	}
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
		_, done := watching(w, cfg)
		for range 60 {
			w.do(func() { w.collected(40 * mib) })
			time.Sleep(time.Second)
		}
		w.expect(t, 16, less(512*mib))
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
		l = prepare(cfg, gc, func() machine { return machineOf{w} })
		go l.run(done)
		time.Sleep(5 * time.Second)
		w.do(func() { w.heap.GOGC = 50 }) // after the first look
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

// gcKnob is a world whose GOGC can be set.
type gcKnob struct{ *world }

func (g *gcKnob) GOGC(now, n int64) apply.Did {
	g.do(func() { g.heap.GOGC = n })
	return apply.Set
}
