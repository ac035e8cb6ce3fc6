// SPDX-License-Identifier: Apache-2.0

// Package metric holds the table of the metrics of experiments: name, heading, words,
// direction, unit, and where a cell and a run store it. Other packages key their settings,
// such as margins, by these names.
package metric

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Keys of metrics that other packages use.
const (
	CPU       = "cpu_seconds_per_op"
	RPS       = "rps"
	Wall      = "wall_seconds"
	P50       = "p50_seconds"
	P95       = "p95_seconds"
	P99       = "p99_seconds"
	Throttled = "throttled_ratio"
	RSS       = "max_rss_bytes"
	Peak      = "memory_peak_bytes"
	Errors    = "error_ratio"
)

// Unit is the unit of a metric.
type Unit int

const (
	PerSecond Unit = iota
	Seconds
	Bytes
	Ratio
	Nanoseconds
)

// Print formats the values of a column.
func (u Unit) Print(v []*float64) []string {
	switch u {
	case Seconds:
		return Durations(v)
	case Bytes:
		return Amounts(v)
	case Ratio:
		return Shares(v)
	case Nanoseconds:
		return units.Each(v, func(ns float64) string { return units.Suits(ns*1e-9, units.Times).In(ns * 1e-9) })
	}
	return units.Each(v, units.Rate)
}

// Metric is one figure of a cell, with its name in documents and for people.
type Metric struct {
	Key   string // of intervals and comparisons
	Head  string // of a column
	Words string // in a sentence
	Unit
	More bool // more of it is better
	Of   func(*finding.Cell) *float64
	Run  func(*finding.Run) *float64 // nil = not available for a single round
	// Aside: the table of runs shows it in another form, or not at all.
	Aside bool
}

type (
	cell = finding.Cell
	run  = finding.Run
)

var Metrics = []Metric{
	{RPS, "req/s", "throughput", PerSecond, true,
		func(c *cell) *float64 { return c.RPS }, func(r *run) *float64 { return r.RPS }, false},
	{Wall, "wall", "wall time", Seconds, false,
		func(c *cell) *float64 { return c.Wall }, func(r *run) *float64 { return r.Wall }, false},
	{CPU, "CPU/op", "CPU per operation", Seconds, false,
		func(c *cell) *float64 { return c.CPUPerOp }, func(r *run) *float64 { return r.CPUPerOp }, false},
	{P50, "P50", "P50", Seconds, false,
		func(c *cell) *float64 { return c.P50 }, func(r *run) *float64 { return r.P50 }, false},
	{P95, "P95", "P95", Seconds, false,
		func(c *cell) *float64 { return c.P95 }, func(r *run) *float64 { return r.P95 }, false},
	{P99, "P99", "P99", Seconds, false,
		func(c *cell) *float64 { return c.P99 }, func(r *run) *float64 { return r.P99 }, false},
	{"p999_seconds", "P99.9", "P99.9", Seconds, false,
		func(c *cell) *float64 { return c.P999 }, nil, false},
	{Throttled, "throttled", "share of throttled periods", Ratio, false,
		func(c *cell) *float64 { return c.Throttled }, ThrottledOf, false},
	{"gc_per_second", "GC/s", "collections per second", PerSecond, false,
		func(c *cell) *float64 { return c.GCPerSec }, nil, false},
	{"stw_total_seconds", "STW sum", "time the world was stopped", Seconds, false,
		func(c *cell) *float64 { return c.STWTotal }, func(r *run) *float64 { return r.STW }, false},
	{"stw_max_seconds", "STW max", "longest stop of the world", Seconds, false,
		func(c *cell) *float64 { return c.STWMax }, func(r *run) *float64 { return r.STWMax }, false},
	{"peak_heap_bytes", "heap", "peak heap", Bytes, false,
		func(c *cell) *float64 { return Float(c.PeakHeap) }, func(r *run) *float64 { return Float(r.PeakHeap) }, false},
	{RSS, "RSS", "resident memory", Bytes, false,
		func(*cell) *float64 { return nil }, residentOf, true},
	{Peak, "memory", "peak memory", Bytes, false,
		func(c *cell) *float64 { return Float(c.Peak) }, func(r *run) *float64 { return Float(r.Peak) }, false},
	{Errors, "errors", "share of failed operations", Ratio, false,
		func(c *cell) *float64 { return c.ErrorRate }, errorsOf, true},
}

// MetricOf returns the metric of a key, which may be one of Go benchmarks; nil = none.
func MetricOf(key string) *Metric {
	for i := range Metrics {
		if Metrics[i].Key == key {
			return &Metrics[i]
		}
	}
	if unit, ok := strings.CutPrefix(key, Benchmark); ok {
		return benchmark(unit)
	}
	return nil
}

// Called returns the name of a metric in a sentence.
func Called(key string) string {
	if m := MetricOf(key); m != nil {
		return m.Words
	}
	return message.Clean(key)
}

// CalledOf is Called with the operations of the cell's workload: "CPU per request".
func CalledOf(key string, c *finding.Cell) string {
	return strings.Replace(Called(key), "operation", Operation(c), 1)
}

// Operation returns the word for an operation of a cell's workload. What a load command counts need not
// be requests.
func Operation(c *finding.Cell) string {
	switch workload, _, _ := strings.Cut(c.Workload, "/"); workload {
	case "http", "command", "url":
		if c.Load == "benchmark" || c.Load == "batch" || c.Load == "command" || c.Loop() != "" {
			break
		}
		return "request"
	}
	return "operation"
}

