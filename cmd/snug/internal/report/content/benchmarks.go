// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Titled is a table with its heading.
type Titled struct {
	Title string
	Grid
}

// geometricMean names the row of the mean over all benchmarks.
const geometricMean = "geometric mean"

// Benchmarks returns the tables of Go benchmarks, for each unit the figures and then the
// differences. Benchmarks are rows and settings are columns: there may be many of the first.
func (s *Section) Benchmarks(cells []finding.Cell, all []finding.Comparison) []Titled {
	var tables []Titled
	for _, unit := range s.benchUnits(cells) {
		m := metric.MetricOf(metric.Benchmark + unit)
		names := s.benchNames(cells, unit)
		title := m.Head
		if m.Words != m.Head {
			title += ", " + m.Words
		}
		values := Titled{Title: title}
		values.Key("benchmark", clean(names))
		for _, i := range s.Cells {
			column := make([]*float64, len(names))
			for k, name := range names {
				column[k] = benchValue(&cells[i], name, unit)
			}
			values.Add(s.Name(&cells[i]), m.Print(column))
		}
		mine := s.benchComparisons(cells, all, m.Key)
		differs := slices.ContainsFunc(mine, func(c finding.Comparison) bool { return c.Word != finding.Same })
		if len(mine) > 0 && !differs {
			values.Title += ": the same in every setting"
		}
		tables = append(tables, values)
		if !differs {
			continue
		}
		if len(names) > 1 {
			names = append(names, "") // the mean
		}
		t := Titled{Title: m.Head + " " + DifferencesTitle(cells, s, mine)}
		rows := clean(names)
		if len(names) > 1 {
			rows[len(rows)-1] = geometricMean
		}
		t.Key("benchmark", rows)
		for _, i := range s.Cells {
			column := make([]string, len(names))
			for k, name := range names {
				column[k] = units.None
				for _, c := range mine {
					if c.Cell == i && c.Benchmark == name {
						column[k] = Outcome(&c)
					}
				}
			}
			if slices.ContainsFunc(mine, func(c finding.Comparison) bool { return c.Cell == i }) {
				t.Text(s.Name(&cells[i]), column)
			}
		}
		tables = append(tables, t)
	}
	return tables
}

// benchUnits returns the units of the section's benchmarks, in the order in which the
// first setting printed them.
func (s *Section) benchUnits(cells []finding.Cell) []string {
	return s.benchParts(cells, func(f *finding.BenchFigure) (string, bool) { return f.Unit, true })
}

// benchNames returns the benchmarks that have a unit.
func (s *Section) benchNames(cells []finding.Cell, unit string) []string {
	return s.benchParts(cells, func(f *finding.BenchFigure) (string, bool) { return f.Benchmark, f.Unit == unit })
}

func (s *Section) benchParts(cells []finding.Cell, of func(*finding.BenchFigure) (string, bool)) []string {
	var parts []string
	for _, i := range s.Cells {
		for k := range cells[i].Benchmarks {
			if part, ok := of(&cells[i].Benchmarks[k]); ok && !slices.Contains(parts, part) {
				parts = append(parts, part)
			}
		}
	}
	return parts
}

func benchValue(c *finding.Cell, name, unit string) *float64 {
	for k := range c.Benchmarks {
		if f := &c.Benchmarks[k]; f.Benchmark == name && f.Unit == unit {
			return &f.Value
		}
	}
	return nil
}

// benchComparisons returns the section's comparisons in a metric of Go benchmarks.
func (s *Section) benchComparisons(cells []finding.Cell, all []finding.Comparison, key string) []finding.Comparison {
	return slices.DeleteFunc(s.Comparisons(cells, all), func(c finding.Comparison) bool { return c.Metric != key })
}

// ofBenchmark reports whether a comparison is of Go benchmarks.
func ofBenchmark(c finding.Comparison) bool { return strings.HasPrefix(c.Metric, metric.Benchmark) }

// missing says which benchmarks have no figure in some runs of a setting.
func (s *Section) missing(cells []finding.Cell) []string {
	var notes []string
	for _, name := range s.benchParts(cells, func(f *finding.BenchFigure) (string, bool) { return f.Benchmark, true }) {
		for _, i := range s.Cells {
			without, of := 0, 0
			for _, r := range cells[i].Rounds {
				if r.Invalid != "" || r.OOMKills != nil && *r.OOMKills > 0 {
					continue
				}
				of++
				if !slices.ContainsFunc(r.Benchmarks, func(f finding.BenchFigure) bool { return f.Benchmark == name }) {
					without++
				}
			}
			if without > 0 {
				notes = append(notes, fmt.Sprintf("%s has no result in %d of %s with %s, and is in no mean there",
					message.Clean(name), without, units.Plural(of, "run"), s.Name(&cells[i])))
			}
		}
	}
	return notes
}

func clean(texts []string) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = message.Clean(t)
	}
	return out
}
