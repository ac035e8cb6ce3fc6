// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/snug-go/snug/internal/law"
)

// calls is the program of blocking system calls: two of 4 ms together for each request, little CPU.
func calls(seed uint64, quota, rate float64, procs int) *Sched {
	m := NewSched(seed)
	m.Quota, m.Rate, m.CPU, m.Call, m.Noise, m.Misread = quota, rate, 0.00024, 0.005, 0.3, 0.1
	m.procs = procs
	return m
}

// escape drives a plant with the law and keeps what happened.
type escape struct {
	m       *Sched
	p       law.StarvationPolicy
	s       law.StarvationState
	d       law.StarvationDecision
	codes   []string
	kernel  int // looks with the kernel's wait
	looks   int
	changed []change
	blind   bool // the kernel's wait cannot be read
	err     error
}

func (e *escape) run(seconds float64) {
	for end := e.m.At + seconds; e.m.At < end; {
		e.look()
	}
}

func (e *escape) look() {
	m := e.m
	wait := max(e.d.Next, 0.01)
	if m.Asleep && m.rng.IntN(4) == 0 {
		// Who sleeps is mostly run first when it wakes, unless another wakes then
		// (runtime/proc.go, ready): then it queues like all.
		wait += min(6, m.Queue*m.Call/float64(m.procs))
	}
	m.Run(wait)
	x := m.Sample()
	if e.blind || !e.d.WantKernel {
		x.KernelWait = math.NaN()
	} else {
		e.kernel++
	}
	e.looks++
	e.s, e.d = law.StepStarvation(e.s, x, e.p)
	if n := e.d.Procs; n != 0 && (n < e.p.Base || n > max(8, e.p.Ceiling, int(4*math.Ceil(x.Cores)))) {
		e.err = fmt.Errorf("at %.1f s GOMAXPROCS %d", m.At, n)
	}
	if n := e.d.Procs; n != 0 && n != m.procs {
		e.changed = append(e.changed, change{m.At, n})
	}
	m.SetProcs(e.d.Procs)
	if n := len(e.codes); n == 0 || e.codes[n-1] != e.d.Code {
		e.codes = append(e.codes, e.d.Code)
	}
}

// change is a GOMAXPROCS that the law asked for.
type change struct {
	at    float64
	procs int
}

// TestStallLaw: Ps that always run use up quota q of a period T in Tq/N, and
// then stand still for T(1-q/N).
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

// TestTwoStates: at the same load the program with its Ps held stays in that
// state, at P calls at a time, and the others do not fall into it.
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

func TestEscapeFromCollapse(t *testing.T) {
	for _, c := range []struct {
		name        string
		quota, rate float64
		cpus        float64
	}{
		{"half a CPU", 0.5, 900, 2},
		{"one and a half", 1.5, 1200, 2},
		{"no quota", 0, 900, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := calls(3, c.quota, c.rate, 2)
			e := &escape{m: m, p: law.StarvationPolicy{Base: 2}}
			e.run(60)
			if m.Changes != 0 || e.kernel != 0 {
				t.Fatalf("before the collapse: %d changes, %d looks at threads", m.Changes, e.kernel)
			}
			m.Collapse()
			at := m.At
			for m.Asleep && m.At < at+100 {
				e.look()
			}
			if m.Asleep || m.procs != 8 {
				t.Errorf("%.0f s after the collapse: asleep %v, %d Ps", m.At-at, m.Asleep, m.procs)
			}
			// The draining of what gathered meanwhile is the program's.
			if first, last := e.changed[0].at-at, e.changed[len(e.changed)-1].at-at; first > 8 || last > 20 {
				t.Errorf("raised %.1f to %.1f s after the collapse", first, last)
			}
			raised, changes := m.procs, m.Changes
			e.run(500)
			if m.procs != raised || m.Changes != changes {
				t.Errorf("after 500 s %d Ps, %d changes", m.procs, m.Changes)
			}
			e.run(200)
			if m.procs != 2 || e.d.GaveUp {
				t.Errorf("after the stay %d Ps, gave up %v", m.procs, e.d.GaveUp)
			}
		})
	}
}

// TestRelapses: a program that collapses whenever it is back is left alone there less and less, at last never.
func TestRelapses(t *testing.T) {
	m := calls(5, 0.5, 900, 2)
	e := &escape{m: m, p: law.StarvationPolicy{Base: 2, Stay: 30}}
	for m.At < 3000 && !e.d.GaveUp {
		e.look()
		if m.procs == 2 {
			m.Collapse()
		}
	}
	var stays []float64
	for i, c := range e.changed {
		if c.procs == 2 {
			stays = append(stays, c.at-e.changed[i-1].at)
		}
	}
	if !e.d.GaveUp || e.d.Code != law.EscapeStays || len(stays) != 4 {
		t.Fatalf("%v: gave up %v, stayed %.0f", e.codes, e.d.GaveUp, stays)
	}
	for i, least := range []float64{30, 60, 120, 240} {
		if stays[i] < least || stays[i] > least+60 {
			t.Errorf("stayed %.0f s the time %d, want %.0f and until it is calm", stays[i], i, least)
		}
	}
	changes := m.Changes
	e.run(3000)
	if m.procs != 8 || m.Changes != changes {
		t.Errorf("at last %d Ps, %d more changes", m.procs, m.Changes-changes)
	}
}

