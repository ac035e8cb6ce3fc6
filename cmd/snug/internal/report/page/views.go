// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func benchView(d *finding.Bench) *view {
	d = content.NamedBench(d)
	v := newView("bench", &d.Setup, d.Cells, &d.Verdict, d.Environment)
	parts := content.Sections(d.Cells, d.Comparisons)
	for i := range parts {
		v.Parts = append(v.Parts, sectionView(&parts[i], d.Cells, d.Comparisons, d.Metrics, len(parts) == 1))
	}
	if g, ok := content.Stalls(d.Cells); ok {
		p := Part{Title: "Stalls", Intro: Sentence(content.StallLaw(d.Cells)) + ".",
			Tables: []table{tableOf("Stalls of spinning threads", g)}}
		p.draw(chart.Strips(d.Cells))
		v.Parts = append(v.Parts, p)
	}
	v.notes(&d.Setup, content.BenchNotes(d))
	v.faults(d.Warnings, d.Unknown)
	v.Next, v.Setup = d.Next, how(&d.Setup, d.Cells)
	return v
}

func newView(kind string, s *finding.Setup, cells []finding.Cell, verdict *finding.BenchVerdict,
	env *finding.Environment) *view {
	first, rest, _ := strings.Cut(content.Answer(verdict), "; ")
	v := &view{
		shell: shell{
			Kind: kind, Title: "snug " + kind + ": " + first, Stamps: content.Stamps(s), Verdict: Sentence(first),
			Lead:    Sentence(rest),
			Facts:   strings.Split(cmp.Or(content.OriginText(s, cells, kind == "bench"), "nothing was measured"), "; "),
			Version: s.Version,
		},
		File: "snug-" + kind + ".json.gz",
	}
	for _, e := range content.Early(s) {
		v.Stamps = append(v.Stamps, Sentence(e))
	}
	if env != nil {
		v.Environ = content.Forms(env)
	}
	return v
}

// sectionView returns a section as a chapter.
func sectionView(s *content.Section, cells []finding.Cell, all []finding.Comparison, names []string, stall bool) Part {
	g := s.Figures(cells, names)
	if stall {
		content.StallColumns(&g, s, cells)
	}
	p := Part{Title: Sentence(s.Title), Tables: []table{tableOf("Medians over the rounds", g)}}
	for _, t := range s.Tables(cells, all) {
		p.Tables = append(p.Tables, tableOf(Sentence(t.Title), t.Grid))
	}
	p.draw(chart.Ramp(s, cells), chart.Differences(s, cells, all))
	for _, key := range s.Drawn(cells, all) {
		p.draw(chart.Dots(s, cells, metric.MetricOf(key)))
	}
	p.draw(chart.Tails(s, cells))
	return p
}

func (v *view) faults(warnings []finding.Warning, unknown []finding.Gap) {
	for _, w := range warnings {
		v.Faults = append(v.Faults, Sentence(metric.Readable(w.Text))+" ["+message.Clean(w.Code)+"]")
	}
	for _, g := range unknown {
		v.Faults = append(v.Faults, "Unknown: "+content.Missing(&g))
	}
}

// notes adds the notes of the text, except those in the stamps.
func (v *view) notes(s *finding.Setup, all []string) {
	for _, n := range all[len(content.Early(s)):] {
		v.Notes = append(v.Notes, Sentence(n))
	}
}

