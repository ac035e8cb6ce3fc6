// SPDX-License-Identifier: Apache-2.0

package needs

import (
	"fmt"
	"math"
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

// share sets f to a part of a whole, if there is any.
func share(f *figure.Of[float64], part, whole float64) {
	if whole > 0 {
		f.Know(part/whole, "")
	}
}

func mean(f *figure.Of[float64], d *Sketch) { share(f, d.Sum, d.Seconds) }

func quantile(f *figure.Of[float64], d *Sketch, part float64) {
	if n, ok := d.Quantile(part); ok {
		f.Know(n, "")
	}
}

// Size returns what was seen, in the form of which package size decides the container. Each figure is that of one
// container: the most of all of them, or the mean.
func (w *Workload) Size() *size.Seen {
	s := &size.Seen{
		Seconds: w.Heap, Collections: int(w.Cycles + 0.5), CPUs: w.Has.CPUs, Minor: w.Has.Minor, Aware: w.Has.Aware,
		Days: w.Seen / day.Seconds(), Every: w.Every,
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
	if s.CPUMean.Known() {
		share(&s.GCCores, w.GC*s.CPUMean.N, w.Busy)
	}
	share(&s.Goal, w.Goal, w.GoalFor)
	share(&s.Throttled, w.Throttle.Part, w.Throttle.Whole)
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
	why := w.why()
	if w.Mates > 1 {
		s.Live, s.LiveMost = figure.Of[float64]{}, figure.Of[float64]{}
	}
	for _, f := range []*figure.Of[float64]{&s.Live, &s.Allocated, &s.GCCores, &s.Rest, &s.Other} {
		f.Because(why)
	}
	s.CPUMost.Because("agents look once in a while")
	return s
}

// why returns why a figure is unknown; "" = no reason is known.
func (w *Workload) why() string {
	if w.Mates > 1 {
		return fmt.Sprintf("up to %d Go processes share a container", w.Mates)
	}
	return w.Why
}

// Stats returns the figures that are exported of the workload, in the order of [Names]; NaN is unknown.
func (w *Workload) Stats() (all [len(Names)]float64) {
	s, h := w.Size(), &w.Has
	var cycles, burst figure.Of[float64]
	share(&cycles, w.Cycles, w.Heap)
	quantile(&burst, &w.Allocated, high)
	for i, f := range [...]*figure.Of[float64]{
		&s.Live, &s.LiveMost, &s.Rest, &s.Other, &s.Used, &s.Allocated, &burst, &s.CPUMean, &s.CPUHigh, &s.GCCores, &cycles, &s.Goal, &s.Throttled,
	} {
		if all[i] = f.N; !f.Known() {
			all[i] = math.NaN()
		}
	}
	at := all[13:]
	for _, a := range [...]*Amount{&h.Limit, &h.Request} {
		at[0], at[1], at[2], at[3] = float64(a.N), a.Sum, a.Least, a.Most
		if a.N == 0 {
			at[0], at[1], at[2], at[3] = math.NaN(), math.NaN(), math.NaN(), math.NaN()
		}
		at = at[4:]
	}
	return all
}

// Stat is the name of an exported figure, without "snug_go_workload_", and which of its figures it is.
type Stat struct{ Name, Stat string }

// Names are those of the figures of a workload.
var Names = [...]Stat{
	{"heap_live_bytes", "mean"}, {"heap_live_bytes", "most"}, {"go_rest_bytes", "least"}, {"other_bytes", "most"}, {"used_bytes", "most"},
	{"allocated_bytes_per_second", "mean"}, {"allocated_bytes_per_second", "p95"}, {"cpu_cores", "mean"}, {"cpu_cores", "p95"}, {"gc_cpu_cores", "mean"},
	{"gc_cycles_per_second", "mean"}, {"heap_goal_bytes", "mean"}, {"throttled_ratio", "mean"},
	{"memory_limit_bytes", "count"}, {"memory_limit_bytes", "sum"}, {"memory_limit_bytes", "least"}, {"memory_limit_bytes", "most"},
	{"cpu_request_cores", "count"}, {"cpu_request_cores", "sum"}, {"cpu_request_cores", "least"}, {"cpu_request_cores", "most"},
}
