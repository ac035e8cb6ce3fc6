// SPDX-License-Identifier: Apache-2.0

// Package content makes the tables, names and notes of a document, which packages text and
// page then lay out.
package content

import (
	"slices"
	"unicode/utf8"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Grid is a table as a list of columns, for text and page.
type Grid struct {
	Columns []Col
}

// Titled is a table with its heading.
type Titled struct {
	Title string
	Grid
}

type Col struct {
	Head  string
	Cells []string
	Key   bool // identifies the row: repeated when a table is split
	Text  bool // aligned left
}

func (g *Grid) Add(head string, cells []string) {
	g.Columns = append(g.Columns, Col{Head: head, Cells: cells})
}
func (g *Grid) Key(head string, cells []string) {
	g.Columns = append(g.Columns, Col{head, cells, true, true})
}
func (g *Grid) Text(head string, cells []string) {
	g.Columns = append(g.Columns, Col{head, cells, false, true})
}

// GridOf makes text columns from rows and their head; rows may be shorter than others.
func GridOf(head []string, rows [][]string) Grid {
	var g Grid
	columns := len(head)
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	at := func(row []string, c int) string {
		if c < len(row) {
			return message.Clean(row[c])
		}
		return ""
	}
	for c := range columns {
		cells := make([]string, len(rows))
		for r, row := range rows {
			cells[r] = at(row, c)
		}
		g.Text(at(head, c), cells)
	}
	return g
}

// as sets what the columns are: k a key, n numbers, t text.
func (g Grid) as(kinds string) Grid {
	for i, kind := range kinds {
		g.Columns[i].Key, g.Columns[i].Text = kind == 'k', kind != 'n'
	}
	return g
}

// Measured reports whether a column has a value.
func Measured(cells []string) bool {
	return slices.ContainsFunc(cells, func(c string) bool { return c != units.None && c != "" })
}

// Size returns the width of c in terminal cells.
func (c *Col) Size() int {
	n := utf8.RuneCountInString(c.Head)
	for _, s := range c.Cells {
		n = max(n, utf8.RuneCountInString(s))
	}
	return n
}

// Ambiguous reports whether Short makes different cells equal.
func Ambiguous(cells []string, limit int) bool {
	whole := map[string]string{}
	for _, s := range cells {
		cut := Short(s, limit)
		if other, ok := whole[cut]; ok && other != s {
			return true
		}
		whole[cut] = s
	}
	return false
}

// Short truncates a text to at most limit characters.
func Short(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-3]) + "..."
}
