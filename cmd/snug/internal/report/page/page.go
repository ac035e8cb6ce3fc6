// SPDX-License-Identifier: Apache-2.0

// Package page writes documents as self-contained HTML pages.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"html/template"
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/snug-go/snug/cmd/snug/internal/message"
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
	Graph   *graph
	Parts   []Part
	Environ []content.Form
	Notes   []string
	Faults  []string // warnings and unknown figures
	How     []fact
	Setup   *howView // of an experiment, in place of How

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
	Figures []*chart.Figure
}

// add adds a table with a title of its own.
func (p *Part) add(title, caption string, g content.Grid) {
	t := tableOf(caption, g)
	t.Title = title
	p.Tables = append(p.Tables, t)
}

// draw adds the drawings that there are.
func (p *Part) draw(figures ...*chart.Figure) {
	for _, f := range figures {
		if f != nil {
			p.Figures = append(p.Figures, f)
		}
	}
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
	Swatch string // class of its colour; "" = none
}

// tableOf transposes a grid. Words of a comparison are marked by weight and a sign,
// never by colour alone.
func tableOf(caption string, g content.Grid) table {
	rows, stay := 0, 0 // stay is the column that stays while the others scroll: the last key
	for i, c := range g.Columns {
		if rows = max(rows, len(c.Cells)); c.Key {
			stay = i
		}
	}
	t := table{Caption: caption, Rows: make([][]cellView, rows)}
	for i, c := range g.Columns {
		class, scope := "", ""
		if c.Text {
			class = "text"
		}
		if c.Key {
			scope = "row"
		}
		class += units.If(c.Key && i == stay, " stay")
		t.Head = append(t.Head, cellView{Text: c.Head, Class: class})
		for r, text := range c.Cells {
			v := cellView{Text: text, Class: class, Scope: scope}
			switch {
			case strings.HasSuffix(text, "] "+finding.Better), strings.HasSuffix(text, "% "+finding.Better):
				v.Class += " better"
			case strings.HasSuffix(text, "] "+finding.Worse), strings.HasSuffix(text, "% "+finding.Worse):
				v.Class += " worse"
			case text == units.None, text == "~", text == "baseline":
				v.Class += " quiet"
			}
			t.Rows[r] = append(t.Rows[r], v)
		}
	}
	return t
}

// negative matches a hyphen before a digit that is a minus sign, measured a number and its unit.
var (
	negative = regexp.MustCompile(`(^|[ \[])-([0-9])`)
	measured = regexp.MustCompile(`([0-9]) (%|(?:[nµm]?s|min|h|[KMGT]?i?B|[kMG]|CPUs?)(?:[ ,\];]|$))`)
)

// Typeset turns hyphens before digits into minus signs, and keeps a number and its
// unit on one line.
func Typeset(s string) string {
	return measured.ReplaceAllString(negative.ReplaceAllString(s, "$1−$2"), "$1\u00a0$2")
}

// flagName matches a command-line flag, which must not be broken after its hyphens.
var flagName = regexp.MustCompile(`(^|[ (])(--?[a-z][a-z0-9-]{0,24})`)

// Unbroken typesets a text and keeps flags on one line. Their hyphens stay hyphens,
// so that you can copy them.
func Unbroken(s string) template.HTML {
	return template.HTML(flagName.ReplaceAllString(html.EscapeString(Typeset(s)), `$1<span class="flag">$2</span>`))
}

// Sentence capitalises the first letter of a text, unless it begins with the name of a
// program or variable.
func Sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	word, _, _ := strings.Cut(s, " ")
	if !unicode.IsLower(r) || strings.ContainsAny(word, "/=._;") {
		return s
	}
	return string(unicode.ToUpper(r)) + s[n:]
}

// howView holds what the template says about how an experiment was measured.
type howView struct {
	*finding.Setup
	Windowed bool // each round is measured for a fixed time
	Nothing  bool
	Late     [2]float64 // of requests in seconds: the P99 of the latest run, and the latest of all
}

func how(s *finding.Setup, cells []finding.Cell) *howView {
	v := &howView{Setup: s, Windowed: content.Windowed(s, cells), Nothing: len(cells) == 0 && s.Rounds == 0}
	for i := range cells {
		for k := range cells[i].Rounds {
			if r := &cells[i].Rounds[k]; r.Generator != nil && r.Invalid == "" {
				if a, b := r.Generator.LatenessP99, r.Generator.LatenessMax; a != nil && b != nil {
					v.Late = [2]float64{max(v.Late[0], *a), max(v.Late[1], *b)}
				}
			}
		}
	}
	return v
}

// Name returns the name of a measured program.
func (v *howView) Name(workload string) string { return content.ProgramName(v.Setup, workload) }

// maxJSON is the maximum size in bytes of JSON that a page shows besides the download.
const maxJSON = 1 << 20

// embed puts the document into the page.
func (v *view) embed(d finding.Document) error {
	data, err := finding.Encode(d)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	_, err = z.Write(data)
	if err := errors.Join(err, z.Close()); err != nil {
		return err
	}
	v.Data = template.URL("data:application/gzip;base64," + base64.StdEncoding.EncodeToString(packed.Bytes()))
	v.Size, v.Full = units.Bytes(int64(packed.Len())), units.Bytes(int64(len(data)))
	if len(data) <= maxJSON {
		v.JSON = string(data)
	}
	return nil
}

//go:embed *.tmpl *.css *.js
var pageFiles embed.FS

// pages parses the templates on first use, because most commands write no page.
var pages = sync.OnceValue(func() *template.Template {
	typeset := func(x any) template.HTML { return Unbroken(fmt.Sprint(x)) }
	return template.Must(template.New("").Funcs(template.FuncMap{
		"typeset": typeset, "join": strings.Join, "list": func(all ...any) []any { return all },
		"quantity": content.Quantity, "duration": units.Duration, "rate": units.Rate, "bytes": units.Bytes,
		"quota": units.CPUs, "whole": content.Whole, "anchor": anchorOf, "container": content.ContainerName,
		"holder": holderOf,
	}).ParseFS(pageFiles, "*.tmpl"))
})

// shell holds what all pages share: head, style, header and footer. The templates escape
// its texts.
type shell struct {
	Style  template.CSS
	Script template.JS // the only script that the page allows, by ScriptHash; "" = none
	ScriptHash,
	Class string // of main and footer
	Served  bool   // by a server, which sends the security policy as headers
	Kind    string // of the document
	Title   string
	Stamps  []string
	Verdict string
	Lead    string // rest of the verdict after its first clause
	Costs   string // metrics that the winner makes worse
	Facts   []string
	Next    string
	Links   []linkView
	Version string // of snug
}

type linkView struct{ Text, URL string }

// write executes a template, with style.css and then the given style sheets.
func (s *shell) write(w io.Writer, name string, view any, styles ...string) error {
	for _, file := range append([]string{"style.css"}, styles...) {
		style, err := pageFiles.ReadFile(file)
		if err != nil {
			return err
		}
		s.Style += template.CSS(style)
	}
	var b strings.Builder
	if err := pages().ExecuteTemplate(&b, name, view); err != nil {
		return err
	}
	_, err := io.WriteString(w, message.CleanLines(b.String()))
	return err
}

// run allows the page to run a script.
func (s *shell) run(file string) error {
	script, err := pageFiles.ReadFile(file)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(script)
	s.Script, s.ScriptHash = template.JS(script), base64.StdEncoding.EncodeToString(digest[:])
	return nil
}
