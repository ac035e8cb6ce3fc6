// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// size prints the container that a program needs, and the curve that it is a point of, or what an
// experiment tried.
func (p *Page) size(d *finding.Size) {
	const around = 2 // rows of the curve on each side of the answer
	p.line("%s", content.SizeVerdict(d))
	p.line("")
	not := "not seen"
	if f := d.Search; f != nil {
		not = "not shown"
		if f.Shown {
			rows := [][]string{{"", "needs", "why"}}
			for _, r := range content.SizeValues(d) {
				rows = append(rows, []string{r[0], r[1], r[4]})
			}
			p.table(rows)
			p.line("")
		}
		head, rows := content.SizeTried(d)
		for i := range head {
			name, figure, _ := strings.Cut(head[i], " ")
			head[i] = strings.TrimRight(strings.ToUpper(name)+" "+figure, " ")
		}
		p.table(append([][]string{head}, rows...))
		p.line("price: %s", content.SizePrice(d))
		p.line("")
		p.line("%s", content.SizeRuns(f))
	} else {
		p.table(append([][]string{content.SizeValuesHead}, content.SizeValues(d)...))
		if len(d.Curve) > 0 {
			p.line("")
			head := []string{"MEMORY", "GOMEMLIMIT", "HEAP GOAL", "COLLECTIONS/S", "GC CPU", "PRICE", ""}
			p.table(append([][]string{head}, content.SizeCurve(d, around)...))
			p.line("price: %s", content.SizePrice(d))
		}
		p.line("")
		for _, line := range content.SizeSeen(d) {
			p.line("%s", line)
		}
	}
	for i := range d.Unseen {
		p.line("%s: %s", not, content.Reason(&d.Unseen[i]))
	}
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}
