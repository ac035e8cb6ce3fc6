// SPDX-License-Identifier: Apache-2.0

package search

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
)

// metric is a figure of one run that a search can improve or bound.
type metric struct {
	name    string // as people write it
	field   string // as the document names it
	what    string // in a sentence
	lower   bool   // is better
	read    func(*finding.Run) *float64
	parse   func(string) (float64, bool)
	example string // of a bound
}

var metrics = []metric{
	{"cpu", "cpu_seconds_per_op", "CPU per operation", true,
		func(r *finding.Run) *float64 { return r.CPUPerOp }, parseSeconds, "1.5ms"},
	{"rps", "rps", "operations per second", false,
		func(r *finding.Run) *float64 { return r.RPS }, parseNumber, "1000"},
	{"p50", "p50_seconds", "P50", true,
		func(r *finding.Run) *float64 { return r.P50 }, parseSeconds, "5ms"},
	{"p95", "p95_seconds", "P95", true,
		func(r *finding.Run) *float64 { return r.P95 }, parseSeconds, "20ms"},
	{"p99", "p99_seconds", "P99", true,
		func(r *finding.Run) *float64 { return r.P99 }, parseSeconds, "20ms"},
	{"wall", "wall_seconds", "wall time", true,
		func(r *finding.Run) *float64 { return r.Wall }, parseSeconds, "3s"},
	{"rss", "max_rss_bytes", "resident memory", true,
		resident, parseBytes, "400MiB"},
	{"peak", "memory_peak_bytes", "peak memory", true,
		func(r *finding.Run) *float64 { return toFloat(r.Peak) }, parseBytes, "400MiB"},
	{"errors", "error_ratio", "share of failed operations", true,
		errorRatio, parseShare, "0.1%"},
	{"throttled", "throttled_ratio", "share of throttled periods", true,
		throttled, parseShare, "5%"},
}

func metricOf(name string) (metric, bool) {
	i := slices.IndexFunc(metrics, func(m metric) bool { return m.name == name })
	if i < 0 {
		return metric{}, false
	}
	return metrics[i], true
}

// log is the metric of a run on the logarithmic scale, turned so that less is
// better. It is false when the run has none, or none above 0.
func (m metric) log(r *finding.Run) (float64, bool) {
	v := m.read(r)
	if v == nil || !(*v > 0) || math.IsInf(*v, 1) {
		return 0, false
	}
	if m.lower {
		return math.Log(*v), true
	}
	return -math.Log(*v), true
}

// value takes back log.
func (m metric) value(log float64) float64 {
	if m.lower {
		return math.Exp(log)
	}
	return math.Exp(-log)
}

// resident is the largest resident set of a process of the run or, where the
// kernel did not tell, the peak of the whole cgroup, which counts page cache too.
func resident(r *finding.Run) *float64 {
	if r.MaxRSS != nil {
		return toFloat(r.MaxRSS)
	}
	return toFloat(r.Peak)
}

func toFloat(n *int64) *float64 {
	if n == nil {
		return nil
	}
	f := float64(*n)
	return &f
}

func errorRatio(r *finding.Run) *float64 { return ratio(r.Errors, r.Ops+r.Errors) }

func throttled(r *finding.Run) *float64 {
	if r.Periods == nil || r.ThrottledPeriods == nil {
		return nil
	}
	return ratio(int64(*r.ThrottledPeriods), int64(*r.Periods))
}

// ratio is nil when there is nothing to divide by.
func ratio(part, whole int64) *float64 {
	if whole == 0 {
		return nil
	}
	f := float64(part) / float64(whole)
	return &f
}

func parseNumber(s string) (float64, bool) {
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil && x >= 0 && !math.IsInf(x, 1)
}

// parseSeconds reads a duration as Go writes it; a number without a unit could
// be anything.
func parseSeconds(s string) (float64, bool) {
	d, err := time.ParseDuration(s)
	return d.Seconds(), err == nil && d > 0
}

func parseBytes(s string) (float64, bool) {
	n, ok := plan.ParseBytes(s)
	return float64(n), ok
}

// parseShare reads 5% or 0.05.
func parseShare(s string) (float64, bool) {
	digits, percent := strings.CutSuffix(s, "%")
	x, ok := parseNumber(digits)
	if percent {
		x /= 100
	}
	return x, ok && x <= 1
}
