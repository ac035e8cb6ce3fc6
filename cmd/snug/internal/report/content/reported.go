// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// kills returns the column of rounds with an OOM kill, with the interval of their
// share: 4 of 20 [5.7, 44 %].
func (s *Section) kills(cells []finding.Cell) (column []string, any bool) {
	for _, i := range s.Cells {
		c := &cells[i]
		text := units.None
		switch {
		case c.Killed != nil:
			iv := c.Killed.Ratio
			text = fmt.Sprintf("%d of %d [%s, %s]", c.Killed.Rounds, c.Killed.Of, units.Trim(units.Figures(iv.Low*100, 2)),
				units.Share(iv.High))
			any = any || c.Killed.Rounds > 0
		case c.OOMKills != nil && *c.OOMKills > 0: // an older document
			text, any = units.Plural(int(*c.OOMKills), "kill"), true
		}
		column = append(column, text)
	}
	return column, any
}

// reported adds columns of the figures that programs printed. The suffix of a name
// gives the unit: seconds, bytes, a ratio or a share.
func (s *Section) reported(g *Grid, cells []finding.Cell, names []string) {
	for _, name := range names {
		values := make([]*float64, len(s.Cells))
		for k, i := range s.Cells {
			if v, ok := cells[i].Reported[name]; ok {
				values[k] = &v
			}
		}
		head, print := name, func(v []*float64) []string { return units.Each(v, units.Rate) }
		for suffix, p := range map[string]func([]*float64) []string{
			"_seconds": metric.Durations, "_bytes": metric.Amounts, "_ratio": metric.Shares, "_share": metric.Shares,
		} {
			if short, ok := strings.CutSuffix(name, suffix); ok {
				print = p
				if suffix == "_seconds" || suffix == "_bytes" { // the unit says it
					head = short
				}
			}
		}
		g.Add(message.Clean(strings.ReplaceAll(head, "_", " ")), print(values))
	}
}
