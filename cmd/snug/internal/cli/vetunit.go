// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"go/version"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/snug-go/snug/cmd/snug/vet"
)

// vetTool answers the go command when it runs snug as a vet tool: with -V=full, with
// -flags, and with the description of one package, a file whose name ends in .cfg. It
// returns when the arguments are none of these, and does not return otherwise.
func vetTool(args []string, stderr io.Writer) {
	if len(args) == 0 {
		return
	}
	last := args[len(args)-1]
	switch {
	case len(args) == 1 && (last == "-V=full" || last == "-flags"):
	case strings.HasSuffix(last, ".cfg") && !slices.ContainsFunc(args[:len(args)-1], func(a string) bool { return !strings.HasPrefix(a, "-") }):
		flags := args[:len(args)-1]
		if len(flags) == 0 || len(flags) == 1 && (flags[0] == "-json" || flags[0] == "-json=true") {
			if code, done := vetUnit(last, len(flags) == 1, stderr); done {
				os.Exit(code)
			}
		}
	default:
		return
	}
	unitchecker.Main(vet.Analyzers()...)
}

// vetPackage is the description of a package by the go command. Source: vetConfig in
// cmd/go/internal/work/exec.go.
type vetPackage struct {
	ID, Compiler, ImportPath, GoVersion string
	GoFiles, NonGoFiles, IgnoredFiles   []string
	ModulePath, ModuleVersion           string
	Module                              *analysis.Module
	ImportMap, PackageFile              map[string]string
	VetxOnly                            bool
	VetxOutput, Stdout                  string
	SucceedOnTypecheckFailure           bool
}

// vetUnit examines one package. The analyzers keep no facts, so dependencies need no
// look at all, and types are those that the compiler has written: unitchecker would
// check every dependency from source instead. done is false where the go command has
// not had the imports compiled; unitchecker can do without.
func vetUnit(file string, asJSON bool, stderr io.Writer) (code int, done bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false // unitchecker says so
	}
	var u vetPackage
	if json.Unmarshal(text, &u) != nil || len(u.GoFiles) == 0 || !u.compiled() {
		return 0, false
	}
	if u.VetxOutput != "" {
		if err := os.WriteFile(u.VetxOutput, nil, 0o666); err != nil {
			fmt.Fprintln(stderr, "snug:", err)
			return exitFailed, true
		}
	}
	if u.VetxOnly {
		return exitFine, true
	}
	if with := os.Getenv("GOVERSION"); version.Compare(version.Lang(with), version.Lang(runtime.Version())) > 0 {
		fmt.Fprintln(stderr, "snug: error: "+builtWith(with))
		return exitFailed, true
	}
	fset := token.NewFileSet()
	found, err := u.analyze(fset)
	if err != nil {
		if u.SucceedOnTypecheckFailure {
			return exitFine, true
		}
		fmt.Fprintln(stderr, err)
		return exitFailed, true
	}
	if asJSON {
		return u.writeJSON(fset, found), true
	}
	for _, d := range found {
		fmt.Fprintf(stderr, "%s: %s\n", fset.Position(d.Pos), d.Message)
		code = exitFailed
	}
	return code, true
}

// compiled tells whether there is a file with the types of every import.
func (u *vetPackage) compiled() bool {
	if u.Compiler != "gc" {
		return false
	}
	found := 0
	for _, path := range u.ImportMap {
		if path == "unsafe" || path == "C" {
			continue
		}
		if u.PackageFile[path] == "" {
			return false
		}
		found++
	}
	// Of a package that imports nothing it is not known what the go command does for
	// others; such packages are few and small. In those of a newer Go nothing is read.
	newer := version.Compare(version.Lang(os.Getenv("GOVERSION")), version.Lang(runtime.Version())) > 0
	return found > 0 || !u.VetxOnly || newer
}

// builtWith says why packages of a newer Go cannot be read: the form in which its
// compiler writes types is one that the older standard library does not know.
func builtWith(with string) string {
	return "built with " + runtime.Version() + ", which cannot read packages of " + with + "; build snug with " + with
}

// vetFound is a diagnostic and the name of the analyzer that gives it.
type vetFound struct {
	analysis.Diagnostic
	by string
}

