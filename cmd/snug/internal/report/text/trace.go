// SPDX-License-Identifier: Apache-2.0

package text

import (
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func (p *Page) trace(d *finding.Trace) {
	for i := range d.Traces {
		t := &d.Traces[i]
		p.wrap(message.Clean(t.Target) + ": " + content.TraceVerdict(t))
		if t.Partial != nil {
			p.line("partial: these are figures of the first %s: %s", units.Duration(t.Wall.Run), message.Clean(*t.Partial))
		}
	}
	for _, g := range content.TraceGroups(d) {
		p.line("")
		p.line("%s", g.Title)
		p.table(g.Rows)
	}
	for i := range d.Traces {
		p.traceReasons(d, i)
	}
	p.line("")
	for _, n := range content.TraceNotes(d) {
		p.wrap(n)
	}
	for i := range d.Traces {
		for _, g := range d.Traces[i].Unknown {
			p.line("unknown: %s", content.Missing(&g))
		}
	}
	if d.Page != nil {
		p.line("")
		p.line("page: %s", message.Clean(*d.Page))
	}
	p.next(d.Next)
}

// traceReasons prints why the world was stopped and why goroutines were blocked.
func (p *Page) traceReasons(d *finding.Trace, i int) {
	t := &d.Traces[i]
	of := ""
	if len(d.Traces) > 1 {
		of = ", " + string(rune('A'+i))
	}
	if len(t.Wall.StopsBy) > 0 {
		p.line("")
		p.line("the world was stopped for (wall time%s)", of)
		p.table(content.StopRows(t, true))
	}
	if len(t.Goroutines.Reasons) > 0 {
		p.line("")
		p.line("goroutines were blocked by (wall time summed over goroutines%s)", of)
		p.table(content.WaitRows(t, content.MaxWaits, true))
	}
}
