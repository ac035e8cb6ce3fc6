// SPDX-License-Identifier: Apache-2.0

// Package content is what text and page have in common: the tables, names and notes of a
// document, before either lays them out.
package content

import (
	"unicode/utf8"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Grid is a table as a list of columns. The text and the page are both made of
// it.
type Grid struct {
	Columns []Col
}

type Col struct {
	Head  string
	Cells []string
	Key   bool // says which row it is: repeated where a table is broken
	Text  bool // set to the left, as words are
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

// GridOf makes columns of words of rows, of which the first is the head; a row may end
// before the others.
func GridOf(head []string, rows [][]string) Grid {
	var g Grid
	columns := len(head)
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	at := func(row []string, c int) string {
		if c < len(row) {
			return row[c]
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

// Measured reports whether a column has anything in it.
func Measured(cells []string) bool {
	for _, c := range cells {
		if c != units.None && c != "" {
			return true
		}
	}
	return false
}

// Size is how many columns of the terminal c takes.
func (c *Col) Size() int {
	n := utf8.RuneCountInString(c.Head)
	for _, s := range c.Cells {
		n = max(n, utf8.RuneCountInString(s))
	}
	return n
}

// Confused reports whether cutting makes different cells the same.
func Confused(cells []string, most int) bool {
	whole := map[string]string{}
	for _, s := range cells {
		cut := Short(s, most)
		if other, ok := whole[cut]; ok && other != s {
			return true
		}
		whole[cut] = s
	}
	return false
}

// Short cuts a text that is longer than most.
func Short(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-3]) + "..."
}