// TestNeverActs is what the escape must keep its hands off.
func TestNeverActs(t *testing.T) {
	type plant struct {
		name string
		set  func(m *Sched)
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
		{"idle without limits", work(0, 0.1, 0.001, 2)},
		{"idle under a quota", work(0.5, 0.1, 0.001, 2)},
		{"CPU-bound, quota suffices", work(1.5, 1400, 0.00068, 2)},
		{"CPU-bound, overloaded without limits", work(0, 4000, 0.0007, 2)},
		{"CPU-bound, quota spent", work(0.5, 720, 0.001, 2)},
		{"CPU-bound, one P overloaded", work(1.5, 1400, 0.00075, 1)},
		{"collections, one P overloaded", and(work(1.5, 1800, 0.00045, 1), gc)},
		{"collections at half a CPU", and(work(0.5, 600, 0.0006, 2), gc)},
		{"bursts at half a CPU", and(work(0.5, 180, 0.0022, 2), burst(0.1))},
		{"bursts at one and a half", and(work(1.5, 280, 0.0022, 1), burst(0.1))},
		{"large bursts each second", and(work(0, 500, 0.002, 2), burst(1))},
		{"huge bursts, ten a second", and(work(0, 10000, 0.00008, 2), burst(0.1))},
		{"huge bursts, one in 5 s", and(work(0, 2000, 0.0004, 2), burst(5))},
		{"neighbours on both CPUs", and(work(0, 1400, 0.00075, 2), others(2))},
		{"many neighbours", and(work(1.5, 1400, 0.00075, 2), others(10))},
		{"many neighbours, one P", and(work(0, 1000, 0.0008, 1), others(6))},
		{"system calls that are not held", func(m *Sched) { *m = *calls(9, 1.5, 1200, 2) }},
		{"neighbours beside system calls", func(m *Sched) { *m = *calls(9, 1.5, 2800, 2); m.Others = 8 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(3) {
				m := NewSched(seed)
				m.Noise, m.Misread = 0.3, 0.1
				c.set(m)
				e := &escape{m: m, p: law.StarvationPolicy{Base: m.procs}}
				e.run(200)
				if m.Changes != 0 {
					t.Fatalf("seed %d: %v, %d changes", seed, e.codes, m.Changes)
				}
				if share := float64(e.kernel) / float64(e.looks); share > 0.7 {
					t.Errorf("seed %d: looked at the threads in %.2f of %d looks", seed, share, e.looks)
				}
			}
		})
	}
}

// TestMistakenForCollapse: where no collection tells of idle Ps, bursts of
// goroutines look like held Ps. That they run no faster with more ends it.
func TestMistakenForCollapse(t *testing.T) {
	for seed := range uint64(5) {
		m := NewSched(seed)
		m.Rate, m.CPU, m.Burst, m.GCEvery, m.procs, m.Noise = 10000, 0.00008, 0.1, 100, 2, 0.3
		e := &escape{m: m, p: law.StarvationPolicy{Base: 2}}
		e.run(1000)
		if m.procs != 2 || m.Changes > 2 || m.Changes == 2 && e.d.Code != law.EscapeFutile {
			t.Errorf("seed %d: %d Ps, %v, %v", seed, m.procs, e.changed, e.codes)
		}
	}
}

// TestUnknownKernelWait: without it neighbours cannot be told from system calls.
func TestUnknownKernelWait(t *testing.T) {
	m := calls(1, 0.5, 900, 2)
	e := &escape{m: m, p: law.StarvationPolicy{Base: 2}, blind: true}
	e.run(5)
	m.Collapse()
	e.run(100)
	if m.Changes != 0 || e.d.Code != law.StarvationUnsure {
		t.Errorf("%d changes, %v", m.Changes, e.codes)
	}
}

// TestRaisingDoesNotHelp: what waits for something else than Ps gets its number back.
func TestRaisingDoesNotHelp(t *testing.T) {
	m := calls(1, 0.5, 900, 2)
	e := &escape{m: m, p: law.StarvationPolicy{Base: 2}}
	m.Collapse()
	for range 600 {
		e.run(0.5)
		m.Asleep = true
		m.Call = 0.0025 * float64(m.procs) // one device serves all: more calls take longer
		m.Queue = min(m.Queue, 400)
	}
	if m.procs != 2 || !e.d.GaveUp || e.d.Code != law.EscapeFutile || m.Changes != 2 {
		t.Errorf("%d Ps, %d changes, %v", m.procs, m.Changes, e.codes)
	}
}

// TestRandomPlants: whatever the plant, GOMAXPROCS stays in its bounds and changes seldom.
func TestRandomPlants(t *testing.T) {
	const each = 1500.0
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 1))
		base := 1 + r.IntN(4)
		m := NewSched(seed)
		m.procs = base
		m.CPUs = float64(1 + r.IntN(8))
		m.Noise, m.Misread = r.Float64(), 0.5*r.Float64()
		e := &escape{m: m, p: law.StarvationPolicy{Base: base, Stay: 60}}
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
		// 5 episodes of 4 raises and a return, and one for each ceiling that moves.
		if m.Changes > 30 {
			t.Errorf("seed %d: %d changes, %v", seed, m.Changes, e.codes)
		}
	}
}
