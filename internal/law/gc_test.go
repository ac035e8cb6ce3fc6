// SPDX-License-Identifier: Apache-2.0

package law_test

import (
	"math"
	"testing"

	"github.com/snug-go/snug/internal/law"
)

// gcLoop runs the GC law on a simulated process, polled once per second.
type gcLoop struct {
	heap   *Heap
	group  *Group
	policy law.GCPolicy
	dt     float64                           // seconds per step
	phase  func(at float64)                  // changes the program; may be nil
	spoil  func(at float64, x *law.GCSample) // changes the law's input; may be nil
	seen   func(x *law.GCSample, d law.GCDecision)

	state   law.GCState
	last    law.GCDecision
	changes []change // of GOGC; limit is the percentage
	polled  float64
}

// newGCLoop returns a process with live bytes under a limit. Its GOMEMLIMIT is 0.83 of the
// limit, as the memory law sets it when all memory is Go's.
func newGCLoop(limit int64, live float64, p law.GCPolicy) *gcLoop {
	h := NewHeap(live)
	h.SetMemoryLimit(limit / 100 * 83)
	return &gcLoop{heap: h, group: &Group{Limit: limit, Heaps: []*Heap{h}}, policy: p, dt: 0.005}
}

func (l *gcLoop) run(until float64) {
	for l.group.At < until && !l.group.Killed {
		if l.phase != nil {
			l.phase(l.group.At)
		}
		if l.group.At >= l.polled+1 {
			l.polled = l.group.At
			l.poll()
		}
		l.group.Step(l.dt)
	}
}

func (l *gcLoop) poll() {
	x := law.GCSample{At: l.group.At, Limit: l.group.Limit, Used: l.group.Used(), Heap: l.heap.Sample(), CPU: l.heap.CPU()}
	if l.spoil != nil {
		l.spoil(l.group.At, &x)
	}
	l.state, l.last = law.StepGC(l.state, x, l.policy)
	if l.last.GOGC != 0 {
		l.heap.SetGOGC(l.last.GOGC)
		l.changes = append(l.changes, change{l.group.At, float64(l.last.GOGC)})
	}
	if l.seen != nil {
		l.seen(&x, l.last)
	}
}

// after returns the number of changes of GOGC from at on.
func (l *gcLoop) after(at float64) (n int) {
	for _, c := range l.changes {
		if c.at >= at {
			n++
		}
	}
	return n
}

// steady returns the share of CPU that collections use over the next seconds, and the CPU seconds
// of an operation.
func (l *gcLoop) steady(seconds float64) (share, perOp float64) {
	gc, work, ops := l.heap.GCSeconds, l.heap.WorkSeconds, l.heap.Ops
	l.run(l.group.At + seconds)
	gc, work, ops = l.heap.GCSeconds-gc, l.heap.WorkSeconds-work, l.heap.Ops-ops
	return gc / (gc + work), (gc + work) / ops
}

func (l *gcLoop) gogc() int64   { return l.heap.Sample().GOGC }
func (l *gcLoop) peak() float64 { return l.group.Peak / float64(l.group.Limit) }

// gcOn uses the default share.
var gcOn = law.GCPolicy{On: true}

// gcStill is a process that stands still, all figures in MiB. Collections take half of its CPU
// at any GOGC, so that memory alone bounds GOGC.
type gcStill struct {
	limit, nonGo, rest, live, stacks int64
	gomemlimit                       int64 // 0 = off
	gogc                             int64
}

func (p gcStill) sample(at float64) law.GCSample {
	h := law.Heap{
		Mapped: (p.rest + p.stacks + 2*p.live) * mib, Objects: p.live * mib, Free: p.live * mib,
		Live: p.live * mib, Stacks: p.stacks * mib, Goal: 2 * p.live * mib, Limit: math.MaxInt64, GOGC: p.gogc, Cycles: 9 + uint64(at),
	}
	if p.gomemlimit != 0 {
		h.Limit = p.gomemlimit * mib
	}
	cpu := law.CPU{At: at, Used: at, GC: at / 2, Busy: at}
	return law.GCSample{At: at, Limit: p.limit * mib, Used: p.nonGo*mib + h.Mapped, Heap: h, CPU: cpu}
}

// settle feeds the law the same process for some minutes and returns its last decision.
func (p gcStill) settle(pol law.GCPolicy) (int64, string) {
	var s law.GCState
	var d law.GCDecision
	for at := 0.0; at < 300; at++ {
		s, d = law.StepGC(s, p.sample(at), pol)
		if d.GOGC != 0 {
			p.gogc = d.GOGC
		}
	}
	return p.gogc, d.Code
}

