// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Page collects the lines of one answer. It cleans them, because their texts may be from elsewhere.
type Page struct{ strings.Builder }

func (p *Page) line(format string, args ...any) {
	for i, arg := range args {
		switch text := arg.(type) {
		case string:
			args[i] = message.Clean(text)
		case finding.Severity:
			args[i] = message.Clean(string(text))
		}
	}
	fmt.Fprintf(p, format, args...)
	p.WriteByte('\n')
}

// below writes an empty line and then lines, if there are any; "" = none.
func (p *Page) below(lines ...string) {
	for i, text := range slices.DeleteFunc(slices.Clone(lines), func(s string) bool { return s == "" }) {
		if i == 0 {
			p.line("")
		}
		p.line("%s", text)
	}
}

// table writes rows of text in columns, of any width.
func (p *Page) table(rows [][]string) {
	if len(rows) > 0 {
		p.rows(content.GridOf(rows[0], rows[1:]).Columns)
	}
}

// headed writes a table below a line and its title, if it has rows.
func (p *Page) headed(title string, rows [][]string) {
	if len(rows) > 0 {
		p.below(title)
		p.table(rows)
	}
}

// notes prints the caveats about the figures above.
func (p *Page) notes(warnings []finding.Warning, unknown []finding.Gap) {
	var lines []string
	for _, w := range warnings {
		lines = append(lines, "warning: "+metric.Readable(w.Text)+" ["+w.Code+"]")
	}
	for i := range unknown {
		lines = append(lines, "unknown: "+content.Missing(&unknown[i]))
	}
	p.below(lines...)
}

// end prints what was not read, and the next command.
func (p *Page) end(unknown []finding.Gap, next string) {
	p.notes(nil, unknown)
	p.next(next)
}

// mounts prints one line about mounts that are not needed.
func (p *Page) mounts(m *finding.Mounts) {
	if m != nil && len(m.First) > 0 {
		p.below(units.Plural(m.Count, "mount") + " cannot be read, and others show the same, for example " +
			m.First[0].File + ": " + metric.Readable(m.First[0].Why))
	}
}

func (p *Page) next(command string) {
	if command != "" {
		p.below("next: " + command)
	}
}

func (p *Page) target(t finding.Target) {
	switch {
	case t.PID == nil && t.Root == nil:
		p.line("for this process; --pid N reads another, --root DIR another tree")
	case t.PID == nil:
		p.line("for proc/self of %s; --pid N reads another process there", *t.Root)
	case t.Root == nil:
		p.line("for process %d", *t.PID)
	default:
		p.line("for process %d of %s", *t.PID, *t.Root)
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
	return s.File + ": " + content.Short(message.Clean(s.Raw), 60)
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

// titled writes tables, each below a line and its title.
func (p *Page) titled(tables ...content.Titled) {
	for _, t := range tables {
		p.line("")
		p.wrap(t.Title)
		p.grid(t.Grid)
	}
}

// paragraphs writes a paragraph for each text; "" = none.
func (p *Page) paragraphs(texts ...string) {
	for _, text := range texts {
		if text != "" {
			p.wrap(text)
		}
	}
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
	line := ""
	for _, word := range strings.Fields(message.Clean(text)) {
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
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > Width:
			p.line("%s", line)
			line = "  " + word
		default:
			line += " " + word
		}
	}
	p.line("%s", line)
}
