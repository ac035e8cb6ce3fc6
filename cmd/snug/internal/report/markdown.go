// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

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
		if differences, ok := s.Differences(now.Cells, now.Comparisons); ok {
			fmt.Fprintf(&b, "%s\n\n", escape(content.DifferencesTitle(now.Cells, &s, now.Comparisons)))
			table(&b, differences)
		}
	}
	if then != nil {
		when := ""
		if !then.Started.IsZero() {
			when = " of " + then.Started.UTC().Format("2 January 2006")
		}
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
