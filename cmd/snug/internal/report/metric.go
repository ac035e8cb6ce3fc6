// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

// metric is one figure of a cell: how documents name it, how people do.
type metric struct {
	key   string // of intervals and comparisons
	head  string // of a column
	words string // in a sentence
	more  bool   // more of it is better
	of    func(*finding.Cell) *float64
	run   func(*finding.Run) *float64 // nil: a round alone does not have it
	print func([]*float64) []string
}

var metrics = []metric{
	{"rps", "req/s", "requests per second", true,
		func(c *finding.Cell) *float64 { return c.RPS }, func(r *finding.Run) *float64 { return r.RPS }, rates},
	{"wall_seconds", "wall", "wall time", false,
		func(c *finding.Cell) *float64 { return c.Wall }, func(r *finding.Run) *float64 { return r.Wall }, durations},
	{"cpu_seconds_per_op", "CPU/op", "CPU per operation", false,
		func(c *finding.Cell) *float64 { return c.CPUPerOp }, func(r *finding.Run) *float64 { return r.CPUPerOp }, durations},
	{"p50_seconds", "P50", "P50", false,
		func(c *finding.Cell) *float64 { return c.P50 }, func(r *finding.Run) *float64 { return r.P50 }, durations},
	{"p95_seconds", "P95", "P95", false,
		func(c *finding.Cell) *float64 { return c.P95 }, func(r *finding.Run) *float64 { return r.P95 }, durations},
	{"p99_seconds", "P99", "P99", false,
		func(c *finding.Cell) *float64 { return c.P99 }, func(r *finding.Run) *float64 { return r.P99 }, durations},
	{"p999_seconds", "P99.9", "P99.9", false,
		func(c *finding.Cell) *float64 { return c.P999 }, nil, durations},
	{"throttled_ratio", "throttled", "throttled periods", false,
		func(c *finding.Cell) *float64 { return c.Throttled }, throttled, shares},
	{"gc_per_second", "GC/s", "collections per second", false,
		func(c *finding.Cell) *float64 { return c.GCPerSec }, nil, rates},
	{"stw_total_seconds", "STW sum", "time the world was stopped", false,
		func(c *finding.Cell) *float64 { return c.STWTotal }, func(r *finding.Run) *float64 { return r.STW }, durations},
	{"stw_max_seconds", "STW max", "longest stop of the world", false,
		func(c *finding.Cell) *float64 { return c.STWMax }, func(r *finding.Run) *float64 { return r.STWMax }, durations},
	{"peak_heap_bytes", "heap", "peak heap", false,
		func(c *finding.Cell) *float64 { return float(c.PeakHeap) }, func(r *finding.Run) *float64 { return float(r.PeakHeap) }, amounts},
	{"memory_peak_bytes", "memory", "peak memory", false,
		func(c *finding.Cell) *float64 { return float(c.Peak) }, func(r *finding.Run) *float64 { return float(r.Peak) }, amounts},
	{"error_ratio", "errors", "failed requests", false,
		func(c *finding.Cell) *float64 { return c.ErrorRate }, nil, shares},
}

// metricOf is the metric of a key, nil when there is none.
func metricOf(key string) *metric {
	for i := range metrics {
		if metrics[i].key == key {
			return &metrics[i]
		}
	}
	return nil
}

// called is how a metric of a document is called in a sentence.
func called(key string) string {
	if m := metricOf(key); m != nil {
		return m.words
	}
	return Clean(key)
}

// headed is how it is called above a column; a program that drives itself has
// operations where a service has requests.
func headed(key string, requests bool) string {
	m := metricOf(key)
	switch {
	case m == nil:
		return Clean(key)
	case key == "rps" && !requests:
		return "ops/s"
	case key == "cpu_seconds_per_op" && requests:
		return "CPU/req"
	}
	return m.head
}

func float[T int64 | uint64 | int](n *T) *float64 {
	if n == nil {
		return nil
	}
	x := float64(*n)
	return &x
}

func throttled(r *finding.Run) *float64 {
	if r.Periods == nil || r.ThrottledPeriods == nil || *r.Periods == 0 {
		return nil
	}
	x := float64(*r.ThrottledPeriods) / float64(*r.Periods)
	return &x
}

func durations(v []*float64) []string { return column(v, times) }
func amounts(v []*float64) []string   { return column(v, sizes) }
func rates(v []*float64) []string     { return each(v, rate) }
func shares(v []*float64) []string    { return each(v, share) }

func each(values []*float64, print func(float64) string) []string {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = none
		if v != nil {
			cells[i] = print(*v)
		}
	}
	return cells
}
