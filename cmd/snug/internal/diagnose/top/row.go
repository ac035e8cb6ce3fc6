// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/clipperhouse/displaywidth"
)

// Role is the meaning of a piece of text. The caller chooses its style. The text carries the
// meaning too.
type Role uint8

// The roles.
const (
	Plain  Role = iota
	Title       // the title of the screen or a pane
	Head        // a column head
	Sorted      // the head of the sort column
	Chosen      // the chosen row
	Dim         // none or unknown
	Warn
	Bad
	Input // the text being typed
	Label // a key in the footer, a figure's name
)

// Span is text of one role. It contains no control characters.
type Span struct {
	Text string
	Role Role
}

// Row is one row of the screen, never wider than the screen.
type Row []Span

// String returns the text alone, without trailing spaces.
func (r Row) String() string {
	var b strings.Builder
	for _, s := range r {
		b.WriteString(s.Text)
	}
	return strings.TrimRight(b.String(), " ")
}

func (r Row) width() int {
	n := 0
	for _, s := range r {
		n += displaywidth.String(s.Text)
	}
	return n
}

// glyphs are the characters to draw with.
type glyphs struct {
	ascii                         bool
	heap, goal, room              string // for the bar
	more, micro, down, up, cursor string
	line, dot                     string
}

func glyphsFor(ascii bool) *glyphs {
	if ascii {
		return &glyphs{true, "#", "=", ".", "~", "us", "v", "^", ">", "-", "-"}
	}
	return &glyphs{false, "█", "▒", "·", "…", "µs", "▼", "▲", "▶", "─", "·"}
}

// clean removes what could control a terminal.
func (g *glyphs) clean(s string) string {
	odd := func(r rune) bool { return !unicode.IsPrint(r) || g.ascii && r > unicode.MaxASCII }
	if !strings.ContainsFunc(s, odd) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		switch {
		case !odd(r):
			b.WriteRune(r)
		case g.ascii && unicode.IsPrint(r):
			b.WriteString(plain(r))
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

// plain returns the nearest ASCII text for a character that snug itself uses.
func plain(r rune) string {
	switch r {
	case 'µ':
		return "u"
	case '…':
		return "..."
	case '–', '—':
		return "-"
	case '×':
		return "x"
	case '≥':
		return ">="
	case '≤':
		return "<="
	}
	return "?"
}

// line builds a row piece by piece, within a number of cells.
type line struct {
	g    *glyphs
	row  Row
	left int
}

func (g *glyphs) newLine(cells int) *line { return &line{g: g, left: cells} }

// add adds text, cut at the end of the row.
func (l *line) add(role Role, text string) *line {
	text = l.g.clean(text)
	n := displaywidth.String(text)
	if n > l.left {
		text = strings.TrimRight(l.g.fit(text, l.left, true), " ")
		n = displaywidth.String(text)
	}
	if text != "" {
		l.row, l.left = append(l.row, Span{text, role}), l.left-n
	}
	return l
}

// whole adds text, or nothing if it does not fit.
func (l *line) whole(role Role, text string) *line {
	if displaywidth.String(l.g.clean(text)) <= l.left {
		l.add(role, text)
	}
	return l
}

// fill adds spaces up to the end of the row.
func (l *line) fill(role Role) *line {
	if l.left > 0 {
		l.row, l.left = append(l.row, Span{strings.Repeat(" ", l.left), role}), 0
	}
	return l
}
