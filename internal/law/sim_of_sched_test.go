// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/snug-go/snug/internal/law"
)

// calls returns a program of blocking system calls: two of 4 ms in total per request, little CPU.
func calls(seed uint64, quota, rate float64, procs int) *Sched {
	m := NewSched(seed)
	m.Quota, m.Rate, m.CPU, m.Call, m.Noise, m.Misread = quota, rate, 0.00024, 0.005, 0.3, 0.1
	m.procs = procs
	return m
}

// driven is a plant controlled by the law, with what happened.
type driven struct {
	m       *Sched
	p       law.ProcsPolicy
	s       law.ProcsState
	d       law.ProcsDecision
	changed []procsChange
	away    float64 // seconds at a number other than Base
	err     error
}

// procsChange is a GOMAXPROCS set by the law.
type procsChange struct {
	at    float64
	procs int
}

func (e *driven) run(seconds float64) {
	for end := e.m.At + seconds; e.m.At < end; {
		e.look()
	}
}

func (e *driven) look() {
	m := e.m
	wait := max(e.d.Next, 0.01)
	if m.Asleep && m.rng.IntN(4) == 0 {
		// A goroutine that wakes mostly runs first, unless another one wakes then
		// (runtime/proc.go, ready): then it queues like all others.
		wait += min(6, m.Queue*m.Call/float64(m.procs))
	}
	if m.procs != e.p.Base {
		e.away += wait
	}
	m.Run(wait)
	x := m.Sample()
	e.s, e.d = law.StepProcs(e.s, x, e.p)
	n := e.d.Procs
	if n == 0 {
		n = e.p.Base
	}
	if n < e.p.Base || n > max(e.p.Base, law.ProcsCeiling(m.CPUs)) {
		e.err = fmt.Errorf("at %.1f s GOMAXPROCS %d", m.At, n)
	}
	if n != m.procs {
		e.changed = append(e.changed, procsChange{m.At, n})
	}
	m.SetProcs(n)
}

// TestStallLaw: Ps that always run use up quota q of a period T in Tq/N, and then stall for T(1-q/N).
func TestStallLaw(t *testing.T) {
	for _, c := range []struct {
		procs  int
		quota  float64
		period float64
	}{{1, 0.5, 0.1}, {2, 0.5, 0.1}, {2, 1.5, 0.1}, {4, 2, 0.1}, {8, 2, 0.1}, {24, 2, 0.1}, {2, 1, 0.02}, {2, 0.5, 1}} {
		m := NewSched(1)
		m.CPUs, m.Quota, m.Period, m.procs = 32, c.quota, c.period, c.procs
		m.Rate, m.CPU = 1e5, 0.01
		m.Run(5)
		want := c.period * (1 - c.quota/float64(c.procs))
		if math.Abs(m.Stall-want) > 3*Tick {
			t.Errorf("P=%d quota %g period %g: stalls %.4f s, want %.4f", c.procs, c.quota, c.period, m.Stall, want)
		}
		x := m.Sample()
		if share := x.Used / m.At; math.Abs(share-c.quota) > 0.02*c.quota+c.period/m.At {
			t.Errorf("P=%d quota %g: used %.3f cores", c.procs, c.quota, share)
		}
	}
}

// TestTwoStates: at the same load a program whose Ps are held stays in that state, at P calls at a
// time, and the others do not enter it.
func TestTwoStates(t *testing.T) {
	m := calls(1, 1.5, 900, 2)
	m.Run(10)
	if served := m.Done / 10; served < 850 {
		t.Errorf("before: %.0f requests/s", served)
	}
	done := m.Done
	m.Collapse()
	m.Run(10)
	if served := (m.Done - done) / 10; !m.Asleep || served < 340 || served > 400 {
		t.Errorf("asleep %v: %.0f requests/s, want 2 calls of 5 ms at a time", m.Asleep, served)
	}
	m.SetProcs(8)
	m.Run(20)
	if m.Asleep || m.Queue > 5 {
		t.Errorf("with 8 Ps: asleep %v, %.0f wait", m.Asleep, m.Queue)
	}
}

// TestOutOfCollapse: the law ends the collapse, and returns to Base when the load allows.
func TestOutOfCollapse(t *testing.T) {
	for _, c := range []struct {
		name        string
		quota, rate float64
	}{
		{"half a CPU", 0.5, 900},
		{"one and a half", 1.5, 1200},
		{"no quota", 0, 900},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := calls(3, c.quota, c.rate, 2)
			e := &driven{m: m, p: law.ProcsPolicy{Base: 2}}
			e.run(60)
			if e.away > 6 {
				t.Errorf("before the collapse: away for %.0f of 60 s", e.away)
			}
			m.Collapse()
			at := m.At
			for m.Asleep && m.At < at+100 {
				e.look()
			}
			// The program itself drains the queue that has built up.
			if m.Asleep {
				t.Fatalf("%.0f s after the collapse: asleep, %d Ps, %v", m.At-at, m.procs, e.changed)
			}
			e.run(400)
			if m.procs != 2 || m.Asleep {
				t.Errorf("when it is long over: %d Ps, asleep %v, %v", m.procs, m.Asleep, e.changed)
			}
		})
	}
}

