// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"slices"
	"testing"
	"time"
)

func filled(n int, step time.Duration) *Samples {
	s := &Samples{}
	for i := n; i >= 1; i-- {
		s.Add(time.Duration(i) * step)
	}
	s.Done()
	return s
}

func TestQuantiles(t *testing.T) {
	tests := []struct {
		name  string
		n     int
		q     float64
		above int64
		want  float64 // in steps; 0 is nil
	}{
		{"none", 0, 0.5, 0, 0},
		{"one", 1, 0.99, 0, 1},
		{"median-of-even", 4, 0.5, 0, 2},
		{"median-of-odd", 5, 0.5, 0, 3},
		{"p95-of-20", 20, 0.95, 0, 19},
		{"p99-of-100", 100, 0.99, 0, 99},
		{"p99-of-99", 99, 0.99, 0, 99},
		{"p999-too-few-above", 9999, 0.999, 10, 0},
		{"p999-enough-above", 10000, 0.999, 10, 9990},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := filled(tt.n, time.Microsecond).Quantile(tt.q, tt.above)
			switch {
			case tt.want == 0 && got != nil:
				t.Errorf("%v, want nil", *got)
			case tt.want != 0 && (got == nil || math.Abs(*got-tt.want/1e6) > 1e-12):
				t.Errorf("%v, want %v µs", got, tt.want)
			}
		})
	}
}

// TestManySamples: beyond a million samples the histogram takes over, and loses only
// digits.
func TestManySamples(t *testing.T) {
	const n = maxRaw + 500_000
	s := filled(n, 2*time.Microsecond)
	if s.large == nil || s.raw != nil || s.count() != n {
		t.Fatalf("histogram %v, %d raw, %d samples", s.large != nil, len(s.raw), s.count())
	}
	for _, q := range []float64{0.5, 0.95, 0.99, 0.999} {
		want := q * n * 2e-6
		if got := *s.Quantile(q, 0); math.Abs(got/want-1) > 1e-3 {
			t.Errorf("quantile %v is %v, want %v", q, got, want)
		}
	}
	if got := *s.Largest(); got != n*2e-6 {
		t.Errorf("largest %v, want %v", got, n*2e-6)
	}
}

func TestHistogram(t *testing.T) {
	s := &Samples{}
	for _, d := range []time.Duration{-time.Second, 0, time.Millisecond, time.Millisecond, 250 * time.Millisecond, 5 * time.Hour} {
		s.Add(d)
	}
	s.Done()
	h := s.Histogram()
	if !slices.Equal(h.Counts, []int64{2, 2, 1, 1}) || !slices.IsSorted(h.Seconds) || len(h.Seconds) != 4 {
		t.Fatalf("%v", h)
	}
	for i, want := range []float64{0, 1e-3, 0.25, 7200} {
		if got := h.Seconds[i]; got < want || got > want*1.001+1e-6 {
			t.Errorf("class %d up to %v, want %v", i, got, want)
		}
	}
	empty := (&Samples{}).Histogram()
	if empty.Seconds == nil || len(empty.Counts) != 0 || (&Samples{}).Largest() != nil {
		t.Errorf("of nothing: %v", empty)
	}
}

// TestWhatLatencyIs: latency counts from when a request was due; lateness shows the
// generator's part.
func TestWhatLatencyIs(t *testing.T) {
	tally := newTally(Plan{Kind: Open}, time.Second, 1)
	tg := &target{url: "http://h/"}
	tally.end(job{tally: tally, target: tg, due: 100 * time.Millisecond, sent: 150 * time.Millisecond}, 160*time.Millisecond, nil)
	tally.end(job{tally: tally, target: tg, due: 900 * time.Millisecond, sent: 901 * time.Millisecond}, 1200*time.Millisecond, nil)
	tally.end(job{tally: tally, target: tg, due: 950 * time.Millisecond, sent: 950 * time.Millisecond}, 951*time.Millisecond, errStatus(500))
	r := tally.result(1200 * time.Millisecond)
	if r.Sent != 3 || r.Ops != 2 || r.InWindow != 1 || r.Errors != 1 || r.RPS != 1 || r.FirstError != "status 500 Internal Server Error, http://h/" {
		t.Errorf("%+v", r)
	}
	for _, tt := range []struct {
		name string
		got  *float64
		want float64
	}{
		{"p50", r.P50, 0.060}, {"max", r.Max, 0.300}, {"lateness", r.LatenessMax, 0.050},
	} {
		if tt.got == nil || math.Abs(*tt.got-tt.want) > 1e-9 {
			t.Errorf("%s %v, want %v", tt.name, tt.got, tt.want)
		}
	}
}
