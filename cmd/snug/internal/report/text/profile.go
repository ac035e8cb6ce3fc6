// SPDX-License-Identifier: Apache-2.0

package text

import (
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) profile(d *finding.Profile) {
	about := ""
	if d.Seconds != nil && *d.Seconds > 0 {
		about = " in " + units.Duration(*d.Seconds)
	}
	p.line("%s: %s of CPU time%s, %s (%s)", message.Clean(d.Target), units.Duration(d.CPU), about, units.Plural(d.Samples,
		"sample"), message.Clean(d.Source))
	if d.Samples == 0 && d.CPU == 0 {
		p.line("it was idle: there is nothing to sort")
	}
	if len(d.Classes) > 0 {
		p.line("")
		p.table(content.ClassRows(d))
	}
	if len(d.Top) > 0 {
		p.line("")
		p.line("largest functions of the program: their own code, and with what the runtime and the kernel did for them")
		rows := [][]string{}
		for _, t := range d.Top {
			rows = append(rows, []string{units.Share(t.Ratio), units.Share(t.Caused), message.Clean(t.Function)})
		}
		p.table(rows)
	}
	for i := range d.Findings {
		p.line("")
		p.finding(&d.Findings[i], false)
	}
	without := ""
	if !d.PGO {
		without = " (not for go build -pgo, which wants functions of Go 1.20 or later)"
	}
	p.written(d.Saved, without, d.Page)
	p.next(d.Next)
}