func tuneView(d *finding.Tune) *view {
	d = content.NamedTune(d)
	v := newView("tune", &d.Setup, d.Cells, &d.Verdict, d.Environment)
	v.Costs = Sentence(content.Costs(d))
	if d.Confirm != nil {
		cells := content.Confirmed(d.Confirm)
		s := content.SectionOf(cells)
		p := sectionView(&s, cells, d.Confirm.Comparisons, nil, false)
		p.Title, p.Intro = "Confirmed on fresh rounds", Sentence(s.Title)+"."
		for _, text := range content.KnobTests(d) {
			p.Intro += " " + Sentence(text) + "."
		}
		v.Parts = append(v.Parts, p)
	}
	if f, key := chart.ParetoFront(d); f != nil {
		v.Parts = append(v.Parts, Part{Title: "Compromises", Figures: []*chart.Figure{f},
			Tables: []table{tableOf("The numbered settings", key)}})
	}
	search := Part{Title: "The search", Intro: Sentence(content.SearchedFor(d)) + "."}
	if len(d.Space) > 0 {
		search.Tables = append(search.Tables, tableOf("Values tried", content.Space(d)))
	}
	if len(d.Pruned) > 0 {
		var rows [][]string
		for _, x := range content.PrunedGroups(d.Pruned) {
			rows = append(rows, []string{x.What, x.Why})
		}
		search.Tables = append(search.Tables, worded("Left out", []string{"setting", "why"}, rows))
	}
	if len(d.Stages) > 0 {
		search.Tables = append(search.Tables, tableOf("Stages", content.Stages(d)))
	}
	if s, ok := content.Candidates(d); ok {
		search.Tables = append(search.Tables, tableOf(fmt.Sprintf("The best %d of %s, by the stage they reached. They were "+
			"selected by these figures, which are therefore optimistic.",
			len(s.Cells), units.Plural(len(d.Cells), "setting")), s.Figures(d.Cells, nil)))
	}
	v.Parts = append(v.Parts, search)
	v.notes(&d.Setup, content.TuneNotes(d))
	v.faults(content.OtherWarnings(d), d.Unknown)
	v.Next, v.Setup = d.Next, how(&d.Setup, content.WithConfirmation(d))
	return v
}

// sizeView returns the page of the container that a program needs: by what was seen of it, or by an
// experiment.
func sizeView(d *finding.Size) *view {
	verdict, price := content.SizeVerdict(d), "Price: "+content.SizePrice(&d.Price)+"."
	v := &view{shell: shell{Kind: "size", Title: "snug size: " + verdict, Verdict: verdict, Next: d.Next},
		File: "snug-size.json.gz"}
	if d.Go != nil {
		v.Facts = append(v.Facts, message.Clean(*d.Go))
	}
	if patch, why := content.SizePatch(d); why == nil {
		v.Environ = []content.Form{{Name: "Kubernetes, in a container", Text: patch}}
	}
	if d.Search == nil || d.Search.Shown {
		values := content.SizeValues(d)
		v.Parts = append(v.Parts, Part{Title: "What it needs", Tables: []table{worded("The answer, each value with its "+
			"reason; has is as it is now", values[0], values[1:])}})
	}
	if d.Search != nil {
		tried := content.SizeTried(d)
		v.Parts = append(v.Parts, Part{Title: "What was tried", Intro: price,
			Tables: []table{worded("Runs that kept the objective, in the search and in the confirmation", tried[0], tried[1:])}})
		v.How = []fact{{"Runs", Sentence(content.SizeRuns(d.Search))}}
	} else {
		v.seen(d, price)
	}
	for _, line := range content.SizeUnseen(d.Unseen, d.Search) {
		v.Notes = append(v.Notes, Sentence(line)+".")
	}
	v.faults(nil, d.Unknown)
	return v
}

// seen adds what a watch saw.
func (v *view) seen(d *finding.Size, price string) {
	v.Lead = Sentence(content.Reason(&d.Memory.Why))
	v.Facts = append(v.Facts, "watched for "+content.Whole(d.Seconds), units.Plural(d.Collections, "collection"))
	memory := Part{Title: "Memory"}
	if memory.draw(chart.SizeCurve(d)); memory.Figures == nil {
		memory.Intro = "No curve: what collections would cost in other memory limits was not seen."
	}
	v.Parts = append(v.Parts, memory)
	if len(d.Curve) > 0 {
		v.Parts = append(v.Parts, Part{Title: "Memory limits around the answer", Intro: price,
			Tables: []table{worded("Collections and their CPU are what the model expects",
				[]string{"memory limit", "GOMEMLIMIT", "heap goal", "collections/s", "GC CPU", "price", ""},
				content.SizeCurve(d, math.MaxInt32))}})
	}
	for _, line := range content.SizeSeen(d) {
		v.How = append(v.How, fact{"Watched", Sentence(line)})
	}
	v.How = append(v.How, fact{"Least", "What was seen fits in no less. It is not advice: collections may take a " +
		"quarter of the CPU limit there."})
}

// worded returns a table whose last column has words.
func worded(caption string, head []string, rows [][]string) table {
	t := tableOf(caption, gridOf(head, rows))
	for _, row := range append(t.Rows, t.Head) {
		if n := len(row); n > 0 {
			row[n-1].Class = "text why"
		}
	}
	return t
}

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
