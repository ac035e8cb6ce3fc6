// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
)

const (
	finest  = int64(time.Microsecond)
	longest = int64(time.Hour)
)

// latency collects samples from several goroutines.
type latency struct {
	mu sync.Mutex
	h  *hdrhistogram.Histogram
}

func newLatency() *latency { return &latency{h: hdrhistogram.New(finest, longest, 3)} }

func (l *latency) add(d time.Duration) {
	v := min(max(int64(d), 0), longest)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.h.RecordValue(v); err != nil {
		panic(err) // v is within the bounds
	}
}

// fill writes the distribution into r.
func (l *latency) fill(r *Result) {
	n := l.h.TotalCount()
	if n == 0 {
		return
	}
	seconds := func(v int64) *float64 {
		s := time.Duration(v).Seconds()
		return &s
	}
	at := func(percent int64) *float64 {
		if n*(100-percent) < 100 { // fewer than one sample lies above
			return nil
		}
		return seconds(l.h.ValueAtQuantile(float64(percent)))
	}
	r.P50, r.P95, r.P99, r.Max = at(50), at(95), at(99), seconds(l.h.Max())
	r.Latency = new(load.Distribution(l.h))
}
