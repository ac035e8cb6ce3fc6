// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"runtime/trace"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func read(t testing.TB, data []byte) *Summary {
	t.Helper()
	s, err := Read(context.Background(), bytes.NewReader(data), Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestThisProcess compares a trace of this process with the figures of its runtime.
func TestThisProcess(t *testing.T) {
	r := record(t, busy)
	s := read(t, r.data)
	if s.Partial != nil || s.Bytes != int64(len(r.data)) {
		t.Errorf("partial: %v; %d of %d bytes", s.Partial, s.Bytes, len(r.data))
	}
	if n := int64(r.after.NumGC - r.before.NumGC); n == 0 || s.Wall.GCs < n || s.Wall.GCs > n+1 { // one may begin afterwards
		t.Errorf("%d collections, the runtime says %d", s.Wall.GCs, n)
	}
	if len(s.Procs) != 1 || s.Procs[0].N != r.procs {
		t.Errorf("GOMAXPROCS %v, the runtime says %d", s.Procs, r.procs)
	}
	if s.Wall.Run < r.wall {
		t.Errorf("run time %v, took %v", s.Wall.Run, r.wall)
	}
	// Our stop begins at the request, the runtime's pause when the world has stopped.
	if pause := time.Duration(r.after.PauseTotalNs - r.before.PauseTotalNs); s.Wall.GCStopped() < pause*9/10 {
		t.Errorf("stopped for %v, the runtime says %v", s.Wall.GCStopped(), pause)
	}
	o := &s.Occupancy
	if o.GC == nil || *o.GC <= 0 || *o.GC >= 1 || o.MMU[0] == nil || o.Running <= 0 || o.Running > o.Available {
		t.Errorf("%+v", o)
	}
	held := time.Duration(0)
	for _, h := range o.Held {
		held += h
	}
	if held < o.Running*9/10 || held > o.Available*101/100 {
		t.Errorf("Ps held for %v of %v, goroutines ran for %v", held, o.Available, o.Running)
	}
	if h := s.Heap; h.Peak == nil || *h.Peak < 4<<20 || h.GoalLast == nil {
		t.Errorf("heap %+v", h)
	}
	g := &s.Goroutines
	if g.Created < 20 || g.Peak < 20 || g.Latency.Count < 20_000 || g.Blocked <= 0 {
		t.Errorf("goroutines %+v", g)
	}
	found := false
	for _, r := range g.Reasons {
		found = found || r.Reason == "chan receive" && r.Count > 1000
	}
	if !found {
		t.Errorf("no chan receive among %+v", g.Reasons)
	}
	if l := &s.Timeline; len(l.Points) < steps/2 || !l.HasHeap || !l.HasProcs {
		t.Errorf("timeline of %d", len(l.Points))
	}
	ps, running, all := &s.Ps, 0.0, 0.0
	for p := range ps.Program {
		for i := range ps.Program[p] {
			long := min(ps.Step, s.Wall.Run-time.Duration(i)*ps.Step).Seconds()
			busy := ps.Program[p][i] + ps.Collector[p][i]
			running += busy * long
			all += (busy + ps.Other[p][i]) * long
			if busy+ps.Other[p][i] > 1+1e-9 {
				t.Errorf("P %d was held for %v of step %d", p, busy+ps.Other[p][i], i)
			}
		}
	}
	if n := len(ps.Program); n != len(o.Held) {
		t.Errorf("the course of %d Ps of %d", n, len(o.Held))
	}
	if !about(running, o.Running.Seconds()) || !about(all, held.Seconds()) {
		t.Errorf("by their course Ps ran for %v s and were held for %v s; by the sums %v and %v", running, all, o.Running, held)
	}
}

// about reports whether two sums are equal within 1 %.
func about(a, b float64) bool { return math.Abs(a-b) <= .01*max(a, b) }

func TestFlightRecorder(t *testing.T) {
	f := trace.NewFlightRecorder(trace.FlightRecorderConfig{MinAge: 10 * time.Second})
	if err := f.Start(); err != nil {
		t.Skip(err)
	}
	defer f.Stop()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 5 {
		runtime.GC()
	}
	runtime.ReadMemStats(&after)
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	s := read(t, b.Bytes())
	// The first, and those that the runtime itself begins, may be included.
	if n := int64(after.NumGC - before.NumGC); s.Wall.GCs < n || s.Wall.GCs > n+3 {
		t.Errorf("%d collections, the runtime says %d", s.Wall.GCs, n)
	}
	if len(s.Procs) == 0 || s.Procs[0].N != runtime.GOMAXPROCS(0) {
		t.Errorf("GOMAXPROCS %v", s.Procs)
	}
}

func TestGOMAXPROCSOverTime(t *testing.T) {
	before := runtime.GOMAXPROCS(0)
	r := record(t, func() {
		runtime.GOMAXPROCS(before + 2)
		time.Sleep(time.Millisecond)
		runtime.GOMAXPROCS(before)
	})
	p := read(t, r.data).Procs
	if len(p) != 3 || p[0].N != before || p[1].N != before+2 || p[2].N != before || p[1].At > p[2].At {
		t.Errorf("%v", p)
	}
}

// generations returns a trace of several generations.
func generations(t testing.TB) []byte {
	return record(t, func() {
		for range 12 {
			runtime.GC()
			time.Sleep(200 * time.Millisecond) // a generation lasts for about a second
		}
	}).data
}

// TestCutOff cuts a trace everywhere: the summary contains whole generations and
// nothing else.
func TestCutOff(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s")
	}
	data := generations(t)
	whole := read(t, data)
	partial, none := 0, 0
	last := int64(0)
	for i := range 50 {
		s, err := Read(context.Background(), bytes.NewReader(data[:len(data)*i/50]), Options{})
		var damaged *DamagedError
		switch {
		case err == nil && s.Partial == nil:
			t.Errorf("cut at %d/50: not reported as partial", i)
		case err == nil:
			partial++
			if !errors.Is(s.Partial, ErrCutOff) || s.Wall.GCs < last || s.Wall.GCs > whole.Wall.GCs || s.Wall.Run > whole.Wall.Run {
				t.Errorf("cut at %d/50: %v, %d collections of %d in %v", i, s.Partial, s.Wall.GCs, whole.Wall.GCs, s.Wall.Run)
			}
			last = s.Wall.GCs
		case errors.Is(err, ErrNotTrace) && i == 0, errors.As(err, &damaged):
			none++
		default:
			t.Errorf("cut at %d/50: %v", i, err)
		}
	}
	if partial < 10 || none < 2 || last == 0 {
		t.Errorf("%d partial, %d of nothing, up to %d collections", partial, none, last)
	}
}

func TestReadingFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 3 s")
	}
	data := generations(t)
	broken := errors.New("the line is dead")
	s, err := Read(context.Background(), io.MultiReader(bytes.NewReader(data[:len(data)*9/10]), iotest.ErrReader(broken)), Options{})
	if err != nil || !errors.Is(s.Partial, broken) || s.Wall.GCs == 0 {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := Read(context.Background(), iotest.ErrReader(broken), Options{}); !errors.Is(err, broken) {
		t.Error(err)
	}
	// Ctrl-C while Read waits for the rest.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s, err = Read(ctx, io.MultiReader(bytes.NewReader(data[:len(data)*9/10]), readerFunc(func([]byte) (int, error) {
		cancel()
		return 0, context.Canceled
	})), Options{})
	if err != nil || !errors.Is(s.Partial, context.Canceled) {
		t.Errorf("%v, %v", s, err)
	}
	cancel()
	if _, err := Read(ctx, bytes.NewReader(data), Options{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestWhatIsNotATrace(t *testing.T) {
	var format *FormatError
	var damaged *DamagedError
	pad := strings.Repeat("\x00", 100)
	for name, c := range map[string]struct {
		data string
		is   func(error) bool
	}{
		"nothing":  {"", func(err error) bool { return err == ErrNotTrace }},
		"text":     {"a line of text that is long enough\n", func(err error) bool { return err == ErrNotTrace }},
		"newer":    {"go 1.28 trace\x00\x00\x00" + pad, func(err error) bool { return errors.As(err, &format) && format.Minor == 28 }},
		"between":  {"go 1.24 trace\x00\x00\x00" + pad, func(err error) bool { return errors.As(err, &format) && format.Minor == 24 }},
		"a header": {"go 1.26 trace\x00\x00\x00", func(err error) bool { return errors.As(err, &damaged) }},
		"damaged":  {"go 1.26 trace\x00\x00\x00" + strings.Repeat("\xff", 1000), func(err error) bool { return errors.As(err, &damaged) }},
		"older":    {"go 1.21 trace\x00\x00\x00" + pad, func(err error) bool { return errors.As(err, &format) && format.Minor == 21 }},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Read(context.Background(), strings.NewReader(c.data), Options{})
			if err == nil || !c.is(err) {
				t.Errorf("%v, %v", s, err)
			}
		})
	}
}

// FuzzRead checks that no input crashes the program, and that all figures are within
// their ranges.
func FuzzRead(f *testing.F) {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	f.Add(record(f, func() {}).data) // a few KiB: minimising a long input takes too long
	f.Add([]byte("go 1.26 trace\x00\x00\x00"))
	f.Add([]byte("go 1.22 trace\x00\x00\x00\x01\x01\x00\x00\x00"))
	f.Add([]byte("go 1.21 trace\x00\x00\x00\x01\x00\x00\x44\x01\x02\x03\x25\x01\x01a"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Read(context.Background(), bytes.NewReader(data), Options{})
		if (s == nil) != (err != nil) {
			t.Fatalf("%v, %v", s, err)
		}
		if s == nil {
			return
		}
		w, o := &s.Wall, &s.Occupancy
		if w.Run <= 0 || w.Stops.Sum < 0 || w.Marking < 0 || o.Available < 0 || o.Running < 0 || len(s.Timeline.Points) > steps {
			t.Errorf("%+v %+v", w, o)
		}
		for _, r := range append(o.MMU[:], o.GC) {
			if r != nil && !(*r >= 0 && *r <= 1) {
				t.Errorf("a share of %v", *r)
			}
		}
	})
}
