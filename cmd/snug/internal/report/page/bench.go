// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
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
