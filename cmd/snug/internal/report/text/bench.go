// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) bench(d *finding.Bench) {
	d = content.NamedBench(d)
	p.paragraphs(content.Stamps(&d.Setup)...)
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
		p.titled(s.Tables(d.Cells, d.Comparisons)...)
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
	p.paragraphs(content.BenchNotes(d)...)
	p.paragraphs(content.OriginText(&d.Setup, d.Cells, true))
	p.notes(d.Warnings, d.Unknown)
	p.next(d.Next)
}

func (p *Page) tune(d *finding.Tune) {
	d = content.NamedTune(d)
	p.paragraphs(content.Stamps(&d.Setup)...)
	p.paragraphs(content.Answer(&d.Verdict), content.Costs(d))
	p.paragraphs(content.KnobTests(d)...)
	p.line("")
	if len(d.Cells) == 0 {
		p.line("nothing was measured")
		p.line("")
	}
	p.wrap(content.SearchedFor(d))
	if len(d.Space) > 0 {
		p.grid(content.Space(d))
	}
	for _, x := range content.PrunedGroups(d.Pruned) {
		p.wrap("left out: " + x.What + ": " + x.Why)
	}
	if len(d.Stages) > 0 {
		p.line("")
		p.grid(content.Stages(d))
	}
	if s, ok := content.Candidates(d); ok {
		title := fmt.Sprintf("the best %d of %s, by the stage they reached; they were selected by these figures, which are "+
			"therefore optimistic; %s", len(s.Cells), units.Plural(len(d.Cells), "setting"), s.Title)
		p.titled(content.Titled{Title: title, Grid: s.Figures(d.Cells, nil)})
	}
	if d.Confirm != nil {
		cells := content.Confirmed(d.Confirm)
		s := content.SectionOf(cells)
		p.titled(content.Titled{Title: "confirmed on fresh rounds", Grid: s.Figures(cells, nil)})
		p.titled(s.Differences(cells, d.Confirm.Comparisons)...)
	}
	p.environment(d.Environment)
	p.line("")
	p.paragraphs(content.TuneNotes(d)...)
	p.paragraphs(content.OriginText(&d.Setup, d.Cells, false))
	p.notes(content.OtherWarnings(d), d.Unknown)
	p.next(d.Next)
}

// environment writes the winner in three forms to paste. It does not wrap lines, and
// removes only what is unsafe on a terminal, not what a shell needs.
func (p *Page) environment(e *finding.Environment) {
	if e == nil {
		return
	}
	for _, form := range content.Forms(e) {
		p.below("# " + form.Name)
		for line := range strings.Lines(form.Text) {
			p.line("%s", strings.TrimRight(line, "\n"))
		}
	}
}

func (p *Page) trace(d *finding.Trace) {
	for i := range d.Traces {
		t := &d.Traces[i]
		p.wrap(t.Target + ": " + content.TraceVerdict(t))
		if t.Partial != nil {
			p.line("partial: these are figures of the first %s: %s", units.Duration(t.Wall.Run), *t.Partial)
		}
	}
	for _, g := range content.TraceGroups(d) {
		p.headed(g.Title, g.Rows)
	}
	for i := range d.Traces {
		of := units.If(len(d.Traces) > 1, ", "+string(rune('A'+i)))
		p.headed("the world was stopped for (wall time"+of+")", content.StopRows(&d.Traces[i], true))
		p.headed("goroutines were blocked by (wall time summed over goroutines"+of+")",
			content.WaitRows(&d.Traces[i], content.MaxWaits, true))
	}
	p.line("")
	p.paragraphs(content.TraceNotes(d)...)
	for i := range d.Traces {
		for _, g := range d.Traces[i].Unknown {
			p.line("unknown: %s", content.Missing(&g))
		}
	}
	if d.Page != nil {
		p.below("page: " + *d.Page)
	}
	p.next(d.Next)
}
