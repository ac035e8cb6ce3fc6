// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/internal/plan"
)

const (
	// confidence is the level of every interval.
	confidence = 0.95
	// resamples is the number of bootstrap samples for a pooled quantile.
	resamples = 2000
)

// Cells summarizes the runs: one cell for each arm of the design, at the same index, even
// if the arm has no runs. Figures are medians over the rounds that count, of the runs
// that have the figure. A figure that no run measured is nil.
//
// Some figures are not medians. The P99.9 and the histogram cover all requests of all
// rounds. The error ratio is the sum of errors over the sum of operations and errors,
// since most runs have none. OOM kills are a sum. The longest stop of the world and the
// longest stall are maxima. The throttled ratio is the median of the runs' ratios, so
// that it has an interval; the ratio of the sums would follow long runs.
func Cells(d *Design, runs []finding.Run) []finding.Cell {
	cells := make([]finding.Cell, len(d.Arms))
	for i, a := range d.Arms {
		var all []finding.Run
		for _, r := range runs {
			if r.Arm == a.Arm {
				all = append(all, r)
			}
		}
		cells[i] = cell(a, all, d.Seed)
	}
	return cells
}

func cell(a Arm, all []finding.Run, seed uint64) finding.Cell {
	c := finding.Cell{
		Arm: a.Arm, Labels: slices.Clone(a.Labels), Rounds: all, Intervals: map[string]finding.Interval{},
	}
	if c.Labels == nil {
		c.Labels = []string{} // null is unknown; this is none
	}
	if c.Rounds == nil {
		c.Rounds = []finding.Run{}
	}
	if a.GOMEMLIMIT != "" && a.GOMEMLIMIT != "off" {
		if n, ok := plan.ParseBytes(a.GOMEMLIMIT); ok {
			c.Limit = &n
		}
	}
	if a.Rate > 0 {
		c.Offered = &a.Rate
	}
	s := summary{valid(all), c.Intervals}
	c.Procs = first(s.runs, func(r finding.Run) *int { return r.Procs })
	c.RPS = s.median(metric.RPS, func(r finding.Run) *float64 { return r.RPS })
	c.Wall = s.median(metric.Wall, func(r finding.Run) *float64 { return r.Wall })
	c.P50 = s.median(metric.P50, func(r finding.Run) *float64 { return r.P50 })
	c.P95 = s.median(metric.P95, func(r finding.Run) *float64 { return r.P95 })
	c.P99 = s.median(metric.P99, func(r finding.Run) *float64 { return r.P99 })
	c.CPUPerOp = s.median(metric.CPU, func(r finding.Run) *float64 { return r.CPUPerOp })
	c.Throttled = s.median(metric.Throttled, func(r finding.Run) *float64 { return metric.ThrottledOf(&r) })
	c.GCPerSec = s.median("gc_per_second", collections)
	c.STWTotal = s.median("stw_total_seconds", func(r finding.Run) *float64 { return r.STW })
	c.PeakHeap = rounded(s.median("peak_heap_bytes", func(r finding.Run) *float64 { return metric.Float(r.PeakHeap) }))
	c.Peak = rounded(s.median(metric.Peak, func(r finding.Run) *float64 { return metric.Float(r.Peak) }))
	for _, r := range s.runs {
		c.STWMax = larger(c.STWMax, r.STWMax)
		if r.OOMKills != nil {
			c.OOMKills = new(*r.OOMKills + or(c.OOMKills))
		}
	}
	c.Killed = s.killed()
	c.ErrorRate = errorRatio(s.runs)
	c.Reported = s.reported()
	c.Benchmarks = s.benchmarks()
	c.Stall = stalls(s.runs)
	c.Latency, c.P999 = s.pooled(seed)
	return c
}

// valid returns the runs that count: the first valid one of each round.
func valid(all []finding.Run) []finding.Run {
	var out []finding.Run
	seen := map[int]bool{}
	for _, r := range all {
		if r.Invalid == "" && !seen[r.Round] {
			seen[r.Round] = true
			out = append(out, r)
		}
	}
	slices.SortStableFunc(out, func(a, b finding.Run) int { return a.Round - b.Round })
	return out
}

// summary summarizes the runs of a cell that count.
type summary struct {
	runs      []finding.Run
	intervals map[string]finding.Interval
}

// median returns the median of a figure over the runs that have it, nil if none has. If
// there are enough runs it records the interval under the name.
func (s summary) median(name string, of func(finding.Run) *float64) *float64 {
	var x []float64
	for _, r := range s.runs {
		if v := of(r); v != nil && !math.IsNaN(*v) {
			x = append(x, *v)
		}
	}
	if len(x) == 0 {
		return nil
	}
	m := stats.Median(x)
	if iv, ok := stats.MedianInterval(x, confidence); ok {
		s.intervals[name] = finding.Interval(iv)
	}
	return &m
}

