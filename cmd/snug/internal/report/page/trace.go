// SPDX-License-Identifier: Apache-2.0

package page

import (
	"html/template"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// TraceView returns the page of one trace or two.
func TraceView(d *finding.Trace) *view {
	v := &view{shell: shell{Kind: "trace", Next: d.Next}, File: "snug-trace.json.gz"}
	if len(d.Traces) == 0 {
		v.Title, v.Verdict = "snug trace", "No trace"
		return v
	}
	first := &d.Traces[0]
	v.Title = "snug trace: " + message.Clean(first.Target)
	v.Verdict = message.Clean(first.Target) + ": " + content.TraceVerdict(first)
	if len(d.Traces) > 1 {
		second := &d.Traces[1]
		v.Title += " and " + message.Clean(second.Target)
		v.Verdict = "A, " + v.Verdict
		v.Lead = "B, " + message.Clean(second.Target) + ": " + content.TraceVerdict(second)
	}
	var courses []Part
	tables := Part{Title: "Figures", Beside: len(d.Traces) == 1}
	reasons := Part{Title: "What was waited for", Beside: true}
	end, heap := traceScale(d)
	for i := range d.Traces {
		t := &d.Traces[i]
		name := traceName(d, i)
		if t.Partial != nil {
			v.Stamps = append(v.Stamps, Sentence("partial: figures of the first "+units.Duration(t.Wall.Run)+" of "+message.Clean(t.Target)+": "+message.Clean(*t.Partial)))
		}
		courses = append(courses, TracePart(t, "Course"+name, end, heap))
		if p := TraceSpread(t, "Distributions"+name); len(p.Figures) > 0 {
			courses = append(courses, p)
		}
		v.faults(nil, t.Unknown)
		v.How = append(v.How,
			fact{"Trace" + name, message.Clean(t.Target)},
			fact{"Format", message.Clean(t.Format) + ", " + units.Plural(t.Events, "event") + ", " + content.BytesText(float64(t.Bytes))})
		if rows := content.StopRows(t, false); len(rows) > 0 {
			reasons.add("Why the world was stopped"+name, "Wall time, from the request to stop it until it runs again", gridOf([]string{"for", "total", "times", "mean", "longest"}, rows))
		}
		if rows := content.WaitRows(t, len(t.Goroutines.Reasons), false); len(rows) > 0 {
			reasons.add("Why goroutines were blocked"+name, "Wall time, summed over goroutines, including the runtime's", gridOf([]string{"by", "total", "times"}, rows))
		}
	}
	for _, g := range content.TraceGroups(d) {
		title, about, _ := strings.Cut(g.Title, ": ")
		if about == "" {
			about = "from the first event to the last"
		}
		tables.add(Sentence(title), Sentence(about), traceGrid(d, g.Rows))
	}
	if len(d.Traces) > 1 { // with two traces, the differences come first
		v.Parts = append([]Part{tables}, courses...)
	} else {
		v.Parts = append(courses, tables)
	}
	if len(reasons.Tables) > 0 {
		v.Parts = append(v.Parts, reasons)
	}
	v.Notes = content.TraceNotes(d)
	v.How = append(v.How,
		fact{"Collector's share", "Share of the available P time: mark workers except idle ones, mark assists, sweeping by goroutines that allocate, and all Ps while the world was stopped for a collection. A trace does not record background sweeping."},
		fact{"Minimum left to the program", "Minimum mutator utilisation: the smallest share of P time that the collector left in any window of that length."},
		fact{"Percentiles", "From 32 classes per doubling: exact to 1.6 %. Omitted if fewer than ten samples lie above."})
	return v
}

// traceName returns the suffix that distinguishes two traces.
func traceName(d *finding.Trace, i int) string {
	if len(d.Traces) < 2 {
		return ""
	}
	return ", " + string(rune('A'+i))
}

func traceGrid(d *finding.Trace, rows [][]string) content.Grid {
	head := []string{"figure", "value"}
	if len(d.Traces) > 1 {
		head, rows = []string{"figure", "A", "B", "difference"}, rows[1:]
	}
	return gridOf(head, rows)
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

// TraceEnd returns the end of the timeline of a trace, in seconds.
func TraceEnd(t *finding.Traced) float64 {
	end := t.Timeline.Step * float64(len(t.Timeline.Stopped))
	if t.Wall.Run > 0 && t.Wall.Run < end {
		end = t.Wall.Run
	}
	return end
}

// traceScale returns the common scale of all timelines, so that you can compare two traces.
func traceScale(d *finding.Trace) (seconds, bytes float64) {
	for i := range d.Traces {
		l := &d.Traces[i].Timeline
		if end := TraceEnd(&d.Traces[i]); !units.Odd(end) {
			seconds = max(seconds, end)
		}
		for _, sizes := range [][]uint64{l.HeapHigh, l.Goal} {
			for _, n := range sizes {
				bytes = max(bytes, float64(n)*1.05)
			}
		}
	}
	return seconds, bytes
}

// TracePart draws the heap and the collector over time, up to end seconds and high bytes.
func TracePart(t *finding.Traced, title string, end, high float64) Part {
	l := &t.Timeline
	p := Part{Title: title}
	if f := chart.Lanes(t, end); f != nil {
		p.Figures = append(p.Figures, figureView{Figure: f})
	}
	if heap := (chart.Lines{
		Title: "Heap and its goal", Step: l.Step, End: end, High: high, Of: units.Sizes,
		All: []chart.Plotted{
			{Name: "heap", Kind: 1, Values: band(l.HeapLow, l.HeapHigh), Per: 2}, {Name: "goal", Kind: 2, Values: floats(l.Goal), Per: 1, Dashed: true},
		},
	}); heap.Any() {
		p.Figures = append(p.Figures, figureView{Figure: heap.Figure("Bytes of objects, from the lowest to the highest of each step of " + units.Duration(l.Step) + ", and the size at which the next collection should end.")})
	}
	if gc := (chart.Lines{
		Title: "The collector", Step: l.Step, End: end, High: 1,
		All: []chart.Plotted{{Name: "collector", Kind: 3, Values: l.GC, Per: 1}, {Name: "stopped", Kind: 2, Values: l.Stopped, Per: 1}},
	}); gc.Any() {
		p.Figures = append(p.Figures, figureView{Figure: gc.Figure("In each step of " + units.Duration(l.Step) + ": the share of the Ps' time that the collector held (P-occupancy), and of the time that the world was stopped (wall time).")})
	}
	return p
}

// TraceSpread draws the distributions of a trace.
func TraceSpread(t *finding.Traced, title string) Part {
	p := Part{Title: title}
	for _, h := range []struct {
		title, caption string
		times          *finding.TraceTimes
	}{
		{"Scheduler latency", "Time from runnable to running, per goroutine; wall time.", &t.Goroutines.Latency},
		{"Stops of the world", "From the request to stop it until it ran again; wall time.", &t.Wall.Stops},
		{"Collections", "From the start of each to the end of marking; wall time.", &t.Wall.GC},
	} {
		if c := chart.Bars(h.times.Histogram, h.title); c != "" {
			text := h.caption + " " + units.Plural(h.times.Count, "sample")
			if h.times.P99 != nil {
				text += ", P99 " + units.Duration(*h.times.P99)
			}
			if h.times.Max != nil {
				text += ", longest " + units.Duration(*h.times.Max)
			}
			p.Figures = append(p.Figures, figureView{Figure: &chart.Figure{Title: h.title, Caption: text + ".", Charts: []template.HTML{c}}})
		}
	}
	return p
}

// band alternates low and high of each step, to show changes within a step.
func band(low, high []uint64) []float64 {
	if len(low) != len(high) {
		return nil
	}
	out := make([]float64, 0, 2*len(low))
	for i := range low {
		out = append(out, float64(low[i]), float64(high[i]))
	}
	return out
}

func floats(values []uint64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}
