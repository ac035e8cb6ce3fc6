// SPDX-License-Identifier: Apache-2.0

package load

import (
	"math"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	maxRaw = 1_000_000
	// longest is the longest time that a histogram holds.
	longest = time.Hour
)

// Samples are durations: the exact values up to maxRaw of them, a histogram of three
// digits beyond.
type Samples struct {
	raw   []int64                 // nanoseconds
	top   int64                   // the largest, in nanoseconds
	large *hdrhistogram.Histogram // nil up to maxRaw samples
}

func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(1000, int64(2*longest), 3)
}

func record(h *hdrhistogram.Histogram, nanos int64) {
	// The histogram rejects a value above its maximum. No request takes that
	// long, but it seems to if the machine slept.
	h.RecordValue(min(nanos, int64(2*longest)))
}

// Add adds a sample.
func (s *Samples) Add(d time.Duration) {
	nanos := max(int64(d), 0)
	s.top = max(s.top, nanos)
	if s.large != nil {
		record(s.large, nanos)
		return
	}
	if s.raw = append(s.raw, nanos); len(s.raw) > maxRaw {
		s.large = newHistogram()
		for _, n := range s.raw {
			record(s.large, n)
		}
		s.raw = nil
	}
}

func (s *Samples) count() int64 {
	if s.large != nil {
		return s.large.TotalCount()
	}
	return int64(len(s.raw))
}

// Done must be called after the last add and before any of the following methods.
func (s *Samples) Done() { slices.Sort(s.raw) }

// Quantile returns, in seconds, the smallest sample that at least the share q of all
// samples does not exceed. It returns nil if there is none, or if fewer than above
// samples rank higher.
func (s *Samples) Quantile(q float64, above int64) *float64 {
	n := s.count()
	rank := int64(math.Ceil(q*float64(n) - 1e-9)) // 0.95*20 may be 19.000000000000004
	if n == 0 || n-rank < above {
		return nil
	}
	var nanos int64
	if s.large != nil {
		nanos = min(s.large.ValueAtQuantile(100*q), s.top)
	} else {
		nanos = s.raw[max(rank, 1)-1]
	}
	return new(float64(nanos) / 1e9)
}

// Largest returns the largest sample in seconds, nil if there is none.
func (s *Samples) Largest() *float64 {
	if s.count() == 0 {
		return nil
	}
	return new(float64(s.top) / 1e9)
}

// Histogram returns the classes that are not empty.
func (s *Samples) Histogram() finding.Histogram {
	h := s.large
	if h == nil {
		h = newHistogram()
		for _, n := range s.raw {
			record(h, n)
		}
	}
	out := finding.Histogram{Seconds: []float64{}, Counts: []int64{}}
	for _, bar := range h.Distribution() {
		if bar.Count > 0 {
			out.Seconds = append(out.Seconds, float64(bar.To)/1e9)
			out.Counts = append(out.Counts, bar.Count)
		}
	}
	return out
}
