// SPDX-License-Identifier: Apache-2.0

package page

import (
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// TraceView returns the page of one trace or two.
func TraceView(d *finding.Trace) *view {
	v := &view{shell: shell{Kind: "trace", Next: d.Next, Title: "snug trace", Verdict: "No trace"},
		File: "snug-trace.json.gz"}
	two := len(d.Traces) > 1
	var courses []Part
	tables := Part{Title: "Figures", Beside: !two}
	reasons := Part{Title: "What was waited for", Beside: true}
	end, heap := traceScale(d)
	for i := range d.Traces {
		t := &d.Traces[i]
		target := message.Clean(t.Target)
		verdict, name := target+": "+content.TraceVerdict(t), ""
		if two {
			name = string(rune('A' + i))
			verdict, name = name+", "+verdict, ", "+name
		}
		if i == 0 {
			v.Title, v.Verdict = "snug trace: "+target, verdict
		} else {
			v.Title, v.Lead = v.Title+" and "+target, verdict
		}
		if t.Partial != nil {
			v.Stamps = append(v.Stamps, "Partial: figures of the first "+units.Duration(t.Wall.Run)+" of "+target+": "+
				message.Clean(*t.Partial))
		}
		p := Part{Title: "Course" + name}
		p.draw(chart.Lanes(t, end), chart.Course(t, end, heap), chart.Spread(t))
		courses = append(courses, p)
		v.faults(nil, t.Unknown)
		v.How = append(v.How,
			fact{"Trace" + name, target},
			fact{"Format", message.Clean(t.Format) + ", " + units.Plural(t.Events, "event") + ", " +
				content.BytesText(float64(t.Bytes))})
		if rows := content.StopRows(t, false); len(rows) > 0 {
			reasons.add("Why the world was stopped"+name, "Wall time, from the request to stop it until it runs again",
				gridOf([]string{"for", "total", "times", "mean", "longest"}, rows))
		}
		if rows := content.WaitRows(t, len(t.Goroutines.Reasons), false); len(rows) > 0 {
			reasons.add("Why goroutines were blocked"+name, "Wall time, summed over goroutines, including the runtime's",
				gridOf([]string{"by", "total", "times"}, rows))
		}
	}
	for _, g := range content.TraceGroups(d) {
		title, about, _ := strings.Cut(g.Title, ": ")
		head, rows := []string{"figure", "value"}, g.Rows
		if two {
			head, rows = []string{"figure", "A", "B", "difference"}, rows[1:]
		}
		tables.add(Sentence(title), Sentence(about), gridOf(head, rows))
	}
	if two { // the differences come first
		v.Parts = append([]Part{tables}, courses...)
	} else {
		v.Parts = append(courses, tables)
	}
	if len(reasons.Tables) > 0 {
		v.Parts = append(v.Parts, reasons)
	}
	v.Notes = content.TraceNotes(d)
	v.How = append(v.How,
		fact{"Collector's share", "Share of the available P time: mark workers except idle ones, mark assists, sweeping by " +
			"goroutines that allocate, and all Ps while the world was stopped for a collection. A trace does not record " +
			"background sweeping."},
		fact{"Minimum left to the program", "Minimum mutator utilisation: the smallest share of P time that the collector " +
			"left in any window of that length."},
		fact{"Percentiles", "From 32 classes per doubling: exact to 1.6 %. Omitted if fewer than ten samples lie above."})
	return v
}

// gridOf returns a table of figures whose first column is the key.
func gridOf(head []string, rows [][]string) content.Grid {
	g := content.GridOf(head, rows)
	for i := range g.Columns {
		c := &g.Columns[i]
		c.Key, c.Text = i == 0, i == 0
		for r, cell := range c.Cells {
			if name := strings.TrimLeft(cell, " "); i == 0 && name != cell { // a part of the row above
				c.Cells[r] = "\u00a0\u00a0\u00a0" + name
			}
		}
	}
	return g
}

// traceScale returns the common scale of all timelines, so that you can compare two traces.
func traceScale(d *finding.Trace) (seconds, bytes float64) {
	for i := range d.Traces {
		t := &d.Traces[i]
		l := &t.Timeline
		end := l.Step * float64(len(l.Stopped))
		if t.Wall.Run > 0 {
			end = min(end, t.Wall.Run)
		}
		if !units.Odd(end) {
			seconds = max(seconds, end)
		}
		for _, n := range slices.Concat(l.HeapHigh, l.Goal) {
			bytes = max(bytes, float64(n)*1.05)
		}
	}
	return seconds, bytes
}
