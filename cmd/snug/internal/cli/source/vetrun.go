// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/scanner"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// placed is a finding in source, and the edits that would mend it.
type placed struct {
	finding.Mistake
	edits []vetEdit
}

// vetPackages examines packages. With an error there may be findings too: of the packages
// that could be looked at.
//
// It is no vet tool of the go command, as the source part can be: that would be one
// process for each package and for each that they import, when few packages need more
// than a look at their text.
func vetPackages(ctx context.Context, patterns []string, tags string) ([]placed, error) {
	if os.Getenv("GOGC") == "" {
		// Types stay until the end, so that to look for garbage among them is a third of
		// the work; the heap is some hundred MiB.
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	g := &goCommand{ctx: ctx, tags: tags}
	listed, err := g.list("-find", patterns)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var found []vet.Found
	var wrong error
	failed := func(err error) {
		if wrong == nil {
			wrong = err
		}
	}
	var typed []*goPackage // of which types are needed
	for _, p := range listed {
		if ctx.Err() != nil {
			return nil, vetInterrupted()
		}
		if p.Error != nil {
			failed(p.failure())
			continue
		}
		p.take()
		// What is not concerned has at most an old go line, which is a program's.
		if len(p.names) == 0 || p.Name != "main" && !p.concerned() {
			continue
		}
		here, enough, err := p.glance(fset)
		switch {
		case err != nil:
			failed(g.examineFailure(p, err))
		case enough:
			found = append(found, here...)
		default:
			typed = append(typed, p)
		}
	}
	imports, err := g.importer(fset, typed)
	if err != nil {
		return nil, err
	}
	for _, p := range typed {
		if ctx.Err() != nil {
			return nil, vetInterrupted()
		}
		here, err := p.examine(fset, importerFunc(func(path string) (*types.Package, error) { return imports.Import(p.imported(path)) }))
		if err != nil {
			failed(g.examineFailure(p, err))
		}
		found = append(found, here...)
	}
	return placeAll(fset, found), wrong
}

// take fills in the source of a package from what the go command says of it.
func (p *goPackage) take() {
	p.vetSource = vetSource{path: p.ImportPath, module: p.Module, cgo: len(p.CgoFiles) > 0}
	for _, name := range slices.Concat(p.GoFiles, p.CgoFiles) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		p.names = append(p.names, name)
	}
	if p.Module != nil && p.Module.GoVersion != "" {
		p.goVersion = "go" + p.Module.GoVersion
	}
}

// imported is the path of the package that an import names. Those of the standard library
// have what they need of other modules below a path of their own.
func (p *goPackage) imported(path string) string {
	first, _, _ := strings.Cut(path, "/")
	if !p.Standard || !strings.Contains(first, ".") {
		return path
	}
	if strings.HasPrefix(p.ImportPath, "cmd/") {
		return "cmd/vendor/" + path
	}
	return "vendor/" + path
}

// importer has the go command compile what packages import, where that is not done yet,
// and reads the types of it. Imports that cannot be compiled are missed by those only who
// need them.
func (g *goCommand) importer(fset *token.FileSet, packages []*goPackage) (types.Importer, error) {
	need := map[string]bool{}
	for _, p := range packages {
		for _, f := range p.files {
			for _, i := range f.Imports {
				need[p.imported(importOf(i))] = true
			}
		}
	}
	delete(need, "C")
	delete(need, "unsafe")
	exports, failures := map[string]string{}, map[string]error{}
	for _, paths := range chunks(need) {
		listed, err := g.list("-export", paths)
		if err != nil {
			return nil, err
		}
		for _, p := range listed {
			exports[p.ImportPath] = p.Export
			if p.Error != nil {
				p.DepsErrors = append(p.DepsErrors, *p.Error)
			}
			if n := len(p.DepsErrors); n > 0 {
				failures[p.ImportPath] = errors.New(firstLine(p.DepsErrors[n-1].Err))
			}
		}
	}
	return compiledTypes(fset, func(path string) (io.ReadCloser, error) {
		if file := exports[path]; file != "" {
			return os.Open(file)
		}
		if err := failures[path]; err != nil {
			return nil, err
		}
		return nil, errors.New("it could not be compiled")
	}), nil
}

func importOf(i *ast.ImportSpec) string {
	path, _ := strconv.Unquote(i.Path.Value)
	return path
}

// examineFailure is why a package could not be examined: in most cases it does not
// compile.
func (g *goCommand) examineFailure(p *goPackage, err error) error {
	if newer := g.newer(); newer != nil {
		return newer
	}
	var of types.Error
	var syntax scanner.ErrorList
	switch {
	case errors.As(err, &of):
		at := of.Fset.Position(of.Pos)
		err = fmt.Errorf("%s:%d:%d: %s", vetPath(at.Filename), at.Line, at.Column, of.Msg)
	case errors.As(err, &syntax) && len(syntax) > 0:
		at := syntax[0].Pos
		err = fmt.Errorf("%s:%d:%d: %s", vetPath(at.Filename), at.Line, at.Column, syntax[0].Msg)
	default:
		err = fmt.Errorf("%s: %w", p.ImportPath, err)
	}
	return message.Failed("cannot vet, "+firstLine(err.Error()), "packages have to compile; go build shows every error")
}

// vetPath is a file as the go command writes it.
func vetPath(file string) string {
	if short := beneath(file); !filepath.IsAbs(short) {
		return "." + string(filepath.Separator) + short
	}
	return file
}

// placeAll turns diagnostics into findings. A go.mod is reported again for every program
// of its module.
func placeAll(fset *token.FileSet, found []vet.Found) []placed {
	var all []placed
	seen := map[string]bool{}
	for _, d := range found {
		at := fset.Position(d.Pos)
		key := at.String() + " " + d.Category
		if seen[key] {
			continue
		}
		seen[key] = true
		p := placed{Mistake: mistake(d.Category, at.Filename, at.Line, &at.Column, d.Message)}
		if len(d.SuggestedFixes) > 0 {
			p.Fix, p.Fixable, p.edits = d.SuggestedFixes[0].Message, true, editsOf(fset, d.SuggestedFixes[0])
		}
		all = append(all, p)
	}
	return all
}