// TestTriesLittle: if more Ps do not help, hardly any time is spent on trying them.
func TestTriesLittle(t *testing.T) {
	type plant struct {
		name  string
		helps bool // more Ps get more CPU time
		set   func(m *Sched)
	}
	work := func(quota, rate, cpu float64, procs int) func(m *Sched) {
		return func(m *Sched) { m.Quota, m.Rate, m.CPU, m.procs = quota, rate, cpu, procs }
	}
	and := func(fs ...func(m *Sched)) func(m *Sched) {
		return func(m *Sched) {
			for _, f := range fs {
				f(m)
			}
		}
	}
	gc := func(m *Sched) { m.GCEvery, m.GCWork = 0.2, 0.05 }
	burst := func(every float64) func(m *Sched) { return func(m *Sched) { m.Burst = every } }
	others := func(n float64) func(m *Sched) { return func(m *Sched) { m.Others = n } }
	for _, c := range []plant{
		{"idle without limits", false, work(0, 0.1, 0.001, 2)},
		{"idle under a quota", false, work(0.5, 0.1, 0.001, 2)},
		{"CPU-bound, quota suffices", false, work(1.5, 1400, 0.00068, 2)},
		{"CPU-bound, overloaded without limits", false, work(0, 4000, 0.0007, 2)},
		{"CPU-bound, quota spent", false, work(0.5, 720, 0.001, 2)},
		{"CPU-bound, one P overloaded", true, work(1.5, 1400, 0.00075, 1)},
		{"collections, one P overloaded", true, and(work(1.5, 1800, 0.00045, 1), gc)},
		{"collections at half a CPU", false, and(work(0.5, 600, 0.0006, 2), gc)},
		{"bursts at half a CPU", false, and(work(0.5, 180, 0.0022, 2), burst(0.1))},
		{"bursts at one and a half", false, and(work(1.5, 280, 0.0022, 1), burst(0.1))},
		{"large bursts each second", false, and(work(0, 500, 0.002, 2), burst(1))},
		{"huge bursts, ten a second", false, and(work(0, 10000, 0.00008, 2), burst(0.1))},
		{"neighbours on both CPUs", true, and(work(0, 1400, 0.00075, 2), others(2))},
		{"many neighbours", true, and(work(1.5, 1400, 0.00075, 2), others(10))},
		{"many neighbours, one P", true, and(work(0, 1000, 0.0008, 1), others(6))},
		{"system calls that are not held", false, func(m *Sched) { *m = *calls(9, 1.5, 1200, 2) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(3) {
				m := NewSched(seed)
				m.Noise, m.Misread = 0.3, 0.1
				c.set(m)
				e := &driven{m: m, p: law.ProcsPolicy{Base: m.procs}}
				e.run(400)
				if !c.helps && (e.away > 20 || m.procs != e.p.Base) {
					t.Errorf("seed %d: %d Ps, away for %.0f of 400 s, %v", seed, m.procs, e.away, e.changed)
				}
				if c.helps && e.away < 200 {
					t.Errorf("seed %d: more Ps would help, %v", seed, e.changed)
				}
			}
		})
	}
}

// TestRaisingDoesNotHelp: a program that does not wait for Ps is tried less and less often.
func TestRaisingDoesNotHelp(t *testing.T) {
	m := calls(1, 0.5, 900, 2)
	e := &driven{m: m, p: law.ProcsPolicy{Base: 2}}
	m.Collapse()
	for m.At < 1000 {
		e.run(0.5)
		m.Asleep = true
		m.Call = 0.0025 * float64(m.procs) // one device serves all: more calls take longer
		m.Queue = min(m.Queue, 400)
	}
	if e.away > 40 || m.Changes > 30 {
		t.Errorf("%d Ps, %d changes, away for %.0f s, %v", m.procs, m.Changes, e.away, e.changed)
	}
}

// TestRandomPlants: for any plant, GOMAXPROCS stays within its bounds and changes seldom.
func TestRandomPlants(t *testing.T) {
	const each = 1500.0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		base := 1 + r.IntN(4)
		m := NewSched(seed)
		m.procs = base
		m.CPUs = float64(1 + r.IntN(8))
		m.Noise, m.Misread = r.Float64(), 0.5*r.Float64()
		e := &driven{m: m, p: law.ProcsPolicy{Base: base}}
		for m.At < each {
			m.Quota = []float64{0, 0.2, 0.5, 1.5, 3}[r.IntN(5)]
			m.Rate, m.CPU = 3000*r.Float64(), 0.001*r.Float64()
			m.Call = []float64{0, 0.002, 0.005}[r.IntN(3)]
			m.Doze = 0.03 * r.Float64()
			m.Others = []float64{0, 0, 4}[r.IntN(3)]
			m.Burst = []float64{0, 0, 0.1, 1}[r.IntN(4)]
			m.GCWork = 0.05 * r.Float64()
			if r.IntN(3) == 0 {
				m.Collapse()
			}
			m.Queue = min(m.Queue, 2000)
			e.run(20 + 60*r.Float64())
		}
		if e.err != nil || m.procs < base {
			t.Errorf("seed %d: %v, %d Ps", seed, e.err, m.procs)
		}
		// One try, or four in a row, per 10 s.
		if m.Changes > each/10 {
			t.Errorf("seed %d: %d changes", seed, m.Changes)
		}
	}
}
