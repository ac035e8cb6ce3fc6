// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"golang.org/x/exp/trace"
)

const ms = int64(time.Millisecond)

// script is a fold with methods for events; times are in ms.
type script struct{ *fold }

func newScript(procs uint64) script {
	s := script{newFold()}
	s.at(0, true)
	s.metric(metricProcs, procs)
	return s
}

func (s script) t(at float64) script {
	s.at(int64(at*float64(ms)), false)
	return s
}

func (s script) run(g trace.GoID, p trace.ProcID) {
	s.goroutine(g, p, trace.GoRunnable, trace.GoRunning, "")
}

func (s script) block(g trace.GoID, why string) {
	s.goroutine(g, 0, trace.GoRunning, trace.GoWaiting, why)
}

func (s script) wake(g trace.GoID) {
	s.goroutine(g, 0, trace.GoWaiting, trace.GoRunnable, "")
}

func (s script) create(g trace.GoID) {
	s.goroutine(g, 0, trace.GoNotExist, trace.GoRunnable, "")
}

func near(got, want float64) bool { return math.Abs(got-want) <= 1e-9*max(1, math.Abs(want)) }

func TestStopsOfTheWorld(t *testing.T) {
	s := newScript(4)
	s.t(1).mark(true, false)
	s.t(1).stop("GC sweep termination")
	s.t(3).restart()
	s.t(8).stop("GC mark termination")
	s.t(9).restart()
	s.t(9).mark(false, false)
	s.t(12).stop("GOMAXPROCS")
	s.t(17).restart()
	s.t(20).restart() // without a stop
	got := s.summary()
	w := &got.Wall
	if w.Run != 20*time.Millisecond || w.GCs != 1 || w.Ended != 1 || w.Marking != 8*time.Millisecond {
		t.Errorf("run %v, %d collections, %d ended, %v of marking", w.Run, w.GCs, w.Ended, w.Marking)
	}
	if d := &w.Stops; d.Count != 3 || d.Sum != 8*time.Millisecond || d.Max != 5*time.Millisecond || d.Mean() != 8*time.Millisecond/3 {
		t.Errorf("stops: %d, %v, max %v, mean %v", d.Count, d.Sum, d.Max, d.Mean())
	}
	if w.GCStopped() != 3*time.Millisecond || len(w.StopsBy) != 3 || w.StopsBy[0].Reason != "GOMAXPROCS" || w.StopsBy[0].GC {
		t.Errorf("for the collector %v, by reason %+v", w.GCStopped(), w.StopsBy)
	}
	if gc := got.Occupancy.GC; gc == nil || !near(*gc, 3./20) {
		t.Errorf("the collector held %v, want 3/20: all Ps while it stopped the world, none while another did", gc)
	}
}

func TestOpenAtTheEnd(t *testing.T) {
	s := newScript(1)
	s.proc(0, trace.ProcUndetermined, trace.ProcRunning)
	s.t(2).create(7)
	s.t(4).run(7, 0)
	s.label(7, labelDedicated)
	s.mark(true, false)
	s.t(10).metric("/unknown", 1)
	got := s.summary()
	if got.Occupancy.Running != 6*time.Millisecond || got.Occupancy.Dedicated != 6*time.Millisecond || got.Occupancy.Held[0] != 10*time.Millisecond {
		t.Errorf("running %v, marking %v, held %v", got.Occupancy.Running, got.Occupancy.Dedicated, got.Occupancy.Held)
	}
	if got.Wall.GCs != 1 || got.Wall.Ended != 0 || got.Wall.Marking != 6*time.Millisecond {
		t.Errorf("%+v", got.Wall)
	}
	if gc := got.Occupancy.GC; gc == nil || !near(*gc, .6) {
		t.Errorf("the collector held %v, want 0.6", gc)
	}
}