func (u *vetPackage) analyze(fset *token.FileSet) ([]vetFound, error) {
	files := make([]*ast.File, len(u.GoFiles))
	errs := make([]error, len(u.GoFiles))
	var each sync.WaitGroup
	for i, name := range u.GoFiles {
		each.Go(func() {
			files[i], errs[i] = parser.ParseFile(fset, name, nil, parser.ParseComments|parser.SkipObjectResolution)
		})
	}
	each.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	gc := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		file := u.PackageFile[path]
		if file == "" {
			return nil, errors.New("no types of " + path)
		}
		return os.Open(file)
	})
	conf := types.Config{
		Sizes: types.SizesFor("gc", goarch()), GoVersion: u.GoVersion,
		Importer: importerFunc(func(path string) (*types.Package, error) {
			if path == "unsafe" {
				return types.Unsafe, nil
			}
			if to := u.ImportMap[path]; to != "" {
				path = to
			}
			return gc.Import(path)
		}),
	}
	info := &types.Info{
		Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{},
		Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Scopes: map[ast.Node]*types.Scope{}, Instances: map[*ast.Ident]types.Instance{}, FileVersions: map[*ast.File]string{},
	}
	pkg, err := conf.Check(u.ImportPath, fset, files, info)
	if err != nil {
		return nil, err
	}
	module := u.Module
	if module == nil && u.ModulePath != "" {
		module = &analysis.Module{Path: u.ModulePath, Version: u.ModuleVersion, GoVersion: u.GoVersion}
	}
	return analyze(&analysis.Pass{
		Fset: fset, Files: files, OtherFiles: u.NonGoFiles, IgnoredFiles: u.IgnoredFiles, Pkg: pkg, TypesInfo: info,
		TypesSizes: conf.Sizes, Module: module, ReadFile: os.ReadFile,
	})
}

// analyze runs all analyzers, and what they require before them, over a package.
func analyze(base *analysis.Pass) ([]vetFound, error) {
	var found []vetFound
	results := map[*analysis.Analyzer]any{}
	var each func(*analysis.Analyzer) error
	each = func(a *analysis.Analyzer) error {
		if _, ran := results[a]; ran {
			return nil
		}
		pass := *base
		pass.Analyzer, pass.ResultOf = a, map[*analysis.Analyzer]any{}
		for _, r := range a.Requires {
			if err := each(r); err != nil {
				return err
			}
			pass.ResultOf[r] = results[r]
		}
		pass.Report = func(d analysis.Diagnostic) { found = append(found, vetFound{d, a.Name}) }
		result, err := a.Run(&pass)
		results[a] = result
		return err
	}
	for _, a := range vet.Analyzers() {
		if err := each(a); err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
	}
	return found, nil
}

type importerFunc func(string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// goarch is what the go command builds for.
func goarch() string {
	if arch := os.Getenv("GOARCH"); arch != "" {
		return arch
	}
	return runtime.GOARCH
}

// The form in which vet tools give diagnostics to the go command with -json. Source:
// unitchecker.
type (
	vetEdit struct {
		Filename string `json:"filename"`
		Start    int    `json:"start"` // bytes from the file's start
		End      int    `json:"end"`
		New      string `json:"new"`
	}
	vetEdits struct {
		Message string    `json:"message"`
		Edits   []vetEdit `json:"edits"`
	}
	vetDiagnostic struct {
		Category string     `json:"category,omitempty"`
		Posn     string     `json:"posn"` // "file.go:1:2"
		End      string     `json:"end"`
		Message  string     `json:"message"`
		Fixes    []vetEdits `json:"suggested_fixes,omitempty"`
	}
)

func (u *vetPackage) writeJSON(fset *token.FileSet, found []vetFound) int {
	tree := map[string]map[string][]vetDiagnostic{}
	for _, d := range found {
		if tree[u.ID] == nil {
			tree[u.ID] = map[string][]vetDiagnostic{}
		}
		g := vetDiagnostic{Category: d.Category, Posn: fset.Position(d.Pos).String(), End: fset.Position(d.End).String(), Message: d.Message}
		for _, f := range d.SuggestedFixes {
			fix := vetEdits{Message: f.Message}
			for _, e := range f.TextEdits {
				at := fset.File(e.Pos)
				end := e.End
				if !end.IsValid() {
					end = e.Pos
				}
				fix.Edits = append(fix.Edits, vetEdit{at.Name(), at.Offset(e.Pos), at.Offset(end), string(e.NewText)})
			}
			g.Fixes = append(g.Fixes, fix)
		}
		tree[u.ID][d.by] = append(tree[u.ID][d.by], g)
	}
	text, err := json.MarshalIndent(tree, "", "\t")
	if err != nil {
		return exitFailed
	}
	text = append(text, '\n')
	if u.Stdout != "" {
		err = os.WriteFile(u.Stdout, text, 0o666)
	} else {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		return exitFailed
	}
	return exitFine
}
