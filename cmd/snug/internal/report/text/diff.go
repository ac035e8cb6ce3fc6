// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) profileDiff(d *finding.ProfileDiff) {
	p.wrap(content.DiffVerdict(d))
	p.wrap("A: " + content.ProfiledText(&d.A))
	p.wrap("B: " + content.ProfiledText(&d.B))
	p.line("")
	p.line("%s; ~ is no difference that can be shown", content.DiffUnit(d))
	head := []string{"A", "B", "difference", "interval", ""}
	rows := [][]string{head}
	for i := range d.Classes {
		c := &d.Classes[i]
		rows = append(rows, append(content.ChangeCells(d, &c.Change), message.Clean(c.ID)))
	}
	for _, sum := range content.Sums(d) {
		rows = append(rows, append(content.ChangeCells(d, sum.Change), "("+sum.Name+")"))
	}
	p.table(rows)
	p.line("")
	rows = [][]string{head}
	for i := range d.Functions {
		if f := &d.Functions[i]; f.Shown || f.Low == nil {
			rows = append(rows, append(content.ChangeCells(d, &f.Change), message.Clean(f.Function)))
		}
	}
	if len(rows) > 1 {
		p.line("functions of the program, with what the runtime and the kernel did for them")
		p.table(rows)
	} else {
		p.line("of no function of the program a difference can be shown")
	}
	p.line("")
	p.wrap("Each list of intervals holds as a whole with " + units.Share(d.Confidence) + " confidence.")
	for _, c := range d.Caveats {
		p.wrap(message.Clean(c))
	}
	if d.Page != nil {
		p.line("")
		p.line("flame graph: %s", message.Clean(*d.Page))
	}
	p.next(d.Next)
}

func (p *Page) doctorDiff(d *finding.DoctorDiff) {
	for i := range d.Targets {
		if i > 0 {
			p.line("")
		}
		p.examinedDiff(&d.Targets[i])
	}
	p.next(d.Next)
}

// becameOf lists what can become of a finding, with the words for it.
var becameOf = []struct{ change, words string }{
	{finding.FindingCame, "came"},
	{finding.FindingStayed, "stayed"},
	{finding.FindingWent, "went"},
	{finding.FindingLost, "could not be judged again"},
}

func (p *Page) examinedDiff(t *finding.ExaminedDiff) {
	name := func(target *string) string {
		if target == nil {
			return "(no such target)"
		}
		return message.Clean(*target)
	}
	count := map[string]int{}
	for i := range t.Findings {
		count[t.Findings[i].Change]++
	}
	var said []string
	if t.Before == nil || t.After == nil {
		said = []string{"only in one document"}
	}
	for _, b := range becameOf {
		if n := count[b.change]; n > 0 {
			said = append(said, strconv.Itoa(n)+" "+b.words)
		}
	}
	if len(said) == 0 {
		said = []string{"nothing found, before and after"}
	}
	p.line("%s -> %s: %s", name(t.Before), name(t.After), strings.Join(said, ", "))
	for _, b := range becameOf {
		for i := range t.Findings {
			if f := &t.Findings[i]; f.Change == b.change {
				p.line("")
				p.findingDiff(f, b.words)
			}
		}
	}
	if len(t.Figures) > 0 {
		p.line("")
		p.line("figures that differ, of one look each")
		p.table(figureDiffs(t.Figures, ""))
	}
	p.notes(nil, t.Unknown)
}

func (p *Page) findingDiff(f *finding.FindingDiff, words string) {
	severity := ""
	switch {
	case f.Before != nil && f.After != nil && *f.Before != *f.After:
		severity = string(*f.Before) + " -> " + string(*f.After)
	case f.After != nil:
		severity = string(*f.After)
	case f.Before != nil:
		severity = string(*f.Before)
	}
	p.line("%s, %s: %s [%s]", words, message.Clean(severity), message.Clean(f.Title), message.Clean(f.ID))
	p.table(figureDiffs(f.Figures, "  "))
	if f.Fix != "" {
		p.wrap("fix: " + metric.Readable(f.Fix))
	}
}

// figureDiffs returns figures as rows: words, before, after.
func figureDiffs(figures []finding.FigureDiff, indent string) [][]string {
	rows := [][]string{}
	for _, f := range figures {
		value := func(v *float64) string {
			if v == nil {
				return "unknown"
			}
			return content.Quantity(*v, f.Unit)
		}
		rows = append(rows, []string{indent + metric.Readable(f.What), value(f.Before), "->", value(f.After)})
	}
	return rows
}
