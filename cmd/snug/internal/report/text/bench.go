// SPDX-License-Identifier: Apache-2.0

package text

import (
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func (p *Page) bench(d *finding.Bench) {
	d = content.NamedBench(d)
	for _, stamp := range content.Stamps(&d.Setup) {
		p.wrap(stamp)
	}
	p.wrap(content.Answer(&d.Verdict))
	p.line("")
	parts := content.Sections(d.Cells, d.Comparisons)
	for i := range parts {
		s := &parts[i]
		p.wrap(s.Title)
		g := s.Figures(d.Cells, d.Metrics)
		if len(parts) == 1 {
			content.StallColumns(&g, s, d.Cells)
		}
		p.grid(g)
		if g, ok := s.Differences(d.Cells, d.Comparisons); ok {
			p.titled(content.DifferencesTitle(d.Cells, s, d.Comparisons), g)
		}
		for _, t := range append(s.Courses(d.Cells), s.Benchmarks(d.Cells, d.Comparisons)...) {
			p.titled(t.Title, t.Grid)
		}
		p.line("")
	}
	if len(parts) == 0 {
		p.line("nothing was measured")
		p.line("")
	}
	if g, ok := content.Stalls(d.Cells); ok {
		p.wrap(content.StallLaw(d.Cells))
		if len(parts) > 1 {
			p.grid(g)
		}
		p.line("")
	}
	if d.Environment != nil {
		p.line("to paste:")
		p.environment(d.Environment)
		p.line("")
	}
	for _, n := range content.BenchNotes(d) {
		p.wrap(n)
	}
	if text := content.OriginText(&d.Setup, d.Cells, true); text != "" {
		p.wrap(text)
	}
	p.notes(d.Warnings, d.Unknown)
	p.next(d.Next)
}