// killed counts the runs in which a process ran out of memory; nil if the kernel did not
// report it.
func (s summary) killed() *finding.Killed {
	var k finding.Killed
	for _, r := range s.runs {
		if r.OOMKills != nil {
			k.Of++
		}
		if killed(r) {
			k.Rounds++
		}
	}
	if k.Of == 0 {
		return nil
	}
	k.Ratio = finding.Interval(stats.ProportionInterval(k.Rounds, k.Of, confidence))
	return &k
}

// reported returns the medians of the figures that the program printed, nil if it printed
// none. It skips runs that were OOM-killed: their figures are missing or partial.
func (s summary) reported() map[string]float64 {
	var out map[string]float64
	for _, r := range s.runs {
		for name := range r.Reported {
			if _, seen := out[name]; seen || killed(r) {
				continue
			}
			m := s.median("reported."+name, func(r finding.Run) *float64 {
				if v, ok := r.Reported[name]; ok && !killed(r) {
					return &v
				}
				return nil
			})
			if out == nil {
				out = map[string]float64{}
			}
			out[name] = *m
		}
	}
	return out
}

// pooled returns the latency of all runs together, and its P99.9 if enough samples lie
// above it.
func (s summary) pooled(seed uint64) (*finding.Histogram, *float64) {
	var clusters []stats.Cluster
	counts := map[float64]int64{}
	total := int64(0)
	for _, r := range s.runs {
		if !whole(r.Latency) {
			continue
		}
		clusters = append(clusters, stats.Cluster{Values: r.Latency.Seconds, Counts: r.Latency.Counts})
		for i, v := range r.Latency.Seconds {
			counts[v] += r.Latency.Counts[i]
			total += r.Latency.Counts[i]
		}
	}
	if total == 0 {
		return nil, nil
	}
	h := &finding.Histogram{}
	for v := range counts {
		h.Seconds = append(h.Seconds, v)
	}
	slices.Sort(h.Seconds)
	for _, v := range h.Seconds {
		h.Counts = append(h.Counts, counts[v])
	}
	estimate, iv, ok := stats.ClusterBootstrap(clusters, 0.999, confidence, resamples, seed)
	if ok {
		s.intervals["p999_seconds"] = finding.Interval(iv)
	}
	if total/1000 < 10 { // samples above it
		return h, nil
	}
	return h, &estimate
}

// whole reports whether a distribution has a count for each value; a file may be damaged.
func whole(h *finding.Histogram) bool { return h != nil && len(h.Seconds) == len(h.Counts) }

// errorRatio returns nil if there were no operations.
func errorRatio(runs []finding.Run) *float64 {
	var ops, errors int64
	for _, r := range runs {
		ops, errors = ops+r.Ops, errors+r.Errors
	}
	if ops+errors == 0 {
		return nil
	}
	return new(float64(errors) / float64(ops+errors))
}

// stalls combines the probes: the median of the runs' medians, where a run without a
// stall counts as 0, and the maximum of all. The timeline is the first run's.
func stalls(runs []finding.Run) *finding.Stall {
	var out *finding.Stall
	var medians []float64
	for _, r := range runs {
		if r.Stall == nil {
			continue
		}
		if out == nil {
			s := *r.Stall
			out, s.Max = &s, nil
		}
		out.Max = larger(out.Max, r.Stall.Max)
		medians = append(medians, or(r.Stall.Median))
	}
	if out == nil {
		return nil
	}
	out.Median = nil
	if m := stats.Median(medians); m > 0 {
		out.Median = &m
	}
	return out
}

func collections(r finding.Run) *float64 {
	if r.GCs == nil || elapsed(r) <= 0 {
		return nil
	}
	return new(float64(*r.GCs) / elapsed(r))
}

// elapsed returns the seconds over which a run's counters ran.
func elapsed(r finding.Run) float64 {
	if r.Elapsed > 0 {
		return r.Elapsed
	}
	return r.Window
}

// first returns the first value that is not nil.
func first[T any](runs []finding.Run, of func(finding.Run) *T) *T {
	for _, r := range runs {
		if v := of(r); v != nil {
			return v
		}
	}
	return nil
}

// larger returns the larger value; nil is smaller than any.
func larger(a, b *float64) *float64 {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

// or returns *p, or 0 if p is nil.
func or[T float64 | uint64](p *T) T {
	if p == nil {
		return 0
	}
	return *p
}

func rounded(f *float64) *int64 {
	if f == nil {
		return nil
	}
	return new(int64(math.Round(*f)))
}