func TestLatency(t *testing.T) {
	s := newScript(1)
	// A goroutine that was runnable when the trace began: the time before is unknown.
	s.goroutine(1, 0, trace.GoUndetermined, trace.GoRunnable, "")
	s.t(5).run(1, 0)
	s.t(6).goroutine(1, 0, trace.GoRunning, trace.GoNotExist, "")
	at := 6.0
	for range 100 {
		s.t(at).create(2)
		s.t(at+1).run(2, 0)
		s.t(at+2).block(2, "chan receive")
		s.t(at + 5).wake(2)
		s.t(at+7).run(2, 0)
		s.t(at+8).goroutine(2, 0, trace.GoRunning, trace.GoSyscall, "")
		s.t(at+12).goroutine(2, 0, trace.GoSyscall, trace.GoRunning, "")
		s.t(at+13).goroutine(2, 0, trace.GoRunning, trace.GoNotExist, "")
		at += 13
	}
	g := s.summary().Goroutines
	l := &g.Latency
	if l.Count != 200 || l.Sum != 300*time.Millisecond || l.Max != 2*time.Millisecond {
		t.Errorf("%d, %v, max %v; want 100 of 1 ms and 100 of 2 ms", l.Count, l.Sum, l.Max)
	}
	if q := l.Quantiles; q[0] == nil || q[1] == nil || q[3] != nil ||
		math.Abs(q[1].Seconds()-.002) > .002*HistogramError {
		t.Errorf("quantiles %v", q)
	}
	if g.Created != 100 || g.Ended != 101 || g.Peak != 1 || g.Syscall != 400*time.Millisecond || g.Blocked != 300*time.Millisecond || g.Runnable != 305*time.Millisecond {
		t.Errorf("%+v", g)
	}
	if len(g.Reasons) != 1 || g.Reasons[0] != (Reason{"chan receive", 100, 300 * time.Millisecond}) {
		t.Errorf("%+v", g.Reasons)
	}
}

func TestCollectorsShare(t *testing.T) {
	s := newScript(2)
	s.create(1)
	s.create(2)
	s.t(1).run(1, 0) // a worker
	s.label(1, labelDedicated)
	s.t(2).run(2, 1) // will assist
	s.t(3).assist(2, true)
	s.sweep(1, true) // on the same P: it counts once
	s.t(4).sweep(1, false)
	s.t(5).block(2, "GC mark assist wait for work")
	s.t(6).wake(2)
	s.t(7).run(2, 1)
	s.t(8).assist(2, false)
	s.t(9).block(1, "GC worker (idle)")
	s.t(10).wake(1)
	s.run(1, 0)
	s.label(1, labelIdle) // an idle worker does not count
	s.t(20).block(1, "GC worker (idle)")
	o := s.summary().Occupancy
	if o.Dedicated != 8*time.Millisecond || o.Assist != 3*time.Millisecond || o.Sweep != time.Millisecond || o.Idle != 10*time.Millisecond {
		t.Errorf("%+v", o)
	}
	if o.Available != 40*time.Millisecond || o.GC == nil || !near(*o.GC, 11./40) {
		t.Errorf("%v of %v", *o.GC, o.Available)
	}
}

func TestGOMAXPROCSChanges(t *testing.T) {
	s := newScript(2)
	s.t(10).metric(metricProcs, 4)
	s.t(10).metric(metricProcs, 4)
	s.t(20).metric(metricProcs, 1)
	s.t(30).metric(metricHeap, 5<<20)
	s.metric(metricGoal, 8<<20)
	s.metric(metricGoal, math.MaxUint64)
	got := s.summary()
	if p := got.Procs; len(p) != 3 || p[1] != (Procs{10 * time.Millisecond, 4}) || got.Occupancy.Available != 70*time.Millisecond {
		t.Errorf("%v, %v", p, got.Occupancy.Available)
	}
	if h := got.Heap; *h.Peak != 5<<20 || *h.GoalLast != 8<<20 {
		t.Errorf("%+v", h)
	}
}

// TestStateBeforeTheTrace: a state that is reported late counts from the start of the
// trace.
func TestStateBeforeTheTrace(t *testing.T) {
	s := newScript(2)
	s.t(4).goroutine(1, 0, trace.GoUndetermined, trace.GoWaiting, "")
	s.t(5).goroutine(2, 0, trace.GoUndetermined, trace.GoRunning, "")
	s.t(6).goroutine(3, 0, trace.GoUndetermined, trace.GoSyscall, "")
	s.t(7).proc(1, trace.ProcUndetermined, trace.ProcRunning)
	s.t(8).proc(0, trace.ProcUndetermined, trace.ProcIdle)
	s.t(9).goroutine(2, 0, trace.GoRunning, trace.GoRunning, "")
	s.mark(true, true)
	s.t(10).mark(false, false)
	got := s.summary()
	g, o, w := &got.Goroutines, &got.Occupancy, &got.Wall
	if g.Blocked != 10*time.Millisecond || g.Syscall != 10*time.Millisecond || o.Running != 10*time.Millisecond || g.Created != 0 || g.Peak != 3 || len(g.Reasons) != 0 {
		t.Errorf("%+v %+v", g, o)
	}
	if o.Held[0] != 0 || o.Held[1] != 10*time.Millisecond || w.Marking != 10*time.Millisecond || w.GCs != 0 || w.Ended != 1 {
		t.Errorf("held %v, %+v", o.Held, w)
	}
}

