// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"

	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func tuneView(d *finding.Tune) *view {
	d = content.NamedTune(d)
	v := newView("tune", &d.Setup, d.Cells, &d.Verdict)
	v.Costs = Sentence(content.Costs(d))
	if e := d.Environment; e != nil {
		v.Environ = content.Forms(e)
	}
	if d.Confirm != nil {
		cells := content.Confirmed(d.Confirm)
		s := content.ConfirmSection(d.Confirm)
		p := sectionView(&s, cells, d.Confirm.Comparisons, nil, kindsOf(cells), false)
		p.Title, p.Intro = "Confirmed on fresh rounds", Sentence(s.Title)+"."
		for _, text := range content.KnobTests(d) {
			p.Intro += " " + Sentence(text) + "."
		}
		v.Parts = append(v.Parts, p)
	}
	compromises := Part{Title: "Compromises"}
	if f := chart.ParetoFront(d); f != nil {
		compromises.Figures = append(compromises.Figures, figureView{Figure: &f.Figure, Key: tableOf("The numbered settings", f.Key)})
	}
	if f := chart.MainEffects(d); f != nil {
		compromises.Figures = append(compromises.Figures, figureView{Figure: f, Grid: true})
	}
	if len(compromises.Figures) > 0 {
		v.Parts = append(v.Parts, compromises)
	}
	search := Part{Title: "The search", Intro: Sentence(content.SearchedFor(d)) + "."}
	if len(d.Space) > 0 {
		search.Tables = append(search.Tables, tableOf("Values tried", content.Space(d)))
	}
	if len(d.Pruned) > 0 {
		search.Tables = append(search.Tables, tableOf("Left out", pruned(d)))
	}
	if len(d.Stages) > 0 {
		search.Tables = append(search.Tables, tableOf("Stages", content.Stages(d)))
	}
	if s, ok := content.Candidates(d); ok {
		search.Tables = append(search.Tables, tableOf(fmt.Sprintf("The best %d of %s, by the stage they reached. They were selected by these figures, which are therefore optimistic.",
			len(s.Cells), units.Plural(len(d.Cells), "setting")), s.Figures(d.Cells, nil)))
	}
	v.Parts = append(v.Parts, search)
	v.notes(&d.Setup, content.TuneNotes(d))
	v.faults(content.OtherWarnings(d), d.Unknown)
	v.Next = d.Next
	cells := content.WithConfirmation(d)
	v.How = how(&d.Setup, cells)
	v.Runs = runsTable(cells)
	return v
}

func pruned(d *finding.Tune) content.Grid {
	var what, why []string
	for _, x := range content.PrunedGroups(d.Pruned) {
		what, why = append(what, x.What), append(why, x.Why)
	}
	var g content.Grid
	g.Key("setting", what)
	g.Text("why", why)
	return g
}
