// SPDX-License-Identifier: Apache-2.0

package search

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/internal/plan"
)

// figure is a metric that a search can improve or bound.
type figure struct {
	name string // in flags
	*metric.Metric
	example string // of a bound
}

var figures = []figure{
	{"cpu", metric.MetricOf(metric.CPU), "1.5ms"},
	{"rps", metric.MetricOf(metric.RPS), "1000"},
	{"p50", metric.MetricOf(metric.P50), "5ms"},
	{"p95", metric.MetricOf(metric.P95), "20ms"},
	{"p99", metric.MetricOf(metric.P99), "20ms"},
	{"wall", metric.MetricOf(metric.Wall), "3s"},
	{"rss", metric.MetricOf(metric.RSS), "400MiB"},
	{"peak", metric.MetricOf(metric.Peak), "400MiB"},
	{"errors", metric.MetricOf(metric.Errors), "0.1%"},
	{"throttled", metric.MetricOf(metric.Throttled), "5%"},
}

func figureOf(name string) (figure, bool) {
	i := slices.IndexFunc(figures, func(f figure) bool { return f.name == name })
	if i < 0 {
		return figure{}, false
	}
	return figures[i], true
}

// parse parses a bound.
func (m figure) parse(text string) (float64, bool) {
	switch m.Unit {
	case metric.Seconds:
		return parseSeconds(text)
	case metric.Bytes:
		return parseBytes(text)
	case metric.Ratio:
		return parseShare(text)
	}
	return parseNumber(text)
}

// log returns the metric of a run on the logarithmic scale, with the sign that makes less
// better. It is false if the run has none, or none above 0.
func (m figure) log(r *finding.Run) (float64, bool) {
	v := m.Run(r)
	if v == nil || !(*v > 0) || math.IsInf(*v, 1) {
		return 0, false
	}
	if !m.More {
		return math.Log(*v), true
	}
	return -math.Log(*v), true
}

func parseNumber(s string) (float64, bool) {
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && x >= 0 && !math.IsInf(x, 1)
}

// parseSeconds parses a duration in Go's syntax; a number without a unit is ambiguous.
func parseSeconds(s string) (float64, bool) {
	d, err := time.ParseDuration(s)
	return d.Seconds(), err == nil && d > 0
}

func parseBytes(s string) (float64, bool) {
	n, ok := plan.ParseBytes(s)
	return float64(n), ok
}

// parseShare parses 5% or 0.05.
func parseShare(s string) (float64, bool) {
	digits, percent := strings.CutSuffix(s, "%")
	x, ok := parseNumber(digits)
	if percent {
		x /= 100
	}
	return x, ok && x <= 1
}
