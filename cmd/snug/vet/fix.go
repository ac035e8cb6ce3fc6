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

// removeStatement is the edit that takes a statement away. ok is false where an empty
// block would stay behind.
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

// used counts how often a file names an imported package.
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

// removeImport are the edits that take an import away.
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

// replaceImport is the edit that makes an import another one.
func replaceImport(i *ast.ImportSpec, path string) analysis.TextEdit {
	return analysis.TextEdit{Pos: i.Path.Pos(), End: i.Path.End(), NewText: []byte(strconv.Quote(path))}
}

// cut is the edit that removes a range, with its whole lines and a comment behind it
// where nothing else stands on them.
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
