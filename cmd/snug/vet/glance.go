// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"bytes"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// Glance runs all analyzers over a package without the types of what it imports, and
// without the functions in which nothing can be found. base has no Pkg and no TypesInfo.
// enough is false when something hangs on the rest: then nothing is known.
func Glance(base analysis.Pass, importPath string) (found []Found, enough bool) {
	dropped := dropBodies(&base)
	defer func() {
		for f, body := range dropped {
			f.Body = body.block
		}
		if recover() != nil { // of what is not known
			found, enough = nil, false
		}
	}()
	strangers := map[string]*types.Package{}
	conf := types.Config{
		Error: func(error) {}, FakeImportC: true, DisableUnusedImportCheck: true, Sizes: base.TypesSizes,
		Importer: importerFunc(func(from string) (*types.Package, error) {
			if strangers[from] == nil {
				strangers[from] = types.NewPackage(from, likelyName(from))
				strangers[from].MarkComplete()
			}
			return strangers[from], nil
		}),
	}
	base.TypesInfo = Info()
	base.Pkg, _ = conf.Check(importPath, base.Fset, base.Files, base.TypesInfo)
	found, results, err := run(&base)
	if err != nil {
		return nil, false
	}
	s := results[sourceAnalyzer].(*source)
	if *s.doubts > 0 {
		return nil, false
	}
	for name := range s.sought {
		for _, body := range dropped {
			if bytes.Contains(body.text, []byte(name)) {
				return nil, false
			}
		}
	}
	return found, true
}

// alsoMatters are words, beside marks, by which a function may matter to what is found in
// another.
var alsoMatters = [][]byte{[]byte("SetFinalizer"), []byte("KeepAlive")}

// body is that of a function, and its text.
type body struct {
	block *ast.BlockStmt
	text  []byte
}

// dropBodies takes away the bodies of functions that do not matter, by their text.
func dropBodies(pass *analysis.Pass) map[*ast.FuncDecl]body {
	dropped := map[*ast.FuncDecl]body{}
	for _, f := range pass.Files {
		file := pass.Fset.File(f.FileStart)
		text, err := pass.ReadFile(file.Name())
		if err != nil || len(text) != file.Size() || slices.ContainsFunc(f.Imports, setsSomething) {
			continue
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			b := body{fn.Body, text[file.Offset(fn.Body.Pos()):file.Offset(fn.Body.End())]}
			if Concerns(b.text) || slices.ContainsFunc(alsoMatters, func(word []byte) bool { return bytes.Contains(b.text, word) }) {
				continue
			}
			dropped[fn], fn.Body = b, nil
		}
	}
	return dropped
}

// setsSomething tells whether an import is of a module whose calls set a knob.
func setsSomething(i *ast.ImportSpec) bool {
	return slices.ContainsFunc([]string{maxprocsPath, memlimitPath, snugPath}, func(module string) bool {
		return strings.HasPrefix(importPath(i), module)
	})
}

type importerFunc func(string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// likelyName is what a package of a path is called, by its path alone. Those that matter
// are called so.
func likelyName(from string) string {
	name := path.Base(from)
	if len(name) > 1 && name[0] == 'v' && strings.Trim(name[1:], "0123456789") == "" {
		name = path.Base(path.Dir(from))
	}
	if !token.IsIdentifier(name) {
		return "_"
	}
	return name
}
