// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"slices"
	"strings"

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
		p.Tables = append(tablesOf("Medians over the rounds", s.Figures(cells, nil)), p.Tables[1:]...)
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
		search.Tables = append(search.Tables, tablesOf(fmt.Sprintf("The best %d of %s, by the stage they reached. They were selected by these figures, which are therefore optimistic.",
			len(s.Cells), units.Plural(len(d.Cells), "setting")), s.Figures(d.Cells, nil))...)
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

// tableWidth is the width of a page on a screen of 1280 pixels, in pixels.
const tableWidth = 1090

// tablesOf returns a table, or several below each other if it would be wider than a page:
// what is out of sight is not read. Each has the columns that identify a row.
func tablesOf(caption string, g content.Grid) []table {
	width := func(c *content.Col) int { return 8*c.Size() + 18 }
	name, _, _ := strings.Cut(caption, ",")
	var keys, part content.Grid
	own := 0
	for _, c := range g.Columns {
		if c.Key {
			keys.Columns = append(keys.Columns, c)
			own += width(&c)
		}
	}
	var all []table
	flush := func() {
		if len(part.Columns) > 0 || len(all) == 0 {
			whole := content.Grid{Columns: append(slices.Clone(keys.Columns), part.Columns...)}
			all = append(all, tableOf(caption, whole))
		}
		part, caption = content.Grid{}, name+", continued"
	}
	used := own
	for _, c := range g.Columns {
		if c.Key {
			continue
		}
		if used+width(&c) > tableWidth && len(part.Columns) > 0 {
			flush()
			used = own
		}
		part.Columns = append(part.Columns, c)
		used += width(&c)
	}
	flush()
	return all
}
