// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// shownWaits is how many reasons to be blocked the text has.
const shownWaits = 5

func (p *page) trace(d *finding.Trace) {
	for i := range d.Traces {
		t := &d.Traces[i]
		p.wrap(Clean(t.Target) + ": " + traceVerdict(t))
		if t.Partial != nil {
			p.line("partial: these are figures of the first %s: %s", duration(t.Wall.Run), Clean(*t.Partial))
		}
	}
	for _, g := range traceGroups(d) {
		p.line("")
		p.line("%s", g.title)
		p.table(g.rows)
	}
	for i := range d.Traces {
		p.traceReasons(d, i)
	}
	p.line("")
	for _, n := range traceNotes(d) {
		p.wrap(n)
	}
	for i := range d.Traces {
		for _, g := range d.Traces[i].Unknown {
			p.line("unknown: %s, %s: %s", worded(g.Field), Clean(g.File), worded(g.Why))
		}
	}
	if d.Page != nil {
		p.line("")
		p.line("page: %s", Clean(*d.Page))
	}
	p.next(d.Next)
}

// traceVerdict is the first line of a trace.
func traceVerdict(t *finding.Traced) string {
	w := &t.Wall
	text := duration(w.Run) + " with " + plural(w.GCs, "collection") + "; the world was stopped for " + duration(w.Stops.Total) + " (" + share(w.Stopped) + ")"
	if r := t.Occupancy.GC; r != nil {
		text += ", the collector held " + share(*r) + " of the Ps' time"
	}
	if t.Heap.Peak != nil {
		text += ", heap up to " + bytesText(float64(*t.Heap.Peak))
	}
	return text
}

// traceReasons are why the world was stopped, and why goroutines were blocked.
func (p *page) traceReasons(d *finding.Trace, i int) {
	t := &d.Traces[i]
	of := ""
	if len(d.Traces) > 1 {
		of = ", " + string(rune('A'+i))
	}
	if len(t.Wall.StopsBy) > 0 {
		p.line("")
		p.line("the world was stopped for (wall time%s)", of)
		p.table(stopRows(t, true))
	}
	if len(t.Goroutines.Reasons) > 0 {
		p.line("")
		p.line("goroutines were blocked by (wall time added up over goroutines%s)", of)
		p.table(waitRows(t, shownWaits, true))
	}
}

// stopRows are reasons to stop the world; words says what each figure is, where no head does.
func stopRows(t *finding.Traced, words bool) [][]string {
	rows := [][]string{}
	for _, s := range t.Wall.StopsBy {
		row := []string{Clean(s.Reason), duration(s.Total), timesText(s.Count, words)}
		if s.Mean != nil && s.Max != nil {
			mean, longest := duration(*s.Mean), duration(*s.Max)
			if words {
				mean, longest = "mean "+mean, "longest "+longest
			}
			row = append(row, mean, longest)
		}
		rows = append(rows, row)
	}
	return rows
}

func waitRows(t *finding.Traced, most int, words bool) [][]string {
	rows := [][]string{}
	for _, r := range t.Goroutines.Reasons[:min(len(t.Goroutines.Reasons), most)] {
		rows = append(rows, []string{Clean(r.Reason), duration(r.Total), timesText(r.Count, words)})
	}
	return rows
}

func timesText(n int64, words bool) string {
	if words {
		return plural(n, "time")
	}
	return strconv.FormatInt(n, 10)
}

// traceNotes are what a reader must know about the figures.
func traceNotes(d *finding.Trace) []string {
	notes := []string{"Wall time and P-occupancy are not CPU time, which is not in a trace: a thread that holds a P may wait for a CPU; snug profile samples that. See snug explain p-occupancy."}
	if len(d.Traces) > 1 {
		notes = append(notes, "One trace each does not tell a difference from chance; snug bench compares with intervals.")
	}
	return notes
}

func bytesText(x float64) string { return suits(x, sizes).in(x) }

// traceGroup is figures of one kind of time.
type traceGroup struct {
	title string
	rows  [][]string // the name, a value of each trace, the difference of two
}

// traceFigure is one figure of a trace. value is nil where it is not known.
type traceFigure struct {
	name  string
	value func(*finding.Traced) *float64
	print func(float64) string
	ratio bool // a difference is in percentage points
}

// traceGroups are the figures of one trace, or of two with their differences.
func traceGroups(d *finding.Trace) []traceGroup {
	var out []traceGroup
	for _, g := range traceFigures() {
		rows := [][]string{}
		if len(d.Traces) > 1 {
			rows = append(rows, []string{"", "A", "B", "difference"})
		}
		found := false
		for _, f := range g.figures {
			row := []string{f.name}
			var values []*float64
			for i := range d.Traces {
				v := f.value(&d.Traces[i])
				values = append(values, v)
				if v == nil {
					row = append(row, none)
				} else {
					row, found = append(row, f.print(*v)), true
				}
			}
			if len(values) == 2 {
				row = append(row, f.difference(values[0], values[1]))
			}
			rows = append(rows, row)
		}
		if g.more != nil {
			rows = append(rows, g.more(d.Traces)...)
		}
		if found {
			out = append(out, traceGroup{g.title, rows})
		}
	}
	return out
}

func (f *traceFigure) difference(a, b *float64) string {
	switch {
	case a == nil || b == nil || odd(*a) || odd(*b):
		return none
	case *a == *b:
		return "0"
	case f.ratio:
		s := strconv.FormatFloat((*b-*a)*100, 'f', 1, 64)
		switch {
		case strings.Trim(s, "-0.") == "":
			return "0"
		case *b > *a:
			s = "+" + s
		}
		return trim(s) + " points"
	case *a == 0:
		return none
	}
	return change(*b / *a)
}
