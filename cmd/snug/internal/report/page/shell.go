// SPDX-License-Identifier: Apache-2.0

package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

//go:embed *.tmpl *.css *.js
var pageFiles embed.FS

// pages parses the templates on first use, because most commands write no page.
var pages = sync.OnceValue(func() *template.Template {
	typeset := func(x any) template.HTML { return Unbroken(fmt.Sprint(x)) }
	return template.Must(template.New("").Funcs(template.FuncMap{
		"typeset": typeset, "join": strings.Join, "list": func(all ...any) []any { return all },
		"quantity": content.Quantity, "duration": units.Duration, "rate": units.Rate, "bytes": units.Bytes,
		"quota": content.Quota, "whole": content.Whole,
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
