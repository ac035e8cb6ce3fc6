// SPDX-License-Identifier: Apache-2.0

package text

import (
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func (p *Page) explanation(d *finding.Explanation) {
	p.line("%s: %s", d.ID, d.Title)
	p.line("")
	p.WriteString(d.Text)
}

func (p *Page) index(d *finding.Index) {
	p.line("%d ids that snug can explain", len(d.Entries))
	p.line("")
	rows := [][]string{}
	for _, e := range d.Entries {
		rows = append(rows, []string{e.ID, e.Class, e.Title})
	}
	p.table(rows)
	p.next(d.Next)
}

func (p *Page) build(d *finding.Build) {
	p.line("snug %s (%s, %s/%s)", d.Version, d.Go, d.OS, d.Arch)
	if d.Commit != nil {
		changed := ""
		if d.Changed {
			changed = ", with changes"
		}
		p.line("commit %s%s", *d.Commit, changed)
	}
}
