// SPDX-License-Identifier: Apache-2.0

package govet

import (
	"bytes"
	"cmp"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"slices"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
)

// Fix applies the fixes of findings and marks the findings as fixed. It applies a fix
// completely or not at all, and skips a fix that overlaps an earlier one. It replaces
// each file completely or not at all.
func Fix(found []Found) error {
	taken := map[string][]Edit{}
	for i := range found {
		p := &found[i]
		if len(p.Edits) == 0 || slices.ContainsFunc(p.Edits, func(e Edit) bool {
			return slices.ContainsFunc(taken[e.Filename],
				func(t Edit) bool { return t != e && t.Start < e.End && e.Start < t.End })
		}) {
			continue
		}
		for _, e := range p.Edits {
			if !slices.Contains(taken[e.Filename], e) {
				taken[e.Filename] = append(taken[e.Filename], e)
			}
		}
		p.Fixed = true
	}
	// Detect errors before anything is written.
	files := slices.Sorted(maps.Keys(taken))
	texts := map[string][]byte{}
	for _, file := range files {
		old, err := bounded.ReadFile(file, maxSource)
		if err != nil {
			return notFixed(file, err)
		}
		if texts[file], err = edited(old, taken[file]); err != nil {
			return message.Failed("cannot fix "+file+": "+err.Error(), "it has changed since it was read; run it again")
		}
	}
	return writeFixed(files, texts)
}

// writeFixed replaces files by their new texts, each atomically, but none if any of them
// is not writable.
func writeFixed(files []string, texts map[string][]byte) error {
	for _, file := range files {
		f, err := os.OpenFile(file, os.O_WRONLY, 0)
		if err != nil {
			return notFixed(file, err)
		}
		f.Close()
	}
	for i, file := range files {
		if err := outfile.Replace(file, texts[file]); err != nil {
			wrong := notFixed(file, err)
			if i > 0 {
				wrong = message.Failed(wrong.Error(), "fixed before it: "+strings.Join(files[:i], " "))
			}
			return wrong
		}
	}
	return nil
}

// maxSource bounds a Go file and the description of a package, in bytes.
const maxSource = 64 << 20

func notFixed(file string, err error) error {
	return message.Failed("cannot fix "+file+": "+message.Reason(err),
		"the files and their directories must be writable; without --fix nothing is written")
}

// edited returns a Go file with edits applied and imports removed that they leave
// unused. It formats the file if it was formatted.
func edited(old []byte, edits []Edit) ([]byte, error) {
	slices.SortStableFunc(edits, func(a, b Edit) int { return cmp.Compare(a.Start, b.Start) })
	var b bytes.Buffer
	at := 0
	for _, e := range edits {
		if e.Start < at || e.End < e.Start || e.End > len(old) {
			continue
		}
		b.Write(old[at:e.Start])
		b.WriteString(e.New)
		at = e.End
	}
	b.Write(old[at:])
	text := b.Bytes()
	formatted, err := format.Source(old)
	wasFormatted := err == nil && bytes.Equal(formatted, old)
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	before, err := parser.ParseFile(token.NewFileSet(), "", old, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	removed := false
	for _, path := range []string{"runtime", "runtime/debug"} {
		if astutil.UsesImport(before, path) && !astutil.UsesImport(file, path) {
			removed = astutil.DeleteImport(fset, file, path) || removed
		}
	}
	if removed {
		b := &bytes.Buffer{}
		if err := format.Node(b, fset, file); err != nil {
			return nil, err
		}
		return b.Bytes(), nil
	}
	if wasFormatted {
		return format.Source(text)
	}
	return text, nil
}
