// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func Stamps(s *finding.Setup) []string {
	if !s.NoLimit {
		return nil
	}
	return []string{"NO QUOTA ENFORCED: the program ran without a limit, so these figures do not apply to a container"}
}

// Answer returns the verdict in one line.
func Answer(v *finding.BenchVerdict) string {
	switch {
	case v.Text != "":
		return metric.Readable(v.Text)
	case v.Keep:
		return "keep the default: nothing measured is better beyond noise"
	}
	return "no verdict"
}

// Figures returns the table of the metrics, and of the figures with these names that the
// programs reported.
func (s *Section) Figures(cells []finding.Cell, names []string) Grid {
	g := s.keys(cells, true)
	for i := range metric.Metrics {
		m := &metric.Metrics[i]
		if !s.shows(cells, m.Key) {
			continue
		}
		column := m.Print(each(s.Cells, cells, m.Of))
		if Measured(column) || m.Key == "throttled_ratio" {
			head := metric.Heading(m.Key, s.Requests)
			if m.Key == "p50_seconds" && (s.Users || s.Ramp) {
				head = "median"
			}
			g.Add(head, column)
		}
	}
	if column, any := s.kills(cells); any {
		g.Add("killed", column)
	}
	s.reported(&g, cells, names)
	return g
}

// shows reports whether a metric belongs in the tables of a section.
func (s *Section) shows(cells []finding.Cell, key string) bool {
	batch := s.any(cells, func(c *finding.Cell) bool { return c.Wall != nil || c.Load == "benchmark" })
	switch key {
	case "p50_seconds", "p99_seconds", "p999_seconds":
		return s.open(cells)
	case "p95_seconds":
		return s.Users || s.Ramp || s.open(cells) && !s.any(cells, func(c *finding.Cell) bool { return c.P99 != nil })
	case "stw_total_seconds", "stw_max_seconds":
		return s.any(cells, func(c *finding.Cell) bool {
			return c.STWMax != nil && *c.STWMax > 0 || c.STWTotal != nil && *c.STWTotal > 0
		})
	case "peak_heap_bytes":
		return batch // a batch is measured for its collections; a service has GC/s
	case "memory_peak_bytes":
		return batch || s.varies(cells)
	case "error_ratio": // a batch's is the rate of its kills
		return s.any(cells, func(c *finding.Cell) bool { return c.ErrorRate != nil && *c.ErrorRate > 0 && c.Load != "batch" })
	}
	return true
}

// Drawn returns the metrics to draw by their own medians, because settings are not compared in
// them. The time that the world was stopped is never compared: it may be microseconds, and a
// multiple of these does not matter.
func (s *Section) Drawn(cells []finding.Cell, all []finding.Comparison) []string {
	var keys []string
	if len(s.Comparisons(cells, all)) == 0 {
		keys = append(keys, metric.RPS, metric.Wall, metric.CPU)
	}
	if s.Users || s.Ramp {
		keys = append(keys, metric.P95)
	}
	return append(keys, "stw_total_seconds", "stw_max_seconds")
}

// open reports whether a section's latencies describe a service. In a saturated closed
// loop callers wait for each other: by Little's law the latency is their number over the
// throughput, for any service.
func (s *Section) open(cells []finding.Cell) bool {
	return s.any(cells, func(c *finding.Cell) bool { return c.Load != "saturated" })
}

func (s *Section) any(cells []finding.Cell, is func(*finding.Cell) bool) bool {
	return slices.ContainsFunc(s.Cells, func(i int) bool { return is(&cells[i]) })
}

// varies reports whether the arms differ in a setting that affects memory.
func (s *Section) varies(cells []finding.Cell) bool {
	first := &cells[s.Cells[0]]
	return s.any(cells, func(c *finding.Cell) bool {
		return c.GOGC != first.GOGC || c.GOMEMLIMIT != first.GOMEMLIMIT || c.Memory != first.Memory
	})
}

// Differences returns the table of comparisons: better, worse, the same, or not shown
// (~), with one column per metric; none without comparisons. Those of Go benchmarks have their own, see Benchmarks.
func (s *Section) Differences(cells []finding.Cell, all []finding.Comparison) []Titled {
	mine := slices.DeleteFunc(s.Comparisons(cells, all), ofBenchmark)
	if len(mine) == 0 {
		return nil
	}
	g := s.keys(cells, false)
	for _, key := range Compared(mine) {
		column := make([]string, len(s.Cells))
		for k, i := range s.Cells {
			column[k] = units.None
			for _, c := range mine {
				switch {
				case c.Metric != key:
				case c.Cell == i:
					column[k] = Outcome(&c)
				case c.Baseline == i && column[k] == units.None:
					column[k] = "baseline"
				}
			}
		}
		g.Text(metric.Heading(key, s.Requests), column)
	}
	return []Titled{{differencesTitle(cells, s, all), g}}
}

