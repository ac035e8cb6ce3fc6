// SPDX-License-Identifier: Apache-2.0

package govet

import (
	"cmp"
	"encoding/json"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// diagnostic is a finding as vet tools print it with -json. Source: JSONDiagnostic in
// internal/analysis/driverutil of golang.org/x/tools.
type diagnostic struct {
	Category       string
	Posn           string // "file.go:1:2"
	Message        string
	SuggestedFixes []struct {
		Message string
		Edits   []Edit
	} `json:"suggested_fixes"`
}

// read takes apart what the go command prints: an object for each package, on lines of its
// own, and between them what is wrong. broken is an object that says nothing.
func read(out []byte) (found []Found, said string, broken error) {
	var object, rest strings.Builder
	seen := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		end := strings.TrimRight(line, "\r\n")
		if object.Len() == 0 && end != "{" && end != "{}" {
			rest.WriteString(line)
			continue
		}
		object.WriteString(line)
		if end != "}" && end != "{}" {
			continue
		}
		here, err := findings(object.String())
		if err != nil {
			broken = err
		}
		object.Reset()
		for _, f := range here {
			// A go.mod is reported again for every program of its module.
			key := f.File + ":" + strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column) + " " + f.ID
			if !seen[key] {
				found = append(found, f)
			}
			seen[key] = true
		}
	}
	slices.SortFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.ID, b.ID))
	})
	return found, rest.String(), broken
}

// findings reads the object of a package: what each analyzer found, or why it failed.
func findings(object string) ([]Found, error) {
	packages := map[string]map[string]json.RawMessage{}
	if err := json.Unmarshal([]byte(object), &packages); err != nil {
		return nil, unreadable(err.Error())
	}
	var all []Found
	for _, analyzers := range packages {
		for name, text := range analyzers {
			var list []diagnostic
			if json.Unmarshal(text, &list) != nil {
				var failed struct{ Error string }
				_ = json.Unmarshal(text, &failed)
				return all, unreadable(name + ": " + failed.Error)
			}
			for _, d := range list {
				if f, ok := d.found(); ok {
					all = append(all, f)
				}
			}
		}
	}
	return all, nil
}

func unreadable(why string) error {
	return message.Failed("cannot vet, "+why, "go version has to say go1.23 or later")
}

// found is the finding. ok is false for one that no longer holds.
func (d *diagnostic) found() (f Found, ok bool) {
	f = Found{ID: d.Category, Message: d.Message}
	f.File, f.Line, f.Column = position(d.Posn)
	if d.Category == "go-line-old" {
		// The go command keeps findings as long as a package's files stay as they are; a go.mod
		// is not among them.
		var old bool
		if f.Line, old = vet.GoLine(f.File); !old {
			return f, false
		}
	}
	if len(d.SuggestedFixes) > 0 {
		f.Fix = d.SuggestedFixes[0].Message
		if edits := d.SuggestedFixes[0].Edits; !slices.ContainsFunc(edits, func(e Edit) bool { return usesC(e.Filename) }) {
			f.Edits = edits
		}
	}
	return f, true
}

// position takes apart "file.go:1:2".
func position(at string) (file string, line, column int) {
	file = at
	cut := func() (n int) {
		if i := strings.LastIndexByte(file, ':'); i >= 0 {
			n, _ = strconv.Atoi(file[i+1:])
			file = file[:i]
		}
		return n
	}
	column = cut()
	line = cut()
	return filepath.Clean(file), line, column
}

// usesC tells whether a file imports "C". The analyzers see what cgo has made of it, where
// everything is elsewhere.
func usesC(file string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return true
	}
	for _, i := range f.Imports {
		if i.Path.Value == `"C"` {
			return true
		}
	}
	return false
}
