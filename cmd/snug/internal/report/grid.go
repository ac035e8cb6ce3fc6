// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strings"
	"unicode/utf8"
)

// width is how many columns a terminal has at least.
const width = 100

// grid is a table as a list of columns. The text and the page are both made of
// it.
type grid struct {
	columns []col
}

type col struct {
	head  string
	cells []string
	key   bool // says which row it is: repeated where a table is broken
	text  bool // set to the left, as words are
}

func (g *grid) add(head string, cells []string) {
	g.columns = append(g.columns, col{head: head, cells: cells})
}
func (g *grid) key(head string, cells []string) {
	g.columns = append(g.columns, col{head, cells, true, true})
}
func (g *grid) text(head string, cells []string) {
	g.columns = append(g.columns, col{head, cells, false, true})
}

// measured reports whether a column has anything in it.
func measured(cells []string) bool {
	for _, c := range cells {
		if c != none && c != "" {
			return true
		}
	}
	return false
}

// size is how many columns of the terminal c takes.
func (c *col) size() int {
	n := utf8.RuneCountInString(c.head)
	for _, s := range c.cells {
		n = max(n, utf8.RuneCountInString(s))
	}
	return n
}

// gap separates two columns.
const gap = 2

// grid writes a table. One that is wider than a terminal goes on below, with
// the columns repeated that say which row it is.
func (p *page) grid(g grid) {
	var keys, rest []col
	used := 0
	for _, c := range g.columns {
		most := 60
		if c.key && !confused(c.cells, 36) {
			most = 36
		}
		c.head = short(c.head, most)
		cells := make([]string, len(c.cells))
		for i, s := range c.cells {
			cells[i] = short(s, most)
		}
		c.cells = cells
		if c.key {
			used += c.size() + gap
			keys = append(keys, c)
		} else {
			rest = append(rest, c)
		}
	}
	for len(keys) > 1 && used > width*2/3 { // too much to repeat: shown once
		last := keys[len(keys)-1]
		used -= last.size() + gap
		keys, rest = keys[:len(keys)-1], append([]col{last}, rest...)
	}
	for first := true; first || len(rest) > 0; first = false {
		block, room := append([]col{}, keys...), width-used
		for len(rest) > 0 && (rest[0].size() <= room || len(block) == len(keys)) {
			room -= rest[0].size() + gap
			block, rest = append(block, rest[0]), rest[1:]
		}
		if !first {
			p.line("")
		}
		p.rows(block)
	}
}

func (p *page) rows(block []col) {
	if len(block) == 0 {
		return
	}
	wide := make([]int, len(block))
	for i := range block {
		wide[i] = block[i].size()
	}
	for row := -1; row < len(block[0].cells); row++ {
		var line strings.Builder
		for i, c := range block {
			s := c.head
			if row >= 0 {
				s = c.cells[row]
			}
			blank := strings.Repeat(" ", wide[i]-utf8.RuneCountInString(s))
			if i > 0 {
				line.WriteString("  ")
			}
			if c.text {
				line.WriteString(s + blank)
			} else {
				line.WriteString(blank + s)
			}
		}
		p.line("%s", strings.TrimRight(line.String(), " "))
	}
}

// confused reports whether cutting makes different cells the same.
func confused(cells []string, most int) bool {
	whole := map[string]string{}
	for _, s := range cells {
		cut := short(s, most)
		if other, ok := whole[cut]; ok && other != s {
			return true
		}
		whole[cut] = s
	}
	return false
}

// short cuts a text that is longer than most.
func short(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-3]) + "..."
}

// wrap writes a paragraph within a terminal; lines after the first are set in
// by two.
func (p *page) wrap(text string) {
	line, room := "", width
	for _, word := range strings.Fields(text) {
		for utf8.RuneCountInString(word) > width-2 { // a path, a hostile name
			if line != "" {
				p.line("%s", line)
			}
			r := []rune(word)
			line, word = "  "+string(r[:width-2]), string(r[width-2:])
		}
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > room:
			p.line("%s", line)
			line = "  " + word
		default:
			line += " " + word
		}
	}
	p.line("%s", line)
}
