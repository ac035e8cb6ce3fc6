// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// MaxWaits is the maximum number of reasons for blocking in the text.
const MaxWaits = 5

// TraceVerdict returns the first line of a trace.
func TraceVerdict(t *finding.Traced) string {
	w := &t.Wall
	text := units.Duration(w.Run) + " with " + units.Plural(w.GCs, "collection") + "; the world was stopped for " +
		units.Duration(w.Stops.Total) + " (" + units.Share(w.Stopped) + ")"
	if r := t.Occupancy.GC; r != nil {
		text += ", the collector held " + units.Share(*r) + " of the Ps' time"
	}
	if t.Heap.Peak != nil {
		text += ", heap up to " + BytesText(float64(*t.Heap.Peak))
	}
	return text
}

// StopRows returns the reasons to stop the world; with words, each figure is labelled,
// for tables without a head.
func StopRows(t *finding.Traced, words bool) [][]string {
	rows := [][]string{}
	for _, s := range t.Wall.StopsBy {
		row := []string{message.Clean(s.Reason), units.Duration(s.Total), timesText(s.Count, words)}
		if s.Mean != nil && s.Max != nil {
			mean, longest := units.Duration(*s.Mean), units.Duration(*s.Max)
			if words {
				mean, longest = "mean "+mean, "longest "+longest
			}
			row = append(row, mean, longest)
		}
		rows = append(rows, row)
	}
	return rows
}

func WaitRows(t *finding.Traced, limit int, words bool) [][]string {
	rows := [][]string{}
	for _, r := range t.Goroutines.Reasons[:min(len(t.Goroutines.Reasons), limit)] {
		rows = append(rows, []string{message.Clean(r.Reason), units.Duration(r.Total), timesText(r.Count, words)})
	}
	return rows
}

func timesText(n int64, words bool) string {
	if words {
		return units.Plural(n, "time")
	}
	return strconv.FormatInt(n, 10)
}

// TraceNotes returns the caveats about the figures.
func TraceNotes(d *finding.Trace) []string {
	notes := []string{"Wall time and P-occupancy are not CPU time, which is not in a trace: a thread that holds a P may " +
		"wait for a CPU; snug profile samples that. See snug explain p-occupancy."}
	if len(d.Traces) > 1 {
		notes = append(notes, "One trace each cannot tell a difference from chance; snug bench compares with intervals.")
	}
	return notes
}

func BytesText(x float64) string { return units.Suits(x, units.Sizes).In(x) }

// traceGroup holds figures of one kind of time.
type traceGroup struct {
	Title string
	Rows  [][]string // name, value of each trace, difference if there are two
}

// traceFigure is one figure of a trace. value returns nil if it is unknown.
type traceFigure struct {
	name  string
	value func(*finding.Traced) *float64
	print func(float64) string
	ratio bool // show the difference in percentage points
	// times are the durations that the figure is a percentile of; nil = it is none.
	times func(*finding.Traced) *finding.TraceTimes
}

// missing returns the text for an unknown figure.
func (f *traceFigure) missing(t *finding.Traced) string {
	if f.times != nil {
		if n := f.times(t).Count; n > 0 {
			return "too few (" + strconv.FormatInt(n, 10) + ")"
		}
	}
	return units.None
}

// TraceGroups returns the figures of one trace, or of two with their differences.
func TraceGroups(d *finding.Trace) []traceGroup {
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
					row = append(row, f.missing(&d.Traces[i]))
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
	case a == nil || b == nil || units.Odd(*a) || units.Odd(*b):
		return units.None
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
		return units.Trim(s) + " points"
	case *a == 0:
		return units.None
	}
	return units.Change(*b / *a)
}
