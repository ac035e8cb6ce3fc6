// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// LoadBenchmark is the load of a program that runs Go benchmarks. Such a program repeats
// each benchmark until a time is over: how long it takes, and the CPU time that it uses in
// all, say nothing. Its own figures do.
const LoadBenchmark = "benchmark"

// benchMargin is the margin of every figure of a benchmark.
const benchMargin = 0.02

// named is a figure of a benchmark, without its value.
type named struct{ benchmark, unit string }

// figureOf returns the value of a figure in a run; nil = it has none.
func figureOf(r *finding.Run, f named) *float64 {
	for i := range r.Benchmarks {
		if b := &r.Benchmarks[i]; b.Benchmark == f.benchmark && b.Unit == f.unit {
			return &b.Value
		}
	}
	return nil
}

// figures returns the figures that the runs have, in their order.
func figures(runs []finding.Run) []named {
	var all []named
	seen := map[named]bool{}
	for _, r := range runs {
		for _, b := range r.Benchmarks {
			if f := (named{b.Benchmark, b.Unit}); !seen[f] {
				seen[f] = true
				all = append(all, f)
			}
		}
	}
	return all
}

// benchmarks returns the medians of the runs' figures.
func (s summary) benchmarks() []finding.BenchFigure {
	var all []finding.BenchFigure
	for _, f := range figures(s.runs) {
		if m := s.median(metric.Benchmark+f.unit+" "+f.benchmark, func(r finding.Run) *float64 {
			if killed(r) {
				return nil // its figures are missing or partial
			}
			return figureOf(&r, f)
		}); m != nil {
			all = append(all, finding.BenchFigure{Benchmark: f.benchmark, Unit: f.unit, Value: *m})
		}
	}
	return all
}

// benchmarks adds the comparisons of Go benchmarks: for each unit the geometric mean over
// the benchmarks that every run of both cells has, above 0, and then each benchmark. A
// verdict uses the mean, so that the number of benchmarks adds no chance of a false one.
func (c *comparing) benchmarks(d *Design, cells []finding.Cell) {
	var all []finding.Run
	for i := range cells {
		all = append(all, valid(cells[i].Rounds)...)
	}
	every := figures(all)
	var seen []string
	for _, f := range every {
		if slices.Contains(seen, f.unit) {
			continue
		}
		seen = append(seen, f.unit)
		m := compared{metric.MetricOf(metric.Benchmark + f.unit), benchMargin, anyLoad}
		for i := range cells {
			if b, ok := d.baseline(i); ok {
				shared := shared(every, f.unit, cells[b], cells[i])
				c.add(i, b, m, "",
					stats.ComparePaired(pairs(cells[b], cells[i], func(r *finding.Run) *float64 { return mean(r, shared) })))
			}
		}
		for _, g := range every {
			if g.unit != f.unit {
				continue
			}
			for i := range cells {
				if b, ok := d.baseline(i); ok {
					c.add(i, b, m, g.benchmark,
						stats.ComparePaired(pairs(cells[b], cells[i], func(r *finding.Run) *float64 { return figureOf(r, g) })))
				}
			}
		}
	}
}

// shared returns the figures of a unit that every run of both cells has, above 0, except
// runs that were OOM-killed.
func shared(all []named, unit string, cells ...finding.Cell) []named {
	return slices.DeleteFunc(slices.Clone(all), func(f named) bool {
		if f.unit != unit {
			return true
		}
		for _, c := range cells {
			for _, r := range valid(c.Rounds) {
				if v := figureOf(&r, f); !killed(r) && (v == nil || *v <= 0) {
					return true
				}
			}
		}
		return false
	})
}

// mean returns the geometric mean of figures of a run; nil = there are none.
func mean(r *finding.Run, all []named) *float64 {
	sum := 0.0
	for _, f := range all {
		v := figureOf(r, f)
		if v == nil {
			return nil
		}
		sum += math.Log(*v)
	}
	if len(all) == 0 {
		return nil
	}
	return new(math.Exp(sum / float64(len(all))))
}