func TestGCTakesWhatMemoryAllows(t *testing.T) {
	for _, c := range []struct {
		name string
		p    gcStill
		pol  law.GCPolicy
		gogc int64
		code string
	}{
		{"eight times live", gcStill{limit: 2048, rest: 8, live: 50, gomemlimit: 1600, gogc: 100}, gcOn, 800, law.GCCapped},
		{"no GOMEMLIMIT", gcStill{limit: 512, rest: 8, live: 64, gogc: 100}, gcOn, 100, law.GCBase},
		{"a GOMEMLIMIT above the limit", gcStill{limit: 512, rest: 8, live: 64, gomemlimit: 513, gogc: 200}, gcOn, 100, law.GCBase},
		{"stacks as large as the live heap", gcStill{limit: 2048, rest: 8, live: 50, stacks: 50, gomemlimit: 1600, gogc: 100}, gcOn, 400, law.GCCapped},
		{"other memory leaves 64 MiB, the last of them to others", gcStill{limit: 512, nonGo: 273, rest: 8, live: 64, gomemlimit: 250, gogc: 50}, law.GCPolicy{On: true, Base: 50}, 89, law.GCCapped},
		{"other memory leaves nothing", gcStill{limit: 512, nonGo: 400, rest: 8, live: 64, gogc: 400}, gcOn, 100, law.GCBase},
		{"GOMEMLIMIT leaves 60 MiB, the last of them to others", gcStill{limit: 1024, rest: 20, live: 35, gomemlimit: 120, gogc: 100}, gcOn, 156, law.GCCapped},
		{"a base above all", gcStill{limit: 512, rest: 8, live: 64, gogc: 300}, law.GCPolicy{On: true, Base: 300}, 300, law.GCBase},
		{"a tiny heap gets 64 MiB", gcStill{limit: 512, rest: 3, live: 1, gomemlimit: 400, gogc: 100}, gcOn, 1600, law.GCCapped},
		{"a tiny heap gets what there is", gcStill{limit: 64, rest: 3, live: 1, gomemlimit: 48, gogc: 100}, gcOn, 935, law.GCCapped},
		{"GOGC off", gcStill{limit: 512, rest: 3, live: 1, gogc: -1}, gcOn, -1, law.GCOff},
		{"base off", gcStill{limit: 512, rest: 3, live: 1, gogc: 100}, law.GCPolicy{On: true, Base: -1}, 100, law.GCOff},
		{"kept", gcStill{limit: 512, rest: 3, live: 1, gogc: 100}, law.GCPolicy{}, 100, law.GCKeep},
		{"no limit", gcStill{rest: 3, live: 10, gogc: 100}, gcOn, 100, law.GCNoLimit},
		{"no limit and the program's 300", gcStill{rest: 3, live: 10, gogc: 300}, gcOn, 300, law.GCNoLimit},
	} {
		t.Run(c.name, func(t *testing.T) {
			if gogc, code := c.p.settle(c.pol); gogc != c.gogc || code != c.code {
				t.Errorf("GOGC %d for %s, want %d for %s", gogc, code, c.gogc, c.code)
			}
		})
	}
}

// TestGCGoalStaysWithinTheExtraHeap: heapMinimum grows with GOGC, so 64 MiB over a live heap of
// 100 KiB must not become GOGC=65536, whose heap minimum is 2.5 GiB.
func TestGCGoalStaysWithinTheExtraHeap(t *testing.T) {
	for live := int64(64 << 10); live < 64*mib; live *= 2 {
		h := NewHeap(float64(live))
		h.SetMemoryLimit(1600 * mib)
		l := &gcLoop{heap: h, group: &Group{Limit: 2048 * mib, Heaps: []*Heap{h}}, policy: gcOn, dt: 0.005}
		h.Rate, h.MarkRate = 1000, float64(10*live) // a cycle takes 0.1 s
		l.run(300)
		s := h.Sample()
		if extra := s.Goal - s.Live; extra > max(8*s.Live, 64*mib)*101/100 {
			t.Errorf("%d KiB live: GOGC %d, %d MiB over the live heap", live>>10, s.GOGC, extra>>20)
		} else if extra < 28*mib {
			t.Errorf("%d KiB live: GOGC %d, %d MiB over the live heap: nothing won", live>>10, s.GOGC, extra>>20)
		}
	}
}

// TestGCFollowsTheSlackWithoutACliff: memory outside Go grows by 1 MiB a second; the heap goal
// falls with it, and never by more.
func TestGCFollowsTheSlackWithoutACliff(t *testing.T) {
	p := gcStill{limit: 512, rest: 8, live: 32, gomemlimit: 500, gogc: 100}
	var s law.GCState
	var d law.GCDecision
	before := int64(0)
	for at := 0.0; at < 500; at++ {
		if at > 60 {
			p.nonGo++
		}
		s, d = law.StepGC(s, p.sample(at), gcOn)
		if d.GOGC != 0 {
			p.gogc = d.GOGC
		}
		goal := p.live + p.live*p.gogc/100
		if at > 60 && before-goal > 16 {
			t.Fatalf("at %.0f s with %d MiB of others': the goal falls from %d to %d MiB", at, p.nonGo, before, goal)
		}
		before = goal
		if planned := p.nonGo + p.rest + goal - (goal-p.live)/20; p.gogc > 100 && planned > 512*80/100 {
			t.Fatalf("at %.0f s: %d of 512 MiB are planned", at, planned)
		}
	}
	if p.gogc != 100 {
		t.Errorf("GOGC %d with no room left", p.gogc)
	}
}

