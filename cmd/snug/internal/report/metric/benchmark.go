// SPDX-License-Identifier: Apache-2.0

package metric

import (
	"math"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

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
