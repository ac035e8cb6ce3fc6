// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) tune(d *finding.Tune) {
	d = content.NamedTune(d)
	for _, stamp := range content.Stamps(&d.Setup) {
		p.wrap(stamp)
	}
	p.wrap(content.Answer(&d.Verdict))
	if text := content.Costs(d); text != "" {
		p.wrap(text)
	}
	for _, text := range content.KnobTests(d) {
		p.wrap(text)
	}
	p.line("")
	if len(d.Cells) == 0 {
		p.line("nothing was measured")
		p.line("")
	}
	p.wrap(content.SearchedFor(d))
	if g := content.Space(d); len(d.Space) > 0 {
		p.grid(g)
	}
	for _, x := range content.PrunedGroups(d.Pruned) {
		p.wrap("left out: " + x.What + ": " + x.Why)
	}
	if len(d.Stages) > 0 {
		p.line("")
		p.grid(content.Stages(d))
	}
	if s, ok := content.Candidates(d); ok {
		p.line("")
		p.wrap(fmt.Sprintf("the best %d of %s, by the stage they reached; they were selected by these figures, which are "+
			"therefore optimistic; %s",
			len(s.Cells), units.Plural(len(d.Cells), "setting"), s.Title))
		p.grid(s.Figures(d.Cells, nil))
	}
	if len(d.Effects) > 0 {
		p.titled("what each value does to "+content.Objective(d.Objective)+", averaged over the others: "+content.Estimates,
			content.Effects(d))
	}
	if d.Confirm != nil {
		cells := content.Confirmed(d.Confirm)
		s := content.ConfirmSection(d.Confirm)
		p.titled("confirmed on fresh rounds", s.Figures(cells, nil))
		if g, ok := s.Differences(cells, d.Confirm.Comparisons); ok {
			p.titled(content.DifferencesTitle(cells, &s, d.Confirm.Comparisons), g)
		}
	}
	p.environment(d.Environment)
	p.line("")
	for _, n := range content.TuneNotes(d) {
		p.wrap(n)
	}
	if text := content.OriginText(&d.Setup, d.Cells, false); text != "" {
		p.wrap(text)
	}
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
		p.line("")
		p.line("# %s", form.Name)
		for line := range strings.Lines(form.Text) {
			p.line("%s", message.Clean(strings.TrimRight(line, "\n")))
		}
	}
}
