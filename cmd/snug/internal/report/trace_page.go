// SPDX-License-Identifier: Apache-2.0

package report

import (
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// traceView is the page of one trace or two.
func traceView(d *finding.Trace) *view {
	v := &view{Kind: "trace", File: "snug-trace.json.gz", Next: d.Next}
	if len(d.Traces) == 0 {
		v.Title, v.Verdict = "snug trace", "No trace"
		return v
	}
	first := &d.Traces[0]
	v.Title = "snug trace: " + Clean(first.Target)
	v.Verdict = Clean(first.Target) + ": " + traceVerdict(first)
	if len(d.Traces) > 1 {
		second := &d.Traces[1]
		v.Title += " and " + Clean(second.Target)
		v.Verdict = "A, " + v.Verdict
		v.Lead = "B, " + Clean(second.Target) + ": " + traceVerdict(second)
	}
	var courses, tables, reasons []part
	end, heap := traceScale(d)
	for i := range d.Traces {
		t := &d.Traces[i]
		name := traceName(d, i)
		if t.Partial != nil {
			v.Stamps = append(v.Stamps, sentence("partial: figures of the first "+duration(t.Wall.Run)+" of "+Clean(t.Target)+": "+Clean(*t.Partial)))
		}
		courses = append(courses, tracePart(t, "Course"+name, end, heap))
		if p := traceSpread(t, "Distributions"+name); len(p.Figures) > 0 {
			courses = append(courses, p)
		}
		v.faults(nil, t.Unknown)
		v.How = append(v.How,
			fact{"Trace" + name, Clean(t.Target)},
			fact{"Format", Clean(t.Format) + ", " + plural(t.Events, "event") + ", " + bytesText(float64(t.Bytes))})
		if rows := stopRows(t, false); len(rows) > 0 {
			reasons = append(reasons, part{Title: "Why the world was stopped" + name,
				Tables: []table{tableOf("Wall time, from the request to stop it until it runs again", gridOf([]string{"for", "total", "times", "mean", "longest"}, rows))}})
		}
		if rows := waitRows(t, len(t.Goroutines.Reasons), false); len(rows) > 0 {
			reasons = append(reasons, part{Title: "Why goroutines were blocked" + name,
				Tables: []table{tableOf("Wall time, added up over goroutines, those of the runtime among them", gridOf([]string{"by", "total", "times"}, rows))}})
		}
	}
	for _, g := range traceGroups(d) {
		title, about, _ := strings.Cut(g.title, ": ")
		if about == "" {
			about = "from the first event to the last"
		}
		tables = append(tables, part{Title: sentence(title), Tables: []table{tableOf(sentence(about), traceGrid(d, g.rows))}})
	}
	if len(d.Traces) > 1 { // who has two wants to know what differs
		v.Parts = slices.Concat(tables, courses, reasons)
	} else {
		v.Parts = slices.Concat(courses, tables, reasons)
	}
	v.Notes = traceNotes(d)
	v.How = append(v.How,
		fact{"Collector's share", "Of the P time there was: mark workers other than idle ones, mark assists, sweeping by who allocates, and all Ps while the world was stopped for it. Background sweeping is not in a trace."},
		fact{"Least left to the program", "Minimum mutator utilisation: of all windows of that length the smallest share of P time that the collector left."},
		fact{"Percentiles", "From classes of 32 to each doubling: exact to 1.6 %. Not told where fewer than ten samples lie above."})
	return v
}

// traceName tells two traces apart.
func traceName(d *finding.Trace, i int) string {
	if len(d.Traces) < 2 {
		return ""
	}
	return ", " + string(rune('A'+i))
}

func traceGrid(d *finding.Trace, rows [][]string) grid {
	head := []string{"figure", "value"}
	if len(d.Traces) > 1 {
		head, rows = []string{"figure", "A", "B", "difference"}, rows[1:]
	}
	return gridOf(head, rows)
}

// gridOf makes columns of rows, of which the first says what each is.
func gridOf(head []string, rows [][]string) grid {
	var g grid
	for c, h := range head {
		cells := make([]string, len(rows))
		for r, row := range rows {
			if c < len(row) {
				cells[r] = row[c]
			}
		}
		if c == 0 {
			for r, cell := range cells {
				if name := strings.TrimLeft(cell, " "); name != cell { // a part of what stands above
					cells[r] = "\u00a0\u00a0\u00a0" + name
				}
			}
			g.key(h, cells)
		} else {
			g.add(h, cells)
		}
	}
	return g
}

// traceEnd is where the course of a trace ends, seconds.
func traceEnd(t *finding.Traced) float64 {
	end := t.Timeline.Step * float64(len(t.Timeline.Stopped))
	if t.Wall.Run > 0 && t.Wall.Run < end {
		end = t.Wall.Run
	}
	return end
}

// traceScale is how long and how high the courses of traces are drawn: to the same
// scale, so that two can be compared.
func traceScale(d *finding.Trace) (seconds, bytes float64) {
	for i := range d.Traces {
		l := &d.Traces[i].Timeline
		if end := traceEnd(&d.Traces[i]); !odd(end) {
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

// tracePart is the course of the heap and the collector, drawn to so many seconds and
// bytes.
func tracePart(t *finding.Traced, title string, end, high float64) part {
	l := &t.Timeline
	p := part{Title: title}
	if heap := (lines{
		title: "Heap and its goal", step: l.Step, end: end, high: high, of: sizes,
		all: []plotted{{"heap", 1, band(l.HeapLow, l.HeapHigh), 2, false}, {"goal", 2, floats(l.Goal), 1, true}},
	}); heap.any() {
		p.Figures = append(p.Figures, figureView{figure: heap.figure("Bytes of objects, from the lowest to the highest of each step of " + duration(l.Step) + ", and the size at which the next collection is to end.")})
	}
	if gc := (lines{
		title: "The collector", step: l.Step, end: end, high: 1,
		all: []plotted{{"Ps' time", 3, l.GC, 1, false}, {"world stopped", 2, l.Stopped, 1, false}},
	}); gc.any() {
		p.Figures = append(p.Figures, figureView{figure: gc.figure("Share of the P time that the collector held (P-occupancy), and of the time that the world was stopped (wall time), in each step of " + duration(l.Step) + ".")})
	}
	return p
}

// traceSpread is the distributions of a trace.
func traceSpread(t *finding.Traced, title string) part {
	p := part{Title: title}
	for _, h := range []struct {
		title, caption string
		times          *finding.TraceTimes
	}{
		{"Scheduler latency", "How long goroutines were runnable until they ran; wall time.", &t.Goroutines.Latency},
		{"Stops of the world", "From the request to stop it until it ran again; wall time.", &t.Wall.Stops},
		{"Collections", "From the begin of each until marking was over; wall time.", &t.Wall.GC},
	} {
		if c := bars(h.times.Histogram, h.title); c != "" {
			text := h.caption + " " + plural(h.times.Count, "sample")
			if h.times.P99 != nil {
				text += ", P99 " + duration(*h.times.P99)
			}
			if h.times.Max != nil {
				text += ", longest " + duration(*h.times.Max)
			}
			p.Figures = append(p.Figures, figureView{figure: &figure{Title: h.title, Caption: text + ".", Charts: []template.HTML{c}}})
		}
	}
	return p
}

// band goes from low to high in each step, so that what moves within one is seen.
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

// class is a class of the style sheet for a setting or a line.
func class(prefix string, kind int) string { return prefix + strconv.Itoa(kind%kinds) }