// Heading returns the head of a metric's column. A service has requests, a program
// that drives itself has operations.
func Heading(key string, requests bool) string {
	m := MetricOf(key)
	switch {
	case m == nil:
		return message.Clean(key)
	case key == RPS && !requests:
		return "ops/s"
	case key == CPU && requests:
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

// ThrottledOf returns the share of throttled periods of a run, 0 to 1; nil = unknown. It is 0
// for a run without periods, which had nothing to do.
func ThrottledOf(r *finding.Run) *float64 {
	if r.Periods == nil || r.ThrottledPeriods == nil {
		return nil
	}
	x := 0.0
	if *r.Periods > 0 {
		x = float64(*r.ThrottledPeriods) / float64(*r.Periods)
	}
	return &x
}

// residentOf returns the largest resident set of a process of the run or, if unknown,
// the peak of the whole cgroup, which includes page cache.
func residentOf(r *finding.Run) *float64 {
	if r.MaxRSS != nil {
		return Float(r.MaxRSS)
	}
	return Float(r.Peak)
}

func errorsOf(r *finding.Run) *float64 {
	if r.Ops+r.Errors == 0 {
		return nil
	}
	x := float64(r.Errors) / float64(r.Ops+r.Errors)
	return &x
}

func Durations(v []*float64) []string { return units.Column(v, units.Times) }
func Amounts(v []*float64) []string   { return units.Column(v, units.Sizes) }
func Shares(v []*float64) []string    { return units.Each(v, units.Share) }

// Benchmark starts the keys of the metrics of Go benchmarks. The rest is the unit as the
// benchmark prints it, which may be one of its own: benchmark.ns/op, benchmark.hits/op.
const Benchmark = "benchmark."

// BenchTime is the metric in which settings of Go benchmarks are judged.
const BenchTime = Benchmark + "ns/op"

// benchmark returns the metric of a unit. Its figure is the geometric mean over the
// benchmarks that have the unit.
func benchmark(unit string) *Metric {
	m := &Metric{
		Key: Benchmark + unit, Head: message.Clean(unit), Words: message.Clean(unit), More: strings.HasSuffix(unit, "/s"),
		Of:  func(c *cell) *float64 { return geomean(c.Benchmarks, unit) },
		Run: func(r *run) *float64 { return geomean(r.Benchmarks, unit) },
	}
	switch unit {
	case "ns/op":
		m.Words, m.Unit = "time per operation", Nanoseconds
	case "B/op":
		m.Words, m.Unit = "allocated memory per operation", Bytes
	case "allocs/op":
		m.Words = "allocations per operation"
	}
	return m
}

// Directed reports whether it is known which direction of a metric is better. A unit of a
// benchmark's own may be a cost or a gain.
func (m *Metric) Directed() bool {
	unit, ok := strings.CutPrefix(m.Key, Benchmark)
	return !ok || m.More || unit == "ns/op" || unit == "B/op" || unit == "allocs/op"
}

func geomean(all []finding.BenchFigure, unit string) *float64 {
	sum, n := 0.0, 0.0
	for _, f := range all {
		if f.Unit == unit && f.Value > 0 {
			sum, n = sum+math.Log(f.Value), n+1
		}
	}
	if n == 0 {
		return nil
	}
	return new(math.Exp(sum / n))
}

// metricWords replaces the keys of metrics in a text by their words. Keys without "_" stay.
var metricWords = func() *strings.Replacer {
	var pairs []string
	for _, m := range Metrics {
		if strings.Contains(m.Key, "_") {
			pairs = append(pairs, m.Key, m.Words)
		}
	}
	return strings.NewReplacer(pairs...)
}()

// Readable makes a sentence from a document safe and readable, with metrics in words
// and sizes in suitable units.
func Readable(s string) string { return humanBytes(metricWords.Replace(message.Clean(s))) }

// sizeInBytes matches sizes in Go's syntax, such as 104857600B, which are too long to compare at a glance.
var sizeInBytes = regexp.MustCompile(`\b[0-9]{4,18}B\b`)

func humanBytes(s string) string {
	return sizeInBytes.ReplaceAllStringFunc(s, func(size string) string {
		n, err := strconv.ParseInt(strings.TrimSuffix(size, "B"), 10, 64)
		if err != nil {
			return size
		}
		return units.Bytes(n)
	})
}

// LimitText formats a GOMEMLIMIT for people; the exact text is in the forms to
// paste. Without a unit it counts bytes.
func LimitText(v string) string {
	if _, err := strconv.ParseInt(v, 10, 64); err == nil {
		v += "B"
	}
	return humanBytes(message.Clean(v))
}

// ValueText formats the value of a knob for people.
func ValueText(knob, v string) string {
	switch {
	case v == "":
		return "unset"
	case knob == "GOMEMLIMIT":
		return LimitText(v)
	case knob == "burst":
		if n, err := strconv.ParseInt(v, 10, 64); err == nil && n > 0 {
			return units.Duration(float64(n) / 1e6)
		} else if err == nil && n == 0 {
			return "unset"
		}
	}
	return message.Clean(v)
}

// GoDefault is the name of a setting without variables.
const GoDefault = "Go's default"

// SettingText formats the setting of an arm: GOMAXPROCS=1 GOGC=400, or Go's default.
func SettingText(a finding.Arm) string {
	parts := units.Texts(a.Set(), func(v [2]string) string { return v[0] + "=" + v[1] })
	if a.Burst > 0 {
		parts = append(parts, "burst "+units.Two(float64(a.Burst)/1000)+" ms")
	}
	if a.Replicas > 1 {
		parts = append(parts, "in "+units.Plural(a.Replicas, "container"))
	}
	if len(parts) == 0 {
		return GoDefault
	}
	return strings.Join(parts, " ")
}
