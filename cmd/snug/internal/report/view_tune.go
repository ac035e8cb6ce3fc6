// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func tuneView(d *finding.Tune) *view {
	d = namedTune(d)
	v := newView("tune", &d.Setup, d.Cells, &d.Verdict)
	v.Costs = sentence(costs(d))
	if e := d.Environment; e != nil {
		v.Environ = forms(e)
	}
	if d.Confirm != nil {
		cells := confirmed(d.Confirm)
		s := newSection(cells, []int{0, 1})
		p := sectionView(&s, cells, d.Confirm.Comparisons, nil, kindsOf([]finding.Cell{d.Confirm.Default, d.Confirm.Winner}), false)
		p.Title, p.Intro = "Confirmed on fresh rounds", sentence(s.title)+"."
		v.Parts = append(v.Parts, p)
	}
	compromises := part{Title: "Compromises"}
	if f := paretoFront(d); f != nil {
		compromises.Figures = append(compromises.Figures, figureView{figure: &f.figure, Key: tableOf("The numbered settings", f.Key)})
	}
	if f := mainEffects(d); f != nil {
		compromises.Figures = append(compromises.Figures, figureView{figure: f, Grid: true})
	}
	if len(compromises.Figures) > 0 {
		v.Parts = append(v.Parts, compromises)
	}
	search := part{Title: "The search", Intro: sentence(searchedFor(d)) + "."}
	if len(d.Space) > 0 {
		search.Tables = append(search.Tables, tableOf("Values tried", space(d)))
	}
	if len(d.Pruned) > 0 {
		search.Tables = append(search.Tables, tableOf("Left out", pruned(d)))
	}
	if len(d.Stages) > 0 {
		search.Tables = append(search.Tables, tableOf("Stages", stages(d)))
	}
	if s, ok := candidates(d); ok {
		search.Tables = append(search.Tables, tableOf(fmt.Sprintf("The best %d of %s, by the stage they reached. Their numbers chose them, so they flatter.",
			len(s.cells), plural(len(d.Cells), "setting")), s.figures(d.Cells, nil)))
	}
	v.Parts = append(v.Parts, search)
	v.notes(&d.Setup, tuneNotes(d))
	v.faults(otherWarnings(d), d.Unknown)
	v.Next = d.Next
	cells := withConfirmation(d)
	v.How = how(&d.Setup, cells)
	v.Runs = runsTable(cells)
	return v
}

func pruned(d *finding.Tune) grid {
	var what, why []string
	for _, x := range leftOut(d.Pruned) {
		what, why = append(what, x.What), append(why, x.Why)
	}
	var g grid
	g.key("setting", what)
	g.text("why", why)
	return g
}
