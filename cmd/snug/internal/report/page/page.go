// SPDX-License-Identifier: Apache-2.0

// Package page writes documents as pages of HTML that need nothing else.
package page

import (
	"fmt"
	"html/template"
	"io"
	"regexp"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Write writes an experiment as one page that needs nothing else: no script, no
// font, no request. It reads on a phone, in the dark and in print.
func Write(w io.Writer, d finding.Document) error {
	var v *view
	switch d := d.(type) {
	case *finding.Bench:
		v = benchView(d)
	case *finding.Tune:
		v = tuneView(d)
	case *finding.Trace:
		v = TraceView(d)
	default:
		return fmt.Errorf("no page for a document of kind %s", finding.KindOf(d))
	}
	if err := v.embed(d); err != nil {
		return err
	}
	return v.write(w, "page.tmpl", v, "chart.css")
}

// view is a page as its template needs it: text that is not escaped yet, and
// drawings.
type view struct {
	shell
	Parts   []Part
	Environ []content.Form
	Notes   []string
	Faults  []string // warnings and what is unknown
	How     []fact
	Runs    table

	File string       // name of the download
	Data template.URL // data: URL of the document, compressed by gzip
	JSON string       // the same to read; "" when it is long
	Size string       // of the download
	Full string       // of what is in it
}

// Part is a chapter: tables, drawings, in this order.
type Part struct {
	Title   string
	Intro   string
	Tables  []table
	Figures []figureView
}

type figureView struct {
	*chart.Figure
	Grid bool  // its drawings stand side by side
	Key  table // what the numbers in it mean
}

type fact struct{ Name, Text string }

// table is a grid by rows.
type table struct {
	Caption string
	Head    []cellView
	Rows    [][]cellView
}

type cellView struct {
	Text string
	Class,
	Scope string
}

// tableOf turns a grid around. Words of a comparison stand out by weight and a
// sign, never by colour alone.
func tableOf(caption string, g content.Grid) table {
	t := table{Caption: caption}
	rows := 0
	for _, c := range g.Columns {
		class := ""
		if c.Text {
			class = "text"
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

// Typeset makes of hyphens before digits the minus that figures deserve, and
// keeps a number and its unit together.
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

// flagName is an option of a command line, which must not be broken after its
// hyphens.
var flagName = regexp.MustCompile(`(^|[ (])(--?[a-z][a-z0-9-]{0,24})`)

// Unbroken is a text typeset, with options that stay in one line. Their hyphens
// stay what they are, so that they can be copied.
func Unbroken(s string) template.HTML {
	return template.HTML(flagName.ReplaceAllString(template.HTMLEscapeString(Typeset(s)), `$1<span class="flag">$2</span>`))
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
