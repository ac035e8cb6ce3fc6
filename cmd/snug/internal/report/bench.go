// SPDX-License-Identifier: Apache-2.0

package report

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func (p *page) bench(d *finding.Bench) {
	d = namedBench(d)
	p.stamps(&d.Setup)
	p.wrap(answer(&d.Verdict))
	p.line("")
	parts := sections(d.Cells, d.Comparisons)
	for i := range parts {
		s := &parts[i]
		p.wrap(s.title)
		g := s.figures(d.Cells, d.Metrics)
		if len(parts) == 1 {
			stallColumns(&g, s, d.Cells)
		}
		p.grid(g)
		if g, ok := s.differences(d.Cells, d.Comparisons); ok {
			p.line("")
			p.wrap(against(d.Cells, s, d.Comparisons))
			p.grid(g)
		}
		p.line("")
	}
	if len(parts) == 0 {
		p.line("nothing was measured")
		p.line("")
	}
	if g, ok := stalls(d.Cells); ok {
		p.wrap(stallLaw(d.Cells))
		if len(parts) > 1 {
			p.grid(g)
		}
		p.line("")
	}
	for _, n := range benchNotes(d) {
		p.wrap(n)
	}
	if text := howLong(&d.Setup, d.Cells, true); text != "" {
		p.wrap(text)
	}
	p.notes(d.Warnings, d.Unknown)
	p.next(d.Next)
}

// stamps are what must be read before anything else.
func (p *page) stamps(s *finding.Setup) {
	for _, stamp := range stamps(s) {
		p.wrap(stamp)
	}
}

func stamps(s *finding.Setup) []string {
	if !s.NoLimit {
		return nil
	}
	return []string{"NO QUOTA ENFORCED: the program ran without a limit, so nothing here says how it does in a container"}
}

// answer is the verdict's line.
func answer(v *finding.BenchVerdict) string {
	switch {
	case v.Text != "":
		return worded(v.Text)
	case v.Keep:
		return "keep the default: nothing measured is better beyond noise"
	}
	return "no verdict"
}

// figures is the table of what was measured, and of what the programs said of
// themselves by these names.
func (s *section) figures(cells []finding.Cell, names []string) grid {
	g := s.keys(cells, true)
	for i := range metrics {
		m := &metrics[i]
		if !s.shows(cells, m.key) {
			continue
		}
		values := make([]*float64, len(s.cells))
		for k, i := range s.cells {
			values[k] = m.of(&cells[i])
		}
		column := m.print(values)
		if measured(column) || m.key == "throttled_ratio" {
			head := headed(m.key, s.requests)
			if m.key == "p50_seconds" && s.users {
				head = "median"
			}
			g.add(head, column)
		}
	}
	if column, any := s.kills(cells); any {
		g.add("killed", column)
	}
	s.reported(&g, cells, names)
	return g
}

// shows reports whether a metric belongs into the tables of a section.
func (s *section) shows(cells []finding.Cell, key string) bool {
	batch := s.any(cells, func(c *finding.Cell) bool { return c.Wall != nil })
	switch key {
	case "p50_seconds", "p99_seconds", "p999_seconds":
		return s.open(cells)
	case "p95_seconds":
		return s.users || s.open(cells) && !s.any(cells, func(c *finding.Cell) bool { return c.P99 != nil })
	case "stw_total_seconds", "stw_max_seconds", "peak_heap_bytes":
		return batch // the collector is what a batch is measured for; a service has GC/s
	case "memory_peak_bytes":
		return batch || s.varies(cells)
	case "error_ratio": // of a batch it is that of its kills
		return s.any(cells, func(c *finding.Cell) bool { return c.ErrorRate != nil && *c.ErrorRate > 0 && c.Load != "batch" })
	}
	return true
}

// open reports whether a section's latencies say something about a service. In
// a saturated closed loop callers wait for each other: by Little's law their
// number over the throughput, whatever the service is like.
func (s *section) open(cells []finding.Cell) bool {
	return s.any(cells, func(c *finding.Cell) bool { return c.Load != "saturated" })
}

func (s *section) any(cells []finding.Cell, is func(*finding.Cell) bool) bool {
	return slices.ContainsFunc(s.cells, func(i int) bool { return is(&cells[i]) })
}

// varies reports whether the arms differ in what decides about memory.
func (s *section) varies(cells []finding.Cell) bool {
	first := &cells[s.cells[0]]
	return s.any(cells, func(c *finding.Cell) bool {
		return c.GOGC != first.GOGC || c.GOMEMLIMIT != first.GOMEMLIMIT || c.Memory != first.Memory
	})
}

// differences is the table of what is better, worse, the same, or not shown (~),
// one column for each metric compared.
func (s *section) differences(cells []finding.Cell, all []finding.Comparison) (grid, bool) {
	mine := s.comparisons(cells, all)
	if len(mine) == 0 {
		return grid{}, false
	}
	g := s.keys(cells, false)
	for _, key := range compared(mine) {
		column := make([]string, len(s.cells))
		for k, i := range s.cells {
			column[k] = none
			for _, c := range mine {
				switch {
				case c.Metric != key:
				case c.Cell == i:
					column[k] = difference(&c)
				case c.Baseline == i && column[k] == none:
					column[k] = "baseline"
				}
			}
		}
		g.text(headed(key, s.requests), column)
	}
	return g, true
}

// comparisons are those between cells of the section, of what its tables show.
func (s *section) comparisons(cells []finding.Cell, all []finding.Comparison) []finding.Comparison {
	var mine []finding.Comparison
	for _, c := range all {
		if known(cells, c) && slices.Contains(s.cells, c.Cell) && s.shows(cells, c.Metric) {
			mine = append(mine, c)
		}
	}
	return mine
}

// compared are the metrics of comparisons, in the order of the columns above.
func compared(all []finding.Comparison) []string {
	var keys []string
	for _, c := range all {
		if !slices.Contains(keys, c.Metric) {
			keys = append(keys, c.Metric)
		}
	}
	slices.SortStableFunc(keys, func(a, b string) int { return cmp.Compare(place(a), place(b)) })
	return keys
}

func place(key string) int {
	i := slices.IndexFunc(metrics, func(m metric) bool { return m.key == key })
	if i < 0 {
		return len(metrics)
	}
	return i
}

// difference is one comparison in a table.
func difference(c *finding.Comparison) string {
	switch {
	case c.Word == finding.NotShown || odd(c.Ratio) || c.Ratio <= 0:
		return "~"
	case c.Low == nil || c.High == nil:
		return change(c.Ratio) + " " + Clean(c.Word)
	}
	return changeBetween(c.Ratio, *c.Low, *c.High) + " " + Clean(c.Word)
}

// against is the heading of the differences.
func against(cells []finding.Cell, s *section, all []finding.Comparison) string {
	mine := s.comparisons(cells, all)
	names := []string{}
	least, most := mine[0].Pairs, mine[0].Pairs
	for _, c := range mine {
		if name := armName(&cells[c.Baseline]); !slices.Contains(names, name) {
			names = append(names, name)
		}
		least, most = min(least, c.Pairs), max(most, c.Pairs)
	}
	pairs := plural(most, "paired round")
	if least != most {
		pairs = strconv.Itoa(least) + " to " + pairs
	}
	return "against " + short(strings.Join(names, "; "), 30) + ", " + pairs +
		": difference [interval]; ~ no difference shown"
}
