// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

// removeStatement returns the edit that removes a statement. ok is false if an empty
// block would remain.
func (s *source) removeStatement(at site) (edit analysis.TextEdit, ok bool) {
	block, ok := at.parent(0).(*ast.BlockStmt)
	if !ok {
		return edit, false
	}
	if _, body := at.parent(1).(*ast.FuncDecl); len(block.List) < 2 && !body {
		return edit, false
	}
	return s.cut(at.node.Pos(), at.node.End()), true
}

// used returns how often a file names an imported package.
func (s *source) used(f *ast.File, from string) int {
	n := 0
	ast.Inspect(f, func(node ast.Node) bool {
		if id, ok := node.(*ast.Ident); ok {
			if p, ok := s.pass.TypesInfo.Uses[id].(*types.PkgName); ok && p.Imported().Path() == from {
				n++
			}
		}
		return true
	})
	return n
}

// removeImport returns the edits that remove an import.
func (s *source) removeImport(f *ast.File, path string) []analysis.TextEdit {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		for _, spec := range g.Specs {
			i := spec.(*ast.ImportSpec)
			if importPath(i) != path {
				continue
			}
			if len(g.Specs) == 1 {
				return []analysis.TextEdit{s.cut(g.Pos(), g.End())}
			}
			return []analysis.TextEdit{s.cut(i.Pos(), i.End())}
		}
	}
	return nil
}

// replaceImport returns the edit that replaces the path of an import.
func replaceImport(i *ast.ImportSpec, path string) analysis.TextEdit {
	return analysis.TextEdit{Pos: i.Path.Pos(), End: i.Path.End(), NewText: []byte(strconv.Quote(path))}
}

// cut returns the edit that removes a range. If nothing else is on its lines, it removes
// the whole lines and a comment after the range.
func (s *source) cut(pos, end token.Pos) analysis.TextEdit {
	file := s.pass.Fset.File(pos)
	text, err := s.pass.ReadFile(file.Name())
	if err != nil || len(text) != file.Size() {
		return analysis.TextEdit{Pos: pos, End: end}
	}
	from, to := file.Offset(pos), file.Offset(end)
	start := bytes.LastIndexByte(text[:from], '\n') + 1
	stop := len(text)
	if i := bytes.IndexByte(text[to:], '\n'); i >= 0 {
		stop = to + i + 1
	}
	rest := bytes.TrimSpace(text[to:stop])
	if len(bytes.TrimSpace(text[start:from])) == 0 && (len(rest) == 0 || bytes.HasPrefix(rest, []byte("//"))) {
		from, to = start, stop
	}
	return analysis.TextEdit{Pos: file.Pos(from), End: file.Pos(to)}
}
