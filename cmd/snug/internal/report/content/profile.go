// SPDX-License-Identifier: Apache-2.0

package content

import (
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// ClassRows returns the classes of a profile as rows, largest first: share, id, words. If
// collections have several classes, these stand together below their total.
func ClassRows(d *finding.Profile) [][]string {
	row := func(ratio float64, id, words string) []string {
		return []string{units.Share(ratio), message.Clean(id), message.Clean(words)}
	}
	part := func(c finding.Class) bool { return strings.HasPrefix(c.ID, "gc.") }
	total := 0.0
	for _, c := range d.Classes {
		if part(c) {
			total += c.Ratio
		}
	}
	var rows, gc [][]string
	at := 0 // where the total belongs
	for _, c := range d.Classes {
		if !part(c) && c.Ratio > total {
			at = len(rows) + 1
		}
		if part(c) {
			gc = append(gc, row(c.Ratio, "  "+c.ID, c.Words))
		} else {
			rows = append(rows, row(c.Ratio, c.ID, c.Words))
		}
	}
	switch len(gc) {
	case 0:
		return rows
	case 1:
		gc[0][1] = strings.TrimSpace(gc[0][1])
	default:
		gc = slices.Insert(gc, 0, row(total, "gc", "collections in total:"))
	}
	return slices.Insert(rows, at, gc...)
}