// TestMMU compares with known values.
func TestMMU(t *testing.T) {
	s := newScript(2)
	s.t(20).stop("GC sweep termination") // 2 ms of both Ps
	s.t(22).restart()
	s.create(1)
	s.t(30).run(1, 0) // 5 ms of one
	s.label(1, labelDedicated)
	s.t(35).block(1, "")
	s.t(200).metric("", 0)
	o := s.summary().Occupancy
	for i, want := range []float64{0, .75, 1 - 4.5/100} {
		if o.MMU[i] == nil || !near(*o.MMU[i], want) {
			t.Errorf("window %v: %v, want %v", Windows[i], *o.MMU[i], want)
		}
	}
	if o.MMU[3] != nil {
		t.Errorf("a window longer than the trace has %v", *o.MMU[3])
	}
}

// TestMMUAgainstDefinition compares with the minimum over all windows.
func TestMMUAgainstDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var m mmu
		m.begin(0)
		type piece struct {
			end   int64
			share float64
		}
		var pieces []piece
		end := int64(0)
		for range 1 + r.IntN(60) {
			end += 1 + r.Int64N(1+r.Int64N(8*ms))
			share := float64(r.IntN(5)) / 4
			pieces = append(pieces, piece{end, share})
			m.to(end, share)
		}
		m.endHere()
		taken := func(t int64) float64 {
			sum, from := 0.0, int64(0)
			for _, p := range pieces {
				sum += p.share * float64(max(min(t, p.end)-from, 0))
				from = p.end
			}
			return sum
		}
		for i, window := range Windows {
			w, worst := int64(window), -1.0
			look := func(t int64) {
				if t >= 0 && t+w <= end {
					worst = max(worst, taken(t+w)-taken(t))
				}
			}
			look(0)
			for _, p := range pieces {
				look(p.end)
				look(p.end - w)
			}
			got, ok := m.minimum(i)
			if ok != (worst >= 0) || ok && math.Abs(got-(1-worst/float64(w))) > 1e-6 {
				t.Fatalf("window %v of %v: %v, %v; want %v", window, pieces, got, ok, 1-worst/float64(w))
			}
		}
	}
}

func TestMMUForgetsWhatIsOver(t *testing.T) {
	var m mmu
	m.begin(0)
	for i := range int64(1e6) {
		m.to((i+1)*20_000, float64(i%2))
	}
	if n := cap(m.blocks) * block; n > 1<<18 {
		t.Errorf("%d corners for windows of up to 50 000", n)
	}
	m.endHere()
	for i := range Windows {
		if got, ok := m.minimum(i); !ok || math.Abs(got-.5) > .02 {
			t.Errorf("window %v: %v, %v", Windows[i], got, ok)
		}
	}
}

func TestHistogram(t *testing.T) {
	for _, ns := range []int64{0, 1, 31, 32, 33, 63, 64, 1000, 123456789, math.MaxInt64 - 1, math.MaxInt64} {
		c := class(ns)
		if low(c) > ns || c+1 < len(histogram{}.classes) && low(c+1) <= ns {
			t.Errorf("%d is in class %d, which begins at %d", ns, c, low(c))
		}
	}
	var h histogram
	for i := range int64(100_000) {
		h.add(i * 17)
	}
	for _, p := range Percentiles {
		got, ok := h.quantile(p)
		if want := p * 1.7e6; !ok || math.Abs(float64(got)-want) > want*HistogramError+17 {
			t.Errorf("P%v: %v, %v; want %v", p, got, ok, want)
		}
	}
	h = histogram{}
	h.add(5)
	if _, ok := h.quantile(.5); ok {
		t.Error("one sample has a median")
	}
}