func TestGCLowersAtOnceAndRaisesLate(t *testing.T) {
	p := gcStill{limit: 1024, rest: 8, live: 50, gomemlimit: 1000, gogc: 100}
	var s law.GCState
	set := map[float64]int64{}
	for at := 0.0; at < 100; at++ {
		if at == 60 {
			p.nonGo = 600
		}
		if at == 61 {
			p.nonGo = 0
		}
		var d law.GCDecision
		if s, d = law.StepGC(s, p.sample(at), gcOn); d.GOGC != 0 {
			set[at], p.gogc = d.GOGC, d.GOGC
		}
	}
	// A window of 5 s measures what is wanted, and 10 s pass. 0.8 of 1024 less 58 is 761 MiB; 400
	// percent of 50 leave 561 of it, and a third of these makes 774. 0.8 of 1024 less 658 is
	// 161.2 MiB, 322 percent. The last raise did not last, so the wait is doubled, and the next
	// raise goes half the way to twice the value.
	// twice the time passes, and then half the way to twice as much is gone.
	want := map[float64]int64{15: 200, 30: 400, 45: 774, 60: 322, 81: 455}
	if len(set) != len(want) {
		t.Errorf("set %v, want %v", set, want)
	}
	for at, gogc := range want {
		if set[at] != gogc {
			t.Errorf("at %v s GOGC %d, want %d", at, set[at], gogc)
		}
	}
}

func TestGCWhatCannotBeRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		spoil func(*law.GCSample)
		code  string
		back  bool // returns to Base after a while
	}{
		{"Used", func(x *law.GCSample) { x.Used = -1 }, law.GCUnknown, true},
		{"Limit", func(x *law.GCSample) { x.Limit = 0 }, law.GCNoLimit, true},
		{"Heap", func(x *law.GCSample) { x.Heap = law.Heap{} }, law.GCUnknown, false},
		{"At", func(x *law.GCSample) { x.At = math.NaN() }, law.GCUnknown, false},
		{"a time that goes back", func(x *law.GCSample) { x.At -= 100 }, law.GCUnknown, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := gcStill{limit: 1024, rest: 8, live: 50, gomemlimit: 900, gogc: 100}
			var s law.GCState
			step := func(at float64, fails bool) law.GCDecision {
				x := p.sample(at)
				if fails {
					c.spoil(&x)
				}
				var d law.GCDecision
				if s, d = law.StepGC(s, x, gcOn); d.GOGC != 0 {
					p.gogc = d.GOGC
				}
				return d
			}
			for at := 0.0; at < 120; at++ {
				if d := step(at, at > 60 && int(at)%5 < 4); at > 60 && d.GOGC != 0 {
					t.Fatalf("at %.0f s GOGC is set to %d for a failure that passes", at, d.GOGC)
				}
			}
			for at := 120.0; at < 180; at++ {
				if d := step(at, true); at > 130 && d.Code != c.code {
					t.Fatalf("at %.0f s %s, want %s", at, d.Code, c.code)
				}
			}
			if want := map[bool]int64{true: 100, false: 774}[c.back]; p.gogc != want {
				t.Errorf("GOGC %d after a minute, want %d", p.gogc, want)
			}
			for at := 180.0; at < 360; at++ {
				step(at, false)
			}
			if p.gogc < 420 {
				t.Errorf("GOGC %d three minutes after the failure", p.gogc)
			}
		})
	}
}

// TestGCShareIsReported, whether or not the law acts.
func TestGCShareIsReported(t *testing.T) {
	for _, on := range []bool{false, true} {
		l := newGCLoop(512*mib, 30*mib, law.GCPolicy{On: on})
		l.poll()
		if !math.IsNaN(l.last.Share) {
			t.Errorf("on %v: share %v before there is any", on, l.last.Share)
		}
		l.run(240)
		if share, _ := l.steady(10); math.Abs(l.last.Share/share-1) > 0.1 {
			t.Errorf("on %v: share %.3f, is %.3f", on, l.last.Share, share)
		}
		l.spoil = func(_ float64, x *law.GCSample) { x.CPU.Busy = math.NaN() }
		l.run(270)
		if !math.IsNaN(l.last.Share) {
			t.Errorf("on %v: share %v without the runtime's classes", on, l.last.Share)
		}
		l.spoil = nil
		if l.run(280); math.IsNaN(l.last.Share) {
			t.Errorf("on %v: share unknown after the classes came back", on)
		}
	}
}

func TestGCAllocatesNothing(t *testing.T) {
	p := gcStill{limit: 1024, rest: 8, live: 50, gogc: 100}
	var s law.GCState
	at := 0.0
	if n := testing.AllocsPerRun(100, func() {
		at++
		s, _ = law.StepGC(s, p.sample(at), gcOn)
	}); n != 0 {
		t.Errorf("%v allocations a step", n)
	}
}
