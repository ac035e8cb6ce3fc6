// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sync"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
)

// latency collects samples from several goroutines.
type latency struct {
	mu sync.Mutex
	load.Samples
}

func (l *latency) add(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.Add(d)
}

// fill writes the distribution into r. A percentile needs a sample above it.
func (l *latency) fill(r *Result) {
	if l.Done(); l.Largest() == nil {
		return
	}
	r.P50, r.P95, r.P99, r.Max = l.Quantile(0.50, 1), l.Quantile(0.95, 1), l.Quantile(0.99, 1), l.Largest()
	r.Latency = new(l.Histogram())
}
