// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"cmp"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"slices"

	"golang.org/x/tools/go/ast/astutil"
)

// applyFixes applies the first fix of each finding and marks it as fixed. A fix is
// applied whole or not at all: one that overlaps with another before it is left for the
// next time.
func applyFixes(found []placed) error {
	taken := map[string][]vetEdit{}
	for i := range found {
		p := &found[i]
		if len(p.edits) == 0 || slices.ContainsFunc(p.edits, func(e vetEdit) bool {
			return slices.ContainsFunc(taken[e.Filename], func(t vetEdit) bool { return t != e && t.Start < e.End && e.Start < t.End })
		}) {
			continue
		}
		for _, e := range p.edits {
			if !slices.Contains(taken[e.Filename], e) {
				taken[e.Filename] = append(taken[e.Filename], e)
			}
		}
		p.Fixed = true
	}
	for file, edits := range taken {
		old, err := os.ReadFile(file)
		if err != nil {
			return failed("cannot fix, "+file+": "+reason(err), "")
		}
		fixed, err := edited(old, edits)
		if err != nil {
			return failed("cannot fix, "+file+": "+err.Error(), "it has changed meanwhile; run it again")
		}
		info, err := os.Stat(file)
		if err == nil {
			err = os.WriteFile(file, fixed, info.Mode().Perm())
		}
		if err != nil {
			return failed("cannot fix, "+file+": "+reason(err), "")
		}
	}
	return nil
}

// edited is a Go file with edits applied, imports that they leave without a use removed,
// and formatted if it was.
func edited(old []byte, edits []vetEdit) ([]byte, error) {
	slices.SortFunc(edits, func(a, b vetEdit) int { return cmp.Compare(a.Start, b.Start) })
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
