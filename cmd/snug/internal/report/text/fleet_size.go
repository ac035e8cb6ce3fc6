// SPDX-License-Identifier: Apache-2.0

package text

import (
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// fleetSize prints a row for each workload, and the reasons if there is only one.
func (p *Page) fleetSize(d *finding.FleetSize) {
	risky := 0
	for i := range d.Workloads {
		if len(d.Workloads[i].Risks) > 0 {
			risky++
		}
	}
	if len(d.Workloads) == 0 {
		p.line("no Go workload was seen for two scans%s", asked(d.Agents, d.Silent))
	} else {
		p.line("%s%s, %d at risk; %s could be saved, %s more is needed", units.Plural(len(d.Workloads), "workload"),
			asked(d.Agents, d.Silent), risky, content.Money(d.Saves), content.Money(d.Costs))
		p.line("")
		rows := [][]string{content.FleetSizeHead}
		for i := range d.Workloads {
			rows = append(rows, content.FleetSizeRow(&d.Workloads[i]))
		}
		p.table(rows)
		p.line("price: %s; memory counts by its limit", content.SizePrice(&finding.Size{Price: d.Price}))
	}
	if len(d.Workloads) == 1 {
		w := &d.Workloads[0]
		p.line("")
		p.table(append([][]string{content.SizeValuesHead}, content.FleetSizeValues(w)...))
		p.line("")
		for _, line := range content.FleetSizeSeen(w) {
			p.line("%s", line)
		}
		for i := range w.Unseen {
			p.line("not seen: %s", content.Reason(&w.Unseen[i]))
		}
	}
	if d.Gone > 0 || d.LeftOut > 0 {
		p.line("")
	}
	if d.Gone > 0 {
		p.line("not listed: %s without a container now", units.Plural(d.Gone, "workload"))
	}
	if d.LeftOut > 0 {
		p.line("not kept: %s of nodes with too many", units.Plural(d.LeftOut, "workload"))
	}
	p.silent(d.Silent)
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}
