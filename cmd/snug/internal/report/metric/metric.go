// SPDX-License-Identifier: Apache-2.0

// Package metric has one table of what experiments measure: name, heading, words, direction,
// unit, and where a cell and a run hold it.
package metric

import (
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Metric is one figure of a cell: how documents name it, how people do.
type Metric struct {
	Key   string // of intervals and comparisons
	Head  string // of a column
	Words string // in a sentence
	More  bool   // more of it is better
	Of    func(*finding.Cell) *float64
	Run   func(*finding.Run) *float64 // nil: a round alone does not have it
	Print func([]*float64) []string
}

var Metrics = []Metric{
	{"rps", "req/s", "requests per second", true,
		func(c *finding.Cell) *float64 { return c.RPS }, func(r *finding.Run) *float64 { return r.RPS }, rates},
	{"wall_seconds", "wall", "wall time", false,
		func(c *finding.Cell) *float64 { return c.Wall }, func(r *finding.Run) *float64 { return r.Wall }, Durations},
	{"cpu_seconds_per_op", "CPU/op", "CPU per operation", false,
		func(c *finding.Cell) *float64 { return c.CPUPerOp }, func(r *finding.Run) *float64 { return r.CPUPerOp }, Durations},
	{"p50_seconds", "P50", "P50", false,
		func(c *finding.Cell) *float64 { return c.P50 }, func(r *finding.Run) *float64 { return r.P50 }, Durations},
	{"p95_seconds", "P95", "P95", false,
		func(c *finding.Cell) *float64 { return c.P95 }, func(r *finding.Run) *float64 { return r.P95 }, Durations},
	{"p99_seconds", "P99", "P99", false,
		func(c *finding.Cell) *float64 { return c.P99 }, func(r *finding.Run) *float64 { return r.P99 }, Durations},
	{"p999_seconds", "P99.9", "P99.9", false,
		func(c *finding.Cell) *float64 { return c.P999 }, nil, Durations},
	{"throttled_ratio", "throttled", "throttled periods", false,
		func(c *finding.Cell) *float64 { return c.Throttled }, Throttled, Shares},
	{"gc_per_second", "GC/s", "collections per second", false,
		func(c *finding.Cell) *float64 { return c.GCPerSec }, nil, rates},
	{"stw_total_seconds", "STW sum", "time the world was stopped", false,
		func(c *finding.Cell) *float64 { return c.STWTotal }, func(r *finding.Run) *float64 { return r.STW }, Durations},
	{"stw_max_seconds", "STW max", "longest stop of the world", false,
		func(c *finding.Cell) *float64 { return c.STWMax }, func(r *finding.Run) *float64 { return r.STWMax }, Durations},
	{"peak_heap_bytes", "heap", "peak heap", false,
		func(c *finding.Cell) *float64 { return Float(c.PeakHeap) }, func(r *finding.Run) *float64 { return Float(r.PeakHeap) }, Amounts},
	{"memory_peak_bytes", "memory", "peak memory", false,
		func(c *finding.Cell) *float64 { return Float(c.Peak) }, func(r *finding.Run) *float64 { return Float(r.Peak) }, Amounts},
	{"error_ratio", "errors", "failed requests", false,
		func(c *finding.Cell) *float64 { return c.ErrorRate }, nil, Shares},
}

// MetricOf is the metric of a key, nil when there is none.
func MetricOf(key string) *Metric {
	for i := range Metrics {
		if Metrics[i].Key == key {
			return &Metrics[i]
		}
	}
	return nil
}

// Called is how a metric of a document is called in a sentence.
func Called(key string) string {
	if m := MetricOf(key); m != nil {
		return m.Words
	}
	return message.Clean(key)
}

// Headed is how it is called above a column; a program that drives itself has
// operations where a service has requests.
func Headed(key string, requests bool) string {
	m := MetricOf(key)
	switch {
	case m == nil:
		return message.Clean(key)
	case key == "rps" && !requests:
		return "ops/s"
	case key == "cpu_seconds_per_op" && requests:
		return "CPU/req"
	}
	return m.Head
}

func Float[T int64 | uint64 | int](n *T) *float64 {
	if n == nil {
		return nil
	}
	x := float64(*n)
	return &x
}

func Throttled(r *finding.Run) *float64 {
	if r.Periods == nil || r.ThrottledPeriods == nil || *r.Periods == 0 {
		return nil
	}
	x := float64(*r.ThrottledPeriods) / float64(*r.Periods)
	return &x
}

func Durations(v []*float64) []string { return units.Column(v, units.Times) }
func Amounts(v []*float64) []string   { return units.Column(v, units.Sizes) }
func rates(v []*float64) []string     { return units.Each(v, units.Rate) }
func Shares(v []*float64) []string    { return units.Each(v, units.Share) }
