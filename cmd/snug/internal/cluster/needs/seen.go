// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"fmt"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

const (
	// high is the part of the time whose use a CPU request covers, as of a watch (package size).
	high = 0.95
	// low is the part of the time in which Go held least beside objects: then the heap was full.
	low = 0.05
	day = 24 * time.Hour
)

// Size returns what was seen, in the form of which package size decides the container. Each figure is that of one
// container: the most of all of them, or the mean.
func (w *Workload) Size() *size.Seen {
	s := &size.Seen{
		Seconds: w.Heap, Collections: int(w.Cycles + 0.5), CPUs: w.Has.CPUs, Minor: w.Has.Minor, Aware: w.Has.Aware,
		Days: w.Seen / day.Seconds(), Every: w.Every,
	}
	quantile := func(f *figure.Of[float64], d *Sketch, part float64) {
		if n, ok := d.Quantile(part); ok {
			f.Know(n, "")
		}
	}
	mean := func(f *figure.Of[float64], d *Sketch) {
		if n, ok := d.Mean(); ok {
			f.Know(n, "")
		}
	}
	mean(&s.Live, &w.Live)
	quantile(&s.LiveMost, &w.Live, 1)
	mean(&s.Allocated, &w.Allocated)
	s.Burst, _ = w.Allocated.Quantile(high)
	quantile(&s.Rest, &w.Rest, low)
	quantile(&s.Other, &w.Other, 1)
	quantile(&s.Used, &w.Used, 1)
	mean(&s.CPUMean, &w.CPU)
	quantile(&s.CPUHigh, &w.CPU, high)
	if w.Busy > 0 && s.CPUMean.Known() {
		s.GCCores.Know(s.CPUMean.N*min(1, w.GC/w.Busy), "")
	}
	if w.GoalFor > 0 {
		s.Goal.Know(w.Goal/w.GoalFor, "")
	}
	if t := w.Throttle; t.Whole > 0 {
		s.Throttled.Know(min(1, t.Part/t.Whole), "")
	}
	h := &w.Has
	if h.Quota.N > 0 {
		s.Quota.Know(h.Quota.Least, "")
	}
	if h.Limit.N > 0 {
		s.Limit.Know(int64(h.Limit.Least), "")
	}
	if h.Procs > 0 {
		s.Procs.Know(h.Procs, "")
	}
	if h.GOGC != nil {
		s.GOGC.Know(*h.GOGC, "")
	}
	if h.Bound > 0 {
		s.MemLimit.Know(h.Bound, "")
	}
	why := w.Why
	if w.Mates > 1 {
		why = fmt.Sprintf("up to %d Go processes share a container", w.Mates)
		s.Live, s.LiveMost = figure.Of[float64]{}, figure.Of[float64]{}
	}
	for _, f := range []*figure.Of[float64]{&s.Live, &s.Allocated, &s.GCCores, &s.Rest, &s.Other} {
		f.Because(why)
	}
	s.CPUMost.Because("agents look once in a while")
	return s
}
