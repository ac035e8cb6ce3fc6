// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Page collects the lines of one answer.
type Page struct{ strings.Builder }

func (p *Page) line(format string, args ...any) {
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}

// table writes rows of text in columns, of any width.
func (p *Page) table(rows [][]string) {
	if len(rows) > 0 {
		p.rows(content.GridOf(rows[0], rows[1:]).Columns)
	}
}

// notes prints the caveats about the figures above.
func (p *Page) notes(warnings []finding.Warning, unknown []finding.Gap) {
	if len(warnings)+len(unknown) > 0 {
		p.line("")
	}
	for _, w := range warnings {
		p.line("warning: %s [%s]", metric.Readable(w.Text), message.Clean(w.Code))
	}
	for _, g := range unknown {
		p.line("unknown: %s", content.Missing(&g))
	}
}

// mounts prints one line about mounts that are not needed.
func (p *Page) mounts(m *finding.Mounts) {
	if m != nil && len(m.First) > 0 {
		p.line("")
		g := &m.First[0]
		p.line("%s cannot be read, and others show the same, for example %s: %s", units.Plural(m.Count, "mount"),
			message.Clean(g.File), metric.Readable(g.Why))
	}
}

func (p *Page) next(command string) {
	if command != "" {
		p.line("")
		p.line("next: %s", message.Clean(command))
	}
}

func (p *Page) target(t finding.Target) {
	switch {
	case t.PID == nil && t.Root == nil:
		p.line("for this process; --pid N reads another, --root DIR another tree")
	case t.PID == nil:
		p.line("for proc/self of %s; --pid N reads another process there", message.Clean(*t.Root))
	case t.Root == nil:
		p.line("for process %d", *t.PID)
	default:
		p.line("for process %d of %s", *t.PID, message.Clean(*t.Root))
	}
}

// sourceText formats a source as "file: text". A variable is not a file, and the reason
// quotes it.
func sourceText(s *finding.Source) string {
	switch {
	case s == nil || s.File == "":
		return ""
	case !strings.HasPrefix(s.File, "/"):
		return "the environment"
	}
	raw := []rune(message.Clean(s.Raw))
	if len(raw) > 60 {
		raw = append(raw[:57], '.', '.', '.')
	}
	return message.Clean(s.File) + ": " + string(raw)
}

// Width is the minimum width of a terminal, in cells.
const Width = 100

// gap separates two columns.
const gap = 2

// grid writes a table. A table wider than a terminal continues below, with the key
// columns repeated.
func (p *Page) grid(g content.Grid) {
	var keys, rest []content.Col
	used := 0
	for _, c := range g.Columns {
		limit := 60
		if c.Key && !content.Ambiguous(c.Cells, 36) {
			limit = 36
		}
		c.Head = content.Short(c.Head, limit)
		cells := make([]string, len(c.Cells))
		for i, s := range c.Cells {
			cells[i] = content.Short(s, limit)
		}
		c.Cells = cells
		if c.Key {
			used += c.Size() + gap
			keys = append(keys, c)
		} else {
			rest = append(rest, c)
		}
	}
	for len(keys) > 1 && used > Width*2/3 { // too much to repeat: shown once
		last := keys[len(keys)-1]
		used -= last.Size() + gap
		keys, rest = keys[:len(keys)-1], append([]content.Col{last}, rest...)
	}
	for first := true; first || len(rest) > 0; first = false {
		block, room := append([]content.Col{}, keys...), Width-used
		for len(rest) > 0 && (rest[0].Size() <= room || len(block) == len(keys)) {
			room -= rest[0].Size() + gap
			block, rest = append(block, rest[0]), rest[1:]
		}
		if !first {
			p.line("")
		}
		p.rows(block)
	}
}

// titled writes a table below a line and its title.
func (p *Page) titled(title string, g content.Grid) {
	p.line("")
	p.wrap(title)
	p.grid(g)
}

func (p *Page) rows(block []content.Col) {
	if len(block) == 0 {
		return
	}
	wide := make([]int, len(block))
	for i := range block {
		wide[i] = block[i].Size()
	}
	for row := -1; row < len(block[0].Cells); row++ {
		var line strings.Builder
		for i, c := range block {
			s := c.Head
			if row >= 0 {
				s = c.Cells[row]
			}
			blank := strings.Repeat(" ", wide[i]-utf8.RuneCountInString(s))
			if i > 0 {
				line.WriteString("  ")
			}
			if c.Text {
				line.WriteString(s + blank)
			} else {
				line.WriteString(blank + s)
			}
		}
		p.line("%s", strings.TrimRight(line.String(), " "))
	}
}

// wrap writes a paragraph within Width; lines after the first are indented by two.
func (p *Page) wrap(text string) {
	line, room := "", Width
	for _, word := range strings.Fields(text) {
		for utf8.RuneCountInString(word) > Width-2 { // a path, a hostile name
			if line != "" {
				p.line("%s", line)
			}
			r := []rune(word)
			line, word = "  "+string(r[:Width-2]), string(r[Width-2:])
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
