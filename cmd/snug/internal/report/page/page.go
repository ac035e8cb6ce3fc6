// SPDX-License-Identifier: Apache-2.0

// Package page writes documents as self-contained HTML pages.
package page

import (
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Write writes a document as one self-contained page: no script, no font, no
// request. It supports phones, dark mode and print.
func Write(w io.Writer, d finding.Document) error {
	var v *view
	switch d := d.(type) {
	case *finding.Bench:
		v = benchView(d)
	case *finding.Tune:
		v = tuneView(d)
	case *finding.Trace:
		v = TraceView(d)
	case *finding.Size:
		v = sizeView(d)
	default:
		return fmt.Errorf("no page for a document of kind %s", finding.KindOf(d))
	}
	if err := v.embed(d); err != nil {
		return err
	}
	return v.write(w, "page.tmpl", v, "chart.css")
}

// view holds the fields of the template: text, which the template escapes, and drawings.
type view struct {
	shell
	Parts   []Part
	Environ []content.Form
	Notes   []string
	Faults  []string // warnings and unknown figures
	How     []fact
	Runs    table

	File string       // name of the download
	Data template.URL // data: URL of the document, compressed by gzip
	JSON string       // the document; "" = too long
	Size string       // of the download
	Full string       // of the document, uncompressed
}

// Part is a chapter: tables, then drawings.
type Part struct {
	Title   string
	Intro   string
	Tables  []table
	Beside  bool // place the tables side by side
	Figures []figureView
}

// add adds a table with a title of its own.
func (p *Part) add(title, caption string, g content.Grid) {
	t := tableOf(caption, g)
	t.Title = title
	p.Tables = append(p.Tables, t)
}

type figureView struct {
	*chart.Figure
	Grid bool  // place its drawings side by side
	Key  table // explains the numbers in the drawing
}

type fact struct{ Name, Text string }

// table is a grid by rows.
type table struct {
	Title   string // "" = none
	Caption string
	Head    []cellView
	Rows    [][]cellView
}

type cellView struct {
	Text string
	Class,
	Scope string
}

// tableOf transposes a grid. Words of a comparison are marked by weight and a sign,
// never by colour alone.
func tableOf(caption string, g content.Grid) table {
	t := table{Caption: caption}
	rows, stay := 0, 0 // stay is the column that stays while the others scroll: the last key
	for i, c := range g.Columns {
		if c.Key {
			stay = i
		}
	}
	for i, c := range g.Columns {
		class := ""
		if c.Text {
			class = "text"
		}
		if i == stay && c.Key {
			class += " stay"
		}
		t.Head = append(t.Head, cellView{Text: c.Head, Class: class, Scope: "col"})
		rows = max(rows, len(c.Cells))
	}
	for r := range rows {
		row := make([]cellView, len(g.Columns))
		for i, c := range g.Columns {
			v := cellView{Text: c.Cells[r]}
			if c.Text {
				v.Class = "text"
			}
			if c.Key {
				v.Scope = "row"
			}
			if i == stay && c.Key {
				v.Class += " stay"
			}
			switch {
			case strings.HasSuffix(v.Text, "] "+finding.Better), strings.HasSuffix(v.Text, "% "+finding.Better):
				v.Class += " better"
			case strings.HasSuffix(v.Text, "] "+finding.Worse), strings.HasSuffix(v.Text, "% "+finding.Worse):
				v.Class += " worse"
			case v.Text == units.None, v.Text == "~", v.Text == "baseline":
				v.Class += " quiet"
			}
			row[i] = v
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// Typeset turns hyphens before digits into minus signs, and keeps a number and its
// unit on one line.
func Typeset(s string) string {
	r := []rune(s)
	for i := range r {
		switch {
		case r[i] == '-' && i+1 < len(r) && digit(r[i+1]) && (i == 0 || r[i-1] == ' ' || r[i-1] == '['):
			r[i] = '−'
		case r[i] == ' ' && i > 0 && digit(r[i-1]) && i+1 < len(r) && (r[i+1] == '%' || unitStart(r[i+1:])):
			r[i] = '\u00a0'
		}
	}
	return string(r)
}

// flagName matches a command-line flag, which must not be broken after its hyphens.
var flagName = regexp.MustCompile(`(^|[ (])(--?[a-z][a-z0-9-]{0,24})`)

// Unbroken typesets a text and keeps flags on one line. Their hyphens stay hyphens,
// so that you can copy them.
func Unbroken(s string) template.HTML {
	return template.HTML(flagName.ReplaceAllString(html.EscapeString(Typeset(s)), `$1<span class="flag">$2</span>`))
}

func digit(r rune) bool { return r >= '0' && r <= '9' }

// unitStart reports whether a unit begins here.
func unitStart(r []rune) bool {
	end := len(r)
	for i, c := range r {
		if c == ' ' || c == ',' || c == ']' || c == ';' {
			end = i
			break
		}
	}
	switch string(r[:end]) {
	case "ns", "µs", "ms", "s", "min", "h", "B", "KiB", "MiB", "GiB", "TiB", "k", "M", "G", "CPU", "CPUs":
		return true
	}
	return false
}