func TestTimelineKeepsWhatItMerges(t *testing.T) {
	s := newScript(1)
	r := rand.New(rand.NewPCG(3, 4))
	now, stopped, peak := 0.0, 0.0, uint64(0)
	for range 5000 {
		now += r.ExpFloat64()
		s.t(now).stop("GC sweep termination")
		d := r.Float64()
		now += d
		s.t(now).restart()
		stopped += d
		v := r.Uint64N(1 << 30)
		peak = max(peak, v)
		s.metric(metricHeap, v)
	}
	l := s.summary().Timeline
	if n := len(l.Points); n > steps || n < steps/2 {
		t.Errorf("%d steps", n)
	}
	sum, high := 0.0, uint64(0)
	for i, p := range l.Points {
		long := min(l.Step.Seconds()*1e3, now-float64(i)*l.Step.Seconds()*1e3)
		sum += p.Stopped * long
		high = max(high, p.HeapHigh)
		if math.Abs(p.GC-p.Stopped) > 1e-6 {
			t.Errorf("step %d: stopped %v, held %v", i, p.Stopped, p.GC)
		}
	}
	if math.Abs(sum-stopped) > stopped*1e-3 || high != peak {
		t.Errorf("stopped for %v ms, want %v; heap up to %d, want %d", sum, stopped, high, peak)
	}
}

// TestImpossibleTimes: the clock goes back, and overflows.
func TestImpossibleTimes(t *testing.T) {
	f := newFold()
	f.at(math.MinInt64+5, true)
	f.metric(metricProcs, math.MaxUint64)
	f.at(math.MaxInt64, false)
	f.stop("GC ")
	f.at(0, false)
	f.restart()
	f.at(math.MinInt64, false)
	f.proc(1_000_001, trace.ProcIdle, trace.ProcRunning)
	f.proc(-1, trace.ProcIdle, trace.ProcRunning)
	f.goroutine(-1, 0, trace.GoNotExist, trace.GoRunnable, "")
	if s := f.summary(); s.Wall.Run < 0 || s.Occupancy.Available < 0 {
		t.Errorf("%+v", s.Wall)
	}
}

// TestCourseOfPs: each P's time by what holds it, also of states that are reported late.
func TestCourseOfPs(t *testing.T) {
	s := newScript(2)
	s.t(4).proc(0, trace.ProcUndetermined, trace.ProcRunning)
	s.goroutine(1, 0, trace.GoUndetermined, trace.GoRunning, "") // since the start
	s.t(8).goroutine(1, 0, trace.GoRunning, trace.GoSyscall, "") // keeps its P
	s.t(12).goroutine(1, 0, trace.GoSyscall, trace.GoRunning, "")
	s.t(20).block(1, "")
	s.proc(0, trace.ProcRunning, trace.ProcIdle)
	s.t(24).proc(1, trace.ProcIdle, trace.ProcRunning)
	s.create(2)
	s.run(2, 1)
	s.t(26).sweep(1, true)
	s.t(28).sweep(1, false)
	s.t(30).block(2, "")
	s.create(3)
	s.run(3, 1)
	s.label(3, labelIdle)
	s.t(32).block(3, "")
	s.create(4)
	s.run(4, 1)
	s.assist(4, true)
	s.t(36).assist(4, false)
	s.proc(maxLanes, trace.ProcIdle, trace.ProcRunning)
	s.t(40).metric("", 0)
	got := s.summary().Ps
	if len(got.Program) != 2 || len(got.Program[0]) > maxColumns || got.Step > time.Millisecond {
		t.Fatalf("%d Ps, %d steps of %v", len(got.Program), len(got.Program[0]), got.Step)
	}
	for i, want := range [][3]float64{{16, 0, 4}, {8, 8, 0}} { // ms by the program, the collector, others
		for k, of := range [][]float64{got.Program[i], got.Collector[i], got.Other[i]} {
			sum := 0.0
			for _, share := range of {
				sum += share * got.Step.Seconds() * 1000
			}
			if math.Abs(sum-want[k]) > .5 { // the last step is cut off
				t.Errorf("P %d, kind %d: %v ms, want %v", i, k, sum, want[k])
			}
		}
	}
}
