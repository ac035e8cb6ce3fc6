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

// geometricMean names the row of the mean over all benchmarks.
const geometricMean = "geometric mean"

// Benchmarks returns the tables of Go benchmarks, for each unit the figures and then the
// differences. Benchmarks are rows and settings are columns: there may be many of the first.
func (s *Section) Benchmarks(cells []finding.Cell, all []finding.Comparison) []Titled {
	var tables []Titled
	for _, unit := range s.benchParts(cells, func(f *finding.BenchFigure) (string, bool) { return f.Unit, true }) {
		m := metric.MetricOf(metric.Benchmark + unit)
		names := s.benchParts(cells, func(f *finding.BenchFigure) (string, bool) { return f.Benchmark, f.Unit == unit })
		title := m.Head
		if m.Words != m.Head {
			title += ", " + m.Words
		}
		values := Titled{Title: title}
		values.Key("benchmark", clean(names))
		for _, i := range s.Cells {
			column := make([]*float64, len(names))
			for _, b := range slices.Backward(cells[i].Benchmarks) { // the first of a name counts
				if k := slices.Index(names, b.Benchmark); k >= 0 && b.Unit == unit {
					column[k] = &b.Value
				}
			}
			values.Add(s.Name(&cells[i]), m.Print(column))
		}
		mine := slices.DeleteFunc(s.Comparisons(cells, all), func(c finding.Comparison) bool { return c.Metric != m.Key })
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
		t := Titled{Title: m.Head + " " + differencesTitle(cells, s, mine)}
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

// benchParts returns a part of each figure of the section's benchmarks once, in the order in which the first
// setting printed them.
func (s *Section) benchParts(cells []finding.Cell, of func(*finding.BenchFigure) (string, bool)) []string {
	var parts []string
	for _, i := range s.Cells {
		for k := range cells[i].Benchmarks {
			if part, ok := of(&cells[i].Benchmarks[k]); ok {
				parts = append(parts, part)
			}
		}
	}
	return distinct(parts)
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

func clean(texts []string) []string { return units.Texts(texts, message.Clean) }
