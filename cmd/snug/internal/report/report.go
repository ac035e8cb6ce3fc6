// SPDX-License-Identifier: Apache-2.0

// Package report writes documents for machines: JSON, Go's benchmark format, SARIF and
// annotations. Packages text and page write them for people. All of them use only the
// document, so a saved document renders the same again.
package report

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// JSON writes a document as one line. It escapes characters that are invisible or change
// the text direction, because the line may be shown on a terminal.
func JSON(w io.Writer, d finding.Document) error {
	line, err := finding.Encode(d)
	if err != nil {
		return err
	}
	_, err = w.Write(escaped(line))
	return err
}

// escaped escapes the unprintable runes in JSON strings that encoding/json does not
// escape, as \u and four digits.
func escaped(text []byte) []byte {
	odd := func(r rune) bool { return r >= 0x7f && message.Unprintable(r) }
	if !bytes.ContainsFunc(text, odd) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case !odd(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.Bytes()
}

// Markdown writes an experiment for the comment of a pull request, in GitHub's Markdown: the verdict,
// the tables and the notes. stored is an earlier document, nil = none: its figures stand beside those
// of the same setting, and its verdict below. They are not compared, because the runs of two
// experiments are not paired and their machines may differ.
func Markdown(w io.Writer, d, stored finding.Document) error {
	var b strings.Builder
	now, err := benchOf(d)
	if err != nil {
		return err
	}
	for _, s := range content.Stamps(&now.Setup) {
		fmt.Fprintf(&b, "%s\n\n", escape(s))
	}
	fmt.Fprintf(&b, "**%s**\n\n", escape(content.Answer(&now.Verdict)))
	var then *finding.Bench
	if stored != nil {
		if then, err = benchOf(stored); err != nil {
			return fmt.Errorf("the baseline has %w", err)
		}
	}
	for _, s := range content.Sections(now.Cells, now.Comparisons) {
		figures := s.Figures(now.Cells, now.Metrics)
		if then != nil {
			for _, old := range content.Sections(then.Cells, then.Comparisons) {
				if old.Title == s.Title {
					beside(&figures, old.Figures(then.Cells, then.Metrics))
				}
			}
		}
		fmt.Fprintf(&b, "%s\n\n", escape(s.Title))
		table(&b, figures)
		for _, t := range s.Differences(now.Cells, now.Comparisons) {
			fmt.Fprintf(&b, "%s\n\n", escape(t.Title))
			table(&b, t.Grid)
		}
	}
	if then != nil {
		when := units.If(!then.Started.IsZero(), " of "+then.Started.UTC().Format("2 January 2006"))
		fmt.Fprintf(&b, "The baseline%s said: %s. Its figures stand before the arrows. They are of other runs, perhaps on "+
			"another machine: only the table of differences compares.\n\n",
			when, escape(content.Answer(&then.Verdict)))
	}
	if now.Environment != nil {
		for _, f := range content.Forms(now.Environment) {
			fmt.Fprintf(&b, "%s\n\n%s\n", escape(f.Name), indented(f.Text))
		}
	}
	for _, n := range content.BenchNotes(now) {
		fmt.Fprintf(&b, "- %s\n", escape(n))
	}
	for _, warning := range now.Warnings {
		fmt.Fprintf(&b, "- %s\n", escape(warning.Text))
	}
	_, err = io.WriteString(w, strings.TrimRight(b.String(), "\n")+"\n")
	return err
}

func benchOf(d finding.Document) (*finding.Bench, error) {
	if d, ok := d.(*finding.Bench); ok {
		return content.NamedBench(d), nil
	}
	return nil, fmt.Errorf("no comparison of settings, but a document of kind %s", finding.KindOf(d))
}

// beside puts the cells of an earlier table before those of the same row and column: "872 → 850".
func beside(now *content.Grid, then content.Grid) {
	rows := map[string]int{}
	for r, key := range keys(then) {
		rows[key] = r
	}
	old := map[string][]string{}
	for _, c := range then.Columns {
		old[c.Head] = c.Cells
	}
	for r, key := range keys(*now) {
		at, known := rows[key]
		for i := range now.Columns {
			c := &now.Columns[i]
			if cells := old[c.Head]; known && !c.Key && cells != nil && cells[at] != c.Cells[r] {
				c.Cells[r] = cells[at] + " → " + c.Cells[r]
			}
		}
	}
}

// keys returns what identifies each row.
func keys(g content.Grid) []string {
	var all []string
	for _, c := range g.Columns {
		for r, cell := range c.Cells {
			if r == len(all) {
				all = append(all, "")
			}
			if c.Key {
				all[r] += cell + "\x00"
			}
		}
	}
	return all
}

func table(b *strings.Builder, g content.Grid) {
	row := func(cell func(content.Col) string) {
		for _, c := range g.Columns {
			b.WriteString("| " + cell(c) + " ")
		}
		b.WriteString("|\n")
	}
	row(func(c content.Col) string { return escape(c.Head) })
	row(func(c content.Col) string { return map[bool]string{true: "--", false: "--:"}[c.Text] })
	if len(g.Columns) > 0 {
		for r := range g.Columns[0].Cells {
			row(func(c content.Col) string { return escape(c.Cells[r]) })
		}
	}
	b.WriteString("\n")
}

// markup has a meaning in GitHub's Markdown. An @ would notify a person.
var markup = strings.NewReplacer("\\", "\\\\", "`", "\\`", "*", "\\*", "_", "\\_", "[", "\\[", "]", "\\]", "|", "\\|",
	"~", "\\~", "#", "\\#",
	"<", "&lt;", ">", "&gt;", "&", "&amp;", "@", "@\u200b")

// indented returns a text as a block of code. Its lines are escaped as on a terminal, so that none of
// them ends the block.
func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString("    " + message.Clean(strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}

func escape(s string) string { return markup.Replace(metric.Readable(s)) }
