// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// sizeSearch prints the container that an experiment found, and what was tried.
func (p *Page) sizeSearch(d *finding.Size) {
	f := d.Search
	p.line("%s", content.SizeVerdict(d))
	p.line("")
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
	for i := range d.Unseen {
		p.line("not shown: %s", content.Reason(&d.Unseen[i]))
	}
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}
