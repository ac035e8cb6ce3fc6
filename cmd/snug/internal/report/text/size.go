// SPDX-License-Identifier: Apache-2.0

package text

import (
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// around is how many rows of the curve are printed on each side of the answer.
const around = 2

// size prints the container that a program needs, and the curve that it is a point of.
func (p *Page) size(d *finding.Size) {
	p.line("%s", content.SizeVerdict(d))
	p.line("")
	p.table(append([][]string{content.SizeValuesHead}, content.SizeValues(d)...))
	if len(d.Curve) > 0 {
		p.line("")
		p.table(append([][]string{{"MEMORY", "GOMEMLIMIT", "HEAP GOAL", "COLLECTIONS/S", "GC CPU", "PRICE", ""}}, content.SizeCurve(d, around)...))
		p.line("price: %s", content.SizePrice(d))
	}
	p.line("")
	for _, line := range content.SizeSeen(d) {
		p.line("%s", line)
	}
	for i := range d.Unseen {
		p.line("not seen: %s", content.Reason(&d.Unseen[i]))
	}
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}
