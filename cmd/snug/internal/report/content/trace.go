// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
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
	mean, longest := "", ""
	if words {
		mean, longest = "mean ", "longest "
	}
	rows := [][]string{}
	for _, s := range t.Wall.StopsBy {
		row := []string{s.Reason, units.Duration(s.Total), timesText(s.Count, words)}
		if s.Mean != nil && s.Max != nil {
			row = append(row, mean+units.Duration(*s.Mean), longest+units.Duration(*s.Max))
		}
		rows = append(rows, row)
	}
	return rows
}

func WaitRows(t *finding.Traced, limit int, words bool) [][]string {
	rows := [][]string{}
	for _, r := range t.Goroutines.Reasons[:min(len(t.Goroutines.Reasons), limit)] {
		rows = append(rows, []string{r.Reason, units.Duration(r.Total), timesText(r.Count, words)})
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

// traceList holds figures of one kind of time.
type traceList struct {
	title   string
	figures []traceFigure
}

// traceFigure is one figure of a trace; value is nil if it is unknown.
type traceFigure struct {
	name  string
	value *float64
	print func(float64) string
	kind  traceKind
	of    int64  // of a percentile: the number of durations that there are
	text  string // instead of a value
}

// traceKind says how a figure of two traces is compared.
type traceKind int

const (
	asRatio  traceKind = iota
	inPoints           // of percent
	notCompared
)

// traceFigures returns all figures of the text and of the page.
func traceFigures(t *finding.Traced) []traceList {
	w, o, g, h := &t.Wall, &t.Occupancy, &t.Goroutines, &t.Heap
	duration := func(name string, seconds *float64) traceFigure {
		return traceFigure{name: name, value: seconds, print: units.Duration}
	}
	// A percentile is missing where there are too few durations.
	percentile := func(name string, seconds *float64, times *finding.TraceTimes) traceFigure {
		return traceFigure{name: name, value: seconds, print: units.Duration, of: times.Count}
	}
	share := func(name string, ratio *float64) traceFigure {
		return traceFigure{name: name, value: ratio, print: units.Share, kind: inPoints}
	}
	count := func(name string, n int64) traceFigure {
		return traceFigure{name: name, value: metric.Float(&n), print: units.Number}
	}
	size := func(name string, bytes *uint64) traceFigure {
		return traceFigure{name: name, value: metric.Float(bytes), print: BytesText}
	}
	return []traceList{
		{"wall time", []traceFigure{
			duration("run time", &w.Run),
			count("collections", w.GCs),
			share("collections, share", &w.GCRun),
			duration("stop-the-world, total", &w.Stops.Total),
			share("stop-the-world, share", &w.Stopped),
			count("stop-the-world, times", w.Stops.Count),
			duration("stop-the-world, mean", w.Stops.Mean),
			percentile("stop-the-world, P99", w.Stops.P99, &w.Stops),
			duration("stop-the-world, longest", w.Stops.Max),
			duration("stop-the-world, for GC", &w.GCStopped),
		}},
		{"P-occupancy: who held a P, and for how long", []traceFigure{
			share("Ps held", o.HeldAll),
			share("collector's share", o.GC),
			duration("  mark workers", new(o.Dedicated+o.Fractional)),
			duration("  mark assists", &o.Assist),
			duration("  sweeping", &o.Sweep),
			duration("idle marking, separate", &o.IdleMark),
			duration("goroutines running", &o.Running),
			share("minimum left to the program in 1 ms", utilisation(o, 1e-3)),
			share("  in 10 ms", utilisation(o, 1e-2)),
			share("  in 100 ms", utilisation(o, .1)),
			share("  in 1 s", utilisation(o, 1)),
			{name: "GOMAXPROCS", kind: notCompared, text: procsText(t.Procs)},
			{name: "each P held", kind: notCompared, text: heldText(o.Held)},
		}},
		{"goroutines: wall time, summed over all of them", []traceFigure{
			percentile("scheduler latency, P50", g.Latency.P50, &g.Latency),
			percentile("scheduler latency, P90", g.Latency.P90, &g.Latency),
			percentile("scheduler latency, P99", g.Latency.P99, &g.Latency),
			percentile("scheduler latency, P99.9", g.Latency.P999, &g.Latency),
			duration("scheduler latency, longest", g.Latency.Max),
			duration("runnable", &g.Runnable),
			duration("blocked", &g.Blocked),
			duration("in system calls", &g.Syscall),
			count("created", g.Created),
			count("maximum at once", int64(g.Peak)),
		}},
		{"heap: objects, including dead ones not yet swept", []traceFigure{
			size("peak", h.Peak), size("at the end", h.Last), size("highest goal", h.GoalPeak),
			size("goal at the end", h.GoalLast),
		}},
	}
}

// traceGroup holds figures of one kind of time.
type traceGroup struct {
	Title string
	Rows  [][]string // name, value of each trace, difference if there are two
}

// TraceGroups returns the figures of one trace, or of two with their differences.
func TraceGroups(d *finding.Trace) []traceGroup {
	var all [][]traceList
	for i := range d.Traces {
		all = append(all, traceFigures(&d.Traces[i]))
	}
	var out []traceGroup
	for g, list := range traceFigures(&finding.Traced{}) {
		rows, found := [][]string{}, false
		if len(all) > 1 {
			rows = append(rows, []string{"", "A", "B", "difference"})
		}
		for k, f := range list.figures {
			row := []string{f.name}
			for _, t := range all {
				f := &t[g].figures[k]
				row, found = append(row, f.printed()), found || f.value != nil
			}
			if len(all) == 2 && f.kind != notCompared {
				row = append(row, f.difference(all[0][g].figures[k].value, all[1][g].figures[k].value))
			}
			rows = append(rows, row)
		}
		if found {
			out = append(out, traceGroup{list.title, rows})
		}
	}
	return out
}

func (f *traceFigure) printed() string {
	switch {
	case f.text != "":
		return f.text
	case f.value != nil:
		return f.print(*f.value)
	case f.of > 0:
		return "too few (" + strconv.FormatInt(f.of, 10) + ")"
	}
	return units.None
}

func (f *traceFigure) difference(a, b *float64) string {
	switch {
	case a == nil || b == nil || units.Odd(*a) || units.Odd(*b):
		return units.None
	case *a == *b:
		return "0"
	case f.kind == inPoints:
		text := units.Signed(units.Trim(strconv.FormatFloat((*b-*a)*100, 'f', 1, 64)), *b-*a)
		text += units.If(text != "0", " points")
		return text
	case *a == 0:
		return units.None
	}
	return units.Change(*b / *a)
}

// utilisation returns the minimum mutator utilisation for a window in seconds.
func utilisation(o *finding.TraceOccupancy, window float64) *float64 {
	for _, m := range o.MMU {
		if m.Window == window {
			return m.Ratio
		}
	}
	return nil
}

// procsText formats GOMAXPROCS over time.
func procsText(all []finding.TraceProcs) string {
	switch len(all) {
	case 0:
		return units.None
	case 1:
		return strconv.Itoa(all[0].N)
	}
	const shown = 4
	var parts []string
	for i, p := range all[:min(len(all), shown)] {
		text := strconv.Itoa(p.N)
		text += units.If(i > 0, " from "+units.Duration(p.At))
		parts = append(parts, text)
	}
	if n := len(all) - shown; n > 0 {
		parts = append(parts, units.Plural(n, "more change"))
	}
	return strings.Join(parts, ", ")
}

// heldText formats the share of each P, or their range if there are more than 8.
func heldText(held []float64) string {
	switch {
	case len(held) == 0:
		return units.None
	case len(held) <= 8:
		return strings.Join(units.Texts(held, units.Share), ", ")
	}
	low, high, _ := units.Span(held)
	return units.Share(low) + " to " + units.Share(high)
}
