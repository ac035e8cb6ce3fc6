// SPDX-License-Identifier: Apache-2.0

package top

import "strings"

// Plain returns the last look as text for a pipe: all processes, in rows of at most cells
// cells; 0 = all columns.
func (v *View) Plain(cells int) string {
	var b strings.Builder
	wide, inner := cells, cells-2
	if cells <= 0 {
		wide, inner = 1<<16, 0
	}
	write := func(r Row) {
		b.WriteString(r.String())
		b.WriteByte('\n')
	}
	if v.over != nil {
		write(v.glyphs.newLine(wide).add(Title, "snug top").add(Plain, "  "+v.Over()).row)
		return b.String()
	}
	write(v.status(wide))
	write(v.summary(wide))
	if len(v.rows) == 0 {
		write(v.empty(wide))
	} else {
		shown := layout(inner, v.rows, v.sort)
		write(v.head(shown, wide))
		for _, p := range v.rows {
			write(v.process(shown, p, wide, false))
		}
	}
	for _, row := range v.unsupported(wide) {
		write(row)
	}
	return b.String()
}
