// SPDX-License-Identifier: Apache-2.0

package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html/template"
	"io"
	"sync"
)

//go:embed *.tmpl *.css *.js
var pageFiles embed.FS

// pages are made when one is asked for: most commands write none.
var pages = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Funcs(template.FuncMap{"typeset": Unbroken}).ParseFS(pageFiles, "*.tmpl"))
})

// shell is what all pages have in common: head, style, what stands on top and at the foot.
// Texts are not escaped yet.
type shell struct {
	Style  template.CSS
	Script template.JS // the only one that the page lets run, by ScriptHash; "" = none
	ScriptHash,
	Class string // of main and footer
	Served  bool   // by a server, whose headers say what the page may do
	Kind    string // of the document
	Title   string
	Stamps  []string
	Verdict string
	Lead    string // what the verdict adds after its first clause
	Costs   string // what the winner makes worse
	Facts   []string
	Next    string
	Links   []linkView
	Version string // of snug
}

type linkView struct{ Text, URL string }

// write writes the page of a template, in the style of files, the common one first.
func (s *shell) write(w io.Writer, name string, view any, styles ...string) error {
	for _, file := range append([]string{"style.css"}, styles...) {
		style, err := pageFiles.ReadFile(file)
		if err != nil {
			return err
		}
		s.Style += template.CSS(style)
	}
	return pages().ExecuteTemplate(w, name, view)
}

// run lets the page run a script.
func (s *shell) run(file string) error {
	script, err := pageFiles.ReadFile(file)
	if err != nil {
		return err
	}
	digest := sha256.Sum256(script)
	s.Script, s.ScriptHash = template.JS(script), base64.StdEncoding.EncodeToString(digest[:])
	return nil
}
