// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestBetween(t *testing.T) {
	stops := func(counts ...int64) finding.Histogram {
		return finding.Histogram{Seconds: []float64{0.001, 0.01, 0.1}[:len(counts)], Counts: counts}
	}
	ns := func(n int, last ...uint64) []uint64 { return append(slices.Repeat([]uint64{1000}, n), last...) }
	a := Stats{PID: 1, Uptime: 1, NumGC: 10, STW: 0.5, GCCPU: 1, TotalCPU: 10, Pauses: ns(10), Stops: stops(20), PeakHeap: 900}
	for _, tt := range []struct {
		name string
		b    Stats
		want GC
		err  bool
	}{
		{"nothing", Stats{PID: 1, Uptime: 2, NumGC: 10, STW: 0.5, GCCPU: 1, TotalCPU: 12, Pauses: ns(10), Stops: stops(20), PeakHeap: 7, HeapLive: 5},
			GC{TotalCPU: 2, PeakHeap: 7, HeapLive: 5}, false},
		{"exact", Stats{PID: 1, Uptime: 2, NumGC: 12, STW: 0.75, GCCPU: 1.5, TotalCPU: 12, Pauses: ns(10, 8e6, 3e6), Stops: stops(22, 2)},
			GC{Cycles: 2, CPU: 0.5, TotalCPU: 2, STW: 0.25, STWMax: 0.008}, false},
		// Two stops of 0.9 ms make a cycle of 1.8 ms, and no stop was longer than 1 ms.
		{"both-stops-of-a-cycle", Stats{PID: 1, Uptime: 2, NumGC: 11, STW: 0.5, GCCPU: 1, TotalCPU: 10, Pauses: ns(10, 18e5), Stops: stops(22)},
			GC{Cycles: 1, STWMax: 0.001}, false},
		{"longest-was-before", Stats{PID: 1, Uptime: 2, NumGC: 11, STW: 0.5, GCCPU: 1, TotalCPU: 10, Pauses: append(ns(9, 9e8), 1000), Stops: stops(22)},
			GC{Cycles: 1, STWMax: 1e-6}, false},
		{"more-cycles-than-the-ring", Stats{PID: 1, Uptime: 2, NumGC: 310, STW: 0.5, GCCPU: 1, TotalCPU: 10, Pauses: ns(256), Stops: stops(600, 1)},
			GC{Cycles: 300, STWMax: 0.01}, false},
		{"another-process", Stats{PID: 2, Uptime: 2, NumGC: 10, STW: 0.5}, GC{}, true},
		{"wrong-order", Stats{PID: 1, Uptime: 0.5, NumGC: 9}, GC{}, true},
	} {
		got, err := Between(a, tt.b)
		if got != tt.want || (err != nil) != tt.err {
			t.Errorf("%s:\ngot  %+v, %v\nwant %+v", tt.name, got, err, tt.want)
		}
	}
}

var kept []byte

// TestReadStats compares with collections that the test itself causes.
func TestReadStats(t *testing.T) {
	a := readStats()
	for range 3 {
		runtime.GC()
	}
	const size = 32 << 20
	kept = make([]byte, size)
	heap.next.Store(0)
	heap.tick()
	kept = nil
	runtime.GC()
	b := readStats()
	gc, err := Between(a, b)
	if err != nil || gc.Cycles < 4 || !(gc.STW > 0) || !(gc.STWMax > 0) || gc.STWMax > gc.STW*1.000001 || !(gc.CPU > 0) {
		t.Errorf("%+v, %v", gc, err)
	}
	if gc.PeakHeap < size || gc.HeapLive >= size {
		t.Errorf("peak %d, live %d; %d was allocated and left", gc.PeakHeap, gc.HeapLive, size)
	}
	if c := readStats(); c.PeakHeap >= size {
		t.Errorf("peak %d of before", c.PeakHeap)
	}
	var pauses, stops float64
	for _, p := range b.Pauses {
		pauses += float64(p) / 1e9
	}
	for _, n := range b.Stops.Counts {
		stops += float64(n)
	}
	if b.NumGC <= 256 && math.Abs(pauses-b.STW) > 1e-8 {
		t.Errorf("pauses are %g s together, the total is %g s", pauses, b.STW)
	}
	if stops < 2*float64(b.NumGC) {
		t.Errorf("%g stops of %d cycles", stops, b.NumGC)
	}
}

// TestReadStatsFullRing: after more cycles than the ring has places, the newest pauses
// are there, in order.
func TestReadStatsFullRing(t *testing.T) {
	var m runtime.MemStats
	for {
		runtime.GC()
		if runtime.ReadMemStats(&m); m.NumGC > 300 {
			break
		}
	}
	s := readStats()
	if len(s.Pauses) != 256 || s.Pauses[255] != m.PauseNs[(s.NumGC+255)%256] || s.Pauses[0] != m.PauseNs[s.NumGC%256] {
		t.Errorf("%d pauses of %d cycles: %v", len(s.Pauses), s.NumGC, s.Pauses)
	}
}

func TestFeed(t *testing.T) {
	a, b := newFeed(50_000), newFeed(50_000)
	if string(a.body) != string(b.body) {
		t.Error("two feeds of one size differ")
	}
	if n := len(a.body); n < 50_000 || n > 52_000 {
		t.Errorf("%d bytes, want 50,000 and an item at most", n)
	}
	if a.hits == 0 || a.hits == a.items {
		t.Errorf("%d hits of %d items", a.hits, a.items)
	}
	for _, w := range vocabulary {
		if w == theWord {
			t.Errorf("%s stands everywhere", w)
		}
	}
	x := reader{feed: a}
	p, err := x.parse(7)
	if err != nil || p.items != a.items || p.hits != a.hits {
		t.Fatalf("%d items, %d hits, %v; want %d, %d", p.items, p.hits, err, a.items, a.hits)
	}
	for i, s := range p.keep {
		if s.Title == "" || s.Link == "" || s.GUID == "" || s.Category == "" || s.Date == "" || len(s.Description) < 200 {
			t.Fatalf("item %d: %+v", i, s)
		}
	}
	// An invalid document is an error, not fewer hits.
	a.body = a.body[:len(a.body)/2]
	if _, err := x.parse(7); err == nil {
		t.Error("half a document is no error")
	}
	one := reader{options: Options{Docs: 2, Workers: 2}, feed: a}
	for _, how := range []func(*reader) ([]parsed, error){oneByOne, allAtOnce, byWorkers} {
		if _, err := how(&one); err == nil {
			t.Error("half a document is no error")
		}
	}
}
