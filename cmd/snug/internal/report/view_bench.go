// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func benchView(d *finding.Bench) *view {
	d = namedBench(d)
	v := newView("bench", &d.Setup, d.Cells, &d.Verdict)
	parts := sections(d.Cells, d.Comparisons)
	kind := kindsOf(d.Cells)
	for i := range parts {
		s := &parts[i]
		v.Parts = append(v.Parts, sectionView(s, d.Cells, d.Comparisons, d.Metrics, kind, len(parts) == 1))
	}
	if g, ok := stalls(d.Cells); ok {
		p := part{Title: "Stalls", Intro: sentence(stallLaw(d.Cells)) + ".", Tables: []table{tableOf("Stalls of spinning threads", g)}}
		if f := strips(d.Cells); f != nil {
			p.Figures = append(p.Figures, figureView{figure: f})
		}
		v.Parts = append(v.Parts, p)
	}
	v.notes(&d.Setup, benchNotes(d))
	v.faults(d.Warnings, d.Unknown)
	v.Next = d.Next
	v.How = how(&d.Setup, d.Cells)
	v.Runs = runsTable(d.Cells)
	return v
}

func newView(kind string, s *finding.Setup, cells []finding.Cell, verdict *finding.BenchVerdict) *view {
	first, rest, _ := strings.Cut(answer(verdict), "; ")
	return &view{
		Kind: kind, Title: "snug " + kind + ": " + first, Stamps: stamped(s), Verdict: sentence(first), Lead: sentence(rest),
		Facts: facts(s, cells, kind == "bench"), Version: s.Version, File: "snug-" + kind + ".json.gz",
	}
}

// sectionView is a section as a chapter.
func sectionView(s *section, cells []finding.Cell, all []finding.Comparison, names []string, kind map[string]int, stall bool) part {
	g := s.figures(cells, names)
	if stall {
		stallColumns(&g, s, cells)
	}
	p := part{Title: sentence(s.title), Tables: []table{tableOf("Medians over the rounds", g)}}
	if g, ok := s.differences(cells, all); ok {
		p.Tables = append(p.Tables, tableOf(sentence(against(cells, s, all)), g))
	}
	base := s.baseline(cells, all)
	for _, key := range []string{"rps", "wall_seconds", "cpu_seconds_per_op", "p95_seconds"} {
		if key == "p95_seconds" && !s.users {
			continue
		}
		if f := dots(s, cells, metricOf(key), kind, base); f != nil {
			p.Figures = append(p.Figures, figureView{figure: f})
		}
	}
	if f := tails(s, cells, kind); f != nil {
		p.Figures = append(p.Figures, figureView{figure: f})
	}
	return p
}

// baseline is the one cell that all comparisons of a section are made with, or
// -1.
func (s *section) baseline(cells []finding.Cell, all []finding.Comparison) int {
	base := -1
	for _, c := range s.comparisons(cells, all) {
		if base >= 0 && base != c.Baseline {
			return -1
		}
		base = c.Baseline
	}
	return base
}

// kindsOf gives each setting its colour, dash and mark, the same in every
// drawing of a page.
func kindsOf(cells []finding.Cell) map[string]int {
	kind := map[string]int{}
	for i := range cells {
		name := armName(&cells[i])
		if _, ok := kind[name]; !ok {
			kind[name] = len(kind)
		}
	}
	return kind
}

func (v *view) faults(warnings []finding.Warning, unknown []finding.Gap) {
	for _, w := range warnings {
		v.Faults = append(v.Faults, sentence(worded(w.Text))+" ["+Clean(w.Code)+"]")
	}
	for _, g := range unknown {
		v.Faults = append(v.Faults, "Unknown: "+worded(g.Field)+", "+Clean(g.File)+": "+worded(g.Why))
	}
}

// stamped are the stamps of a page, where stopping early is one too.
func stamped(s *finding.Setup) []string {
	all := stamps(s)
	for _, e := range early(s) {
		all = append(all, sentence(e))
	}
	return all
}

// notes are those of the text, without what the stamps already say.
func (v *view) notes(s *finding.Setup, all []string) {
	for _, n := range all[len(early(s)):] {
		v.Notes = append(v.Notes, sentence(n))
	}
}
