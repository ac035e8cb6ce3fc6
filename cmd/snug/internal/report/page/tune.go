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
	v := newView("tune", &d.Setup, d.Cells, &d.Verdict, d.Environment)
	v.Costs = Sentence(content.Costs(d))
	if d.Confirm != nil {
		cells := content.Confirmed(d.Confirm)
		s := content.ConfirmSection(d.Confirm)
		p := sectionView(&s, cells, d.Confirm.Comparisons, nil, false)
		p.Title, p.Intro = "Confirmed on fresh rounds", Sentence(s.Title)+"."
		for _, text := range content.KnobTests(d) {
			p.Intro += " " + Sentence(text) + "."
		}
		v.Parts = append(v.Parts, p)
	}
	compromises := Part{Title: "Compromises"}
	if f, key := chart.ParetoFront(d); f != nil {
		compromises.draw(f)
		compromises.Tables = append(compromises.Tables, tableOf("The numbered settings", key))
	}
	if len(d.Effects) > 0 {
		compromises.Tables = append(compromises.Tables,
			tableOf("What each value does to "+content.Objective(d.Objective)+", averaged over the others: "+content.Estimates,
				content.Effects(d)))
	}
	if len(compromises.Tables) > 0 {
		v.Parts = append(v.Parts, compromises)
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
