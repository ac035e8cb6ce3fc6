// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// size prints the container that a program needs, and the curve that it is a point of, or what an
// experiment tried.
func (p *Page) size(d *finding.Size) {
	const around = 2 // rows of the curve on each side of the answer
	p.line("%s", content.SizeVerdict(d))
	p.line("")
	if f := d.Search; f != nil {
		if f.Shown {
			rows := [][]string{{"", "needs", "why"}}
			for _, r := range content.SizeValues(d)[1:] {
				rows = append(rows, []string{r[0], r[1], r[4]})
			}
			p.table(rows)
			p.line("")
		}
		rows := content.SizeTried(d)
		for i, head := range rows[0] {
			name, figure, _ := strings.Cut(head, " ")
			rows[0][i] = strings.TrimRight(strings.ToUpper(name)+" "+figure, " ")
		}
		p.table(rows)
		p.line("price: %s", content.SizePrice(&d.Price))
		p.below(append([]string{content.SizeRuns(f)}, content.SizeUnseen(d.Unseen, f)...)...)
	} else {
		p.table(content.SizeValues(d))
		if len(d.Curve) > 0 {
			head := []string{"MEMORY", "GOMEMLIMIT", "HEAP GOAL", "COLLECTIONS/S", "GC CPU", "PRICE", ""}
			p.line("")
			p.table(append([][]string{head}, content.SizeCurve(d, around)...))
			p.line("price: %s", content.SizePrice(&d.Price))
		}
		p.below(append(content.SizeSeen(d), content.SizeUnseen(d.Unseen, nil)...)...)
	}
	p.end(d.Unknown, d.Next)
}

// fleetSize prints a row for each workload, and the reasons if there is only one.
func (p *Page) fleetSize(d *finding.FleetSize) {
	risky := 0
	rows := [][]string{content.FleetSizeHead}
	for i := range d.Workloads {
		if len(d.Workloads[i].Risks) > 0 {
			risky++
		}
		rows = append(rows, content.FleetSizeRow(&d.Workloads[i]))
	}
	if len(d.Workloads) == 0 {
		p.line("no Go workload was seen for two scans%s", asked(d.Agents, d.Silent))
	} else {
		p.line("%s%s, %d at risk; %s could be saved, %s more is needed", units.Plural(len(d.Workloads), "workload"),
			asked(d.Agents, d.Silent), risky, content.Money(d.Saves), content.Money(d.Costs))
		p.line("")
		p.table(rows)
		p.line("price: %s; memory counts by its limit", content.SizePrice(&d.Price))
	}
	if len(d.Workloads) == 1 {
		w := &d.Workloads[0]
		p.line("")
		p.table(content.FleetSizeValues(w))
		p.below(append(content.FleetSizeSeen(w), content.SizeUnseen(w.Unseen, nil)...)...)
	}
	p.below(units.If(d.Gone > 0, "not listed: "+units.Plural(d.Gone, "workload")+" without a container now"),
		units.If(d.LeftOut > 0, "not kept: "+units.Plural(d.LeftOut, "workload")+" of nodes with too many"))
	p.silent(d.Silent)
	p.end(d.Unknown, d.Next)
}
