// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/snug-go/snug/cmd/snug/vet"
)

// vetSource is a package to be examined.
type vetSource struct {
	path      string
	names     []string // of its Go files
	files     []*ast.File
	others    []string // files that belong to it and are not Go's
	ignored   []string // Go files that are left out of this build
	goVersion string   // the language's: "go1.26"; "" = the newest
	module    *analysis.Module
	cgo       bool // files are as written, with import "C" in them
}

// concerned tells whether there may be something to find in a package, by its text alone.
// A file that cannot be read is for the parser to complain of.
func (p *vetSource) concerned() bool {
	return slices.ContainsFunc(p.names, func(name string) bool {
		text, err := os.ReadFile(name)
		return err != nil || vet.Concerns(text)
	})
}

// glance runs the analyzers over a package without types of what it imports. enough is
// false when these are needed.
func (p *vetSource) glance(fset *token.FileSet) (found []vet.Found, enough bool, err error) {
	mode := parser.ParseComments | parser.SkipObjectResolution
	concerned := p.concerned()
	if !concerned {
		mode |= parser.ImportsOnly
	}
	if p.files, err = parseAll(fset, p.names, mode); err != nil {
		return nil, false, err
	}
	pass := p.pass(fset)
	if concerned {
		found, enough = vet.Glance(*pass, p.path)
		return found, enough, nil
	}
	pass.Pkg, pass.TypesInfo = types.NewPackage(p.path, p.files[0].Name.Name), &types.Info{}
	found, err = vet.Run(pass)
	return found, true, err
}

// examine runs the analyzers over a package, after glance.
func (p *vetSource) examine(fset *token.FileSet, imports types.Importer) ([]vet.Found, error) {
	pass := p.pass(fset)
	pass.TypesInfo = vet.Info()
	conf := types.Config{Sizes: pass.TypesSizes, GoVersion: p.goVersion, Importer: imports, FakeImportC: p.cgo}
	if p.cgo {
		conf.Error = func(error) {} // what follows from types of C that are not known
	}
	var err error
	if pass.Pkg, err = conf.Check(p.path, fset, p.files, pass.TypesInfo); err != nil && !p.cgo {
		return nil, err
	}
	return vet.Run(pass)
}

func (p *vetSource) pass(fset *token.FileSet) *analysis.Pass {
	return &analysis.Pass{
		Fset: fset, Files: p.files, OtherFiles: p.others, IgnoredFiles: p.ignored,
		TypesSizes: types.SizesFor("gc", goarch()), Module: p.module, ReadFile: os.ReadFile,
	}
}

func parseAll(fset *token.FileSet, names []string, mode parser.Mode) ([]*ast.File, error) {
	files := make([]*ast.File, len(names))
	errs := make([]error, len(names))
	var each sync.WaitGroup
	for i, name := range names {
		each.Go(func() { files[i], errs[i] = parser.ParseFile(fset, name, nil, mode) })
	}
	each.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// compiledTypes reads the types of packages from what the compiler has written of them.
// file opens that of a package, by its path.
func compiledTypes(fset *token.FileSet, file func(path string) (io.ReadCloser, error)) types.Importer {
	gc := importer.ForCompiler(fset, "gc", file)
	return importerFunc(func(path string) (pkg *types.Package, err error) {
		// What a newer compiler has written makes the importer panic.
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("%v", r)
			}
		}()
		return gc.Import(path)
	})
}

// importerFunc finds a package by the path of an import.
type importerFunc func(string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) {
	if path == "unsafe" {
		return types.Unsafe, nil
	}
	return f(path)
}

// goarch is what the go command builds for.
func goarch() string {
	if arch := os.Getenv("GOARCH"); arch != "" {
		return arch
	}
	return runtime.GOARCH
}