// Tables returns the tables below that of the figures.
func (s *Section) Tables(cells []finding.Cell, all []finding.Comparison) []Titled {
	return slices.Concat(s.Differences(cells, all), s.Courses(cells), s.Benchmarks(cells, all))
}

// Comparisons returns the comparisons of the section's cells in the metrics that its
// tables show.
func (s *Section) Comparisons(cells []finding.Cell, all []finding.Comparison) []finding.Comparison {
	return slices.DeleteFunc(slices.Clone(all), func(c finding.Comparison) bool {
		return !known(cells, c) || !slices.Contains(s.Cells, c.Cell) || !s.shows(cells, c.Metric)
	})
}

// Compared returns the metrics of comparisons, in the order of the columns above.
func Compared(all []finding.Comparison) []string {
	keys := distinct(units.Texts(all, func(c finding.Comparison) string { return c.Metric }))
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return keys
}

// distinct returns each text once, in the order of the first.
func distinct(all []string) []string {
	var out []string
	for _, s := range all {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// each returns a figure of each cell of a part.
func each(part []int, cells []finding.Cell, of func(*finding.Cell) *float64) []*float64 {
	values := make([]*float64, len(part))
	for k, i := range part {
		values[k] = of(&cells[i])
	}
	return values
}

func place(key string) int {
	i := slices.IndexFunc(metric.Metrics, func(m metric.Metric) bool { return m.Key == key })
	if i < 0 {
		return len(metric.Metrics)
	}
	return i
}

// Outcome says what a comparison shows: -20 % [-25, -15] worse. Where nothing is decided it
// is ~ and the interval, if there are enough rounds for one: the difference may be anything
// within.
func Outcome(c *finding.Comparison) string {
	interval := c.Low != nil && c.High != nil && !units.Odd(*c.Low) && !units.Odd(*c.High)
	switch {
	case units.Odd(c.Ratio) || c.Ratio <= 0 || c.Word == finding.NotShown && !interval:
		return "~"
	case c.Word == finding.NotShown:
		return "~ [" + units.Between(*c.Low, *c.High) + "]"
	case !interval:
		return units.Change(c.Ratio) + " " + message.Clean(c.Word)
	}
	return units.ChangeBetween(c.Ratio, *c.Low, *c.High) + " " + message.Clean(c.Word)
}

// differencesTitle returns the heading of the differences.
func differencesTitle(cells []finding.Cell, s *Section, all []finding.Comparison) string {
	mine := s.Comparisons(cells, all)
	low, high := mine[0].Pairs, mine[0].Pairs
	for _, c := range mine {
		low, high = min(low, c.Pairs), max(high, c.Pairs)
	}
	pairs := units.Plural(high, "paired round")
	if low != high {
		pairs = strconv.Itoa(low) + " to " + pairs
	}
	return "against " + Baselines(cells, mine) + ", " + pairs + ": difference [interval]; ~ not decided"
}

// Baselines names the baselines of comparisons.
func Baselines(cells []finding.Cell, all []finding.Comparison) string {
	names := units.Texts(all, func(c finding.Comparison) string { return ArmName(&cells[c.Baseline]) })
	return Short(strings.Join(distinct(names), "; "), 30)
}

// kills returns the column of rounds with an OOM kill, with the interval of their
// share: 4 of 20 [5.7, 44 %].
func (s *Section) kills(cells []finding.Cell) (column []string, any bool) {
	for _, i := range s.Cells {
		c := &cells[i]
		text := units.None
		switch {
		case c.Killed != nil:
			iv := c.Killed.Ratio
			text = fmt.Sprintf("%d of %d [%s, %s]", c.Killed.Rounds, c.Killed.Of, units.Trim(units.Figures(iv.Low*100, 2)),
				units.Share(iv.High))
			any = any || c.Killed.Rounds > 0
		case c.OOMKills != nil && *c.OOMKills > 0: // an older document
			text, any = units.Plural(int(*c.OOMKills), "kill"), true
		}
		column = append(column, text)
	}
	return column, any
}

// reported adds columns of the figures that programs printed. The suffix of a name
// gives the unit: seconds, bytes, a ratio or a share.
func (s *Section) reported(g *Grid, cells []finding.Cell, names []string) {
	for _, name := range names {
		values := each(s.Cells, cells, func(c *finding.Cell) *float64 {
			if v, ok := c.Reported[name]; ok {
				return &v
			}
			return nil
		})
		head, unit := name, metric.PerSecond
		switch suffix := name[max(0, strings.LastIndexByte(name, '_')):]; suffix {
		case "_seconds":
			head, unit = strings.TrimSuffix(name, suffix), metric.Seconds // the unit says it
		case "_bytes":
			head, unit = strings.TrimSuffix(name, suffix), metric.Bytes
		case "_ratio", "_share":
			unit = metric.Ratio
		}
		g.Add(message.Clean(strings.ReplaceAll(head, "_", " ")), unit.Print(values))
	}
}

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
		title += units.If(m.Words != m.Head, ", "+m.Words)
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
		values.Title += units.If(len(mine) > 0 && !differs, ": the same in every setting")
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
