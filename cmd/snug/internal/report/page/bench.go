// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

func benchView(d *finding.Bench) *view {
	d = content.NamedBench(d)
	v := newView("bench", &d.Setup, d.Cells, &d.Verdict)
	if d.Environment != nil {
		v.Environ = content.Forms(d.Environment)
	}
	parts := content.Sections(d.Cells, d.Comparisons)
	kind := kindsOf(d.Cells)
	for i := range parts {
		s := &parts[i]
		v.Parts = append(v.Parts, sectionView(s, d.Cells, d.Comparisons, d.Metrics, kind, len(parts) == 1))
	}
	if g, ok := content.Stalls(d.Cells); ok {
		p := Part{Title: "Stalls", Intro: Sentence(content.StallLaw(d.Cells)) + ".", Tables: []table{tableOf("Stalls of spinning threads", g)}}
		if f := chart.Strips(d.Cells); f != nil {
			p.Figures = append(p.Figures, figureView{Figure: f})
		}
		v.Parts = append(v.Parts, p)
	}
	v.notes(&d.Setup, content.BenchNotes(d))
	v.faults(d.Warnings, d.Unknown)
	v.Next = d.Next
	v.How = how(&d.Setup, d.Cells)
	v.Runs = runsTable(d.Cells)
	return v
}

func newView(kind string, s *finding.Setup, cells []finding.Cell, verdict *finding.BenchVerdict) *view {
	first, rest, _ := strings.Cut(content.Answer(verdict), "; ")
	return &view{
		shell: shell{
			Kind: kind, Title: "snug " + kind + ": " + first, Stamps: stamped(s), Verdict: Sentence(first), Lead: Sentence(rest),
			Facts: facts(s, cells, kind == "bench"), Version: s.Version,
		},
		File: "snug-" + kind + ".json.gz",
	}
}

// sectionView returns a section as a chapter.
func sectionView(s *content.Section, cells []finding.Cell, all []finding.Comparison, names []string, kind map[string]int, stall bool) Part {
	g := s.Figures(cells, names)
	if stall {
		content.StallColumns(&g, s, cells)
	}
	p := Part{Title: Sentence(s.Title), Tables: []table{tableOf("Medians over the rounds", g)}}
	if g, ok := s.Differences(cells, all); ok {
		p.Tables = append(p.Tables, tableOf(Sentence(content.DifferencesTitle(cells, s, all)), g))
	}
	for _, t := range s.Courses(cells) {
		p.Tables = append(p.Tables, tableOf(Sentence(t.Title), t.Grid))
	}
	for _, t := range s.Benchmarks(cells, all) {
		p.Tables = append(p.Tables, tableOf(Sentence(t.Title), t.Grid))
	}
	if f := chart.Ramp(s, cells, kind); f != nil {
		p.Figures = append(p.Figures, figureView{Figure: f})
	}
	if f := chart.Differences(s, cells, all); f != nil {
		p.Figures = append(p.Figures, figureView{Figure: f, Grid: true})
	}
	base := baseline(s, cells, all)
	for _, key := range s.Drawn(cells, all) {
		if f := chart.Dots(s, cells, metric.MetricOf(key), kind, base); f != nil {
			p.Figures = append(p.Figures, figureView{Figure: f})
		}
	}
	if f := chart.Tails(s, cells, kind); f != nil {
		p.Figures = append(p.Figures, figureView{Figure: f})
	}
	return p
}

// baseline returns the cell that is the baseline of all comparisons of a section, or
// -1 if there is not exactly one.
func baseline(s *content.Section, cells []finding.Cell, all []finding.Comparison) int {
	base := -1
	for _, c := range s.Comparisons(cells, all) {
		if base >= 0 && base != c.Baseline {
			return -1
		}
		base = c.Baseline
	}
	return base
}

// kindsOf assigns each setting its colour, dash and mark, the same in all drawings of a page.
func kindsOf(cells []finding.Cell) map[string]int {
	kind := map[string]int{}
	for i := range cells {
		name := content.ArmName(&cells[i])
		if _, ok := kind[name]; !ok {
			kind[name] = len(kind)
		}
	}
	return kind
}

func (v *view) faults(warnings []finding.Warning, unknown []finding.Gap) {
	for _, w := range warnings {
		v.Faults = append(v.Faults, Sentence(metric.Readable(w.Text))+" ["+message.Clean(w.Code)+"]")
	}
	for _, g := range unknown {
		v.Faults = append(v.Faults, "Unknown: "+content.Missing(&g))
	}
}

// stamped returns the stamps of a page, including "stopped early".
func stamped(s *finding.Setup) []string {
	all := content.Stamps(s)
	for _, e := range content.Early(s) {
		all = append(all, Sentence(e))
	}
	return all
}

// notes adds the notes of the text, except those in the stamps.
func (v *view) notes(s *finding.Setup, all []string) {
	for _, n := range all[len(content.Early(s)):] {
		v.Notes = append(v.Notes, Sentence(n))
	}
}
