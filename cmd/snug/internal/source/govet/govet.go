// SPDX-License-Identifier: Apache-2.0

// Package govet runs the analyzers of package vet on packages and applies the fixes they
// suggest. It also makes snug a vet tool for the go command.
package govet

import (
	"cmp"
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// Found is a finding in source, or in the go.mod or go.work of a program.
type Found struct {
	ID, File     string
	Line, Column int // in File itself, whatever //line directives say; Column in bytes, 0 = unknown
	Message      string
	Fix          string // what the first fix does; "" = no fix
	Edits        []Edit // edits of that fix; nil = it cannot be applied
	Fixed        bool   // see Fix
}

// Edit replaces a part of a file.
type Edit struct {
	Filename string
	Start    int // byte offset in the file
	End      int
	New      string
}

// Result holds what Run found.
type Result struct {
	Found    []Found
	Packages int      // packages with files that were analyzed
	Files    []string // Go files of all packages that were loaded, also of those that do not compile
}

// Build says what the go command builds.
type Build struct {
	Tags  string // as for the go command
	Tests bool   // also test files
}

// Run loads packages with the go command and analyzes them. It compiles their dependencies but
// does not analyze them, because no analyzer has facts. With an error the findings are those of the
// packages that compile. dir is the directory to load from; "" = the current one, and then packages
// that the build leaves out completely are an error.
func Run(ctx context.Context, dir string, patterns []string, b Build) (Result, error) {
	r, err := run(ctx, dir, patterns, b, nil)
	if dir != "" && err != nil && strings.Contains(err.Error(), "go.work") { // a module that the workspace does not have
		r, err = run(ctx, dir, patterns, b, append(os.Environ(), "GOWORK=off"))
	}
	return r, err
}

func run(ctx context.Context, dir string, patterns []string, b Build, env []string) (r Result, err error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
		packages.NeedModule |
		packages.NeedExportFile | packages.NeedTypes | packages.NeedTypesSizes | packages.NeedTypesInfo | packages.NeedSyntax
	c := &packages.Config{Context: ctx, Mode: mode, Dir: dir, Env: env, Tests: b.Tests}
	if b.Tags != "" {
		c.BuildFlags = []string{"-tags=" + b.Tags}
	}
	all, err := packages.Load(c, patterns...)
	switch {
	case ctx.Err() != nil:
		return r, Interrupted()
	case err != nil && noGo():
		return r, message.Failed("PATH: there is no go command", "install Go, or put its bin directory on PATH")
	case err != nil:
		return r, failure(ctx, err.Error())
	case len(all) == 0: // Load then drops the message of the go command
		list := exec.CommandContext(ctx, "go", append([]string{"list", "-export", "--"}, patterns...)...)
		list.Dir, list.Env = dir, env
		said, _ := list.CombinedOutput()
		if dir != "" && strings.Contains(string(said), "matched no packages") {
			return r, nil // a module without source, in a tree of others
		}
		return r, failure(ctx, string(said)+"\nno packages to vet")
	}
	// The program that go test makes of a package has no source of the module.
	all = slices.DeleteFunc(all, func(p *packages.Package) bool { return b.Tests && strings.HasSuffix(p.ID, ".test") })
	for _, p := range all {
		r.Files = append(r.Files, p.GoFiles...)
	}
	wrong := ""
	all = slices.DeleteFunc(all, func(p *packages.Package) bool {
		if len(p.Errors) == 0 && !p.IllTyped {
			return len(p.GoFiles) == 0
		}
		if dir != "" && leftOut(p) {
			return true
		}
		// Its own errors come first, then those of its imports.
		packages.Visit([]*packages.Package{p}, func(d *packages.Package) bool {
			for _, e := range d.Errors {
				wrong = cmp.Or(wrong, e.Error())
			}
			return wrong == ""
		}, nil)
		wrong = cmp.Or(wrong, p.PkgPath+" does not compile")
		return true
	})
	r.Packages = different(all)
	analyzers := vet.Analyzers()
	if b.Tests {
		analyzers = vet.WithTests()
	}
	r.Found, err = analyze(all, analyzers)
	switch {
	case ctx.Err() != nil:
		return Result{}, Interrupted()
	case wrong != "":
		return r, failure(ctx, wrong)
	}
	return r, err
}

// different returns the number of packages, each once: with its test files a package is loaded again,
// and its external tests are another.
func different(all []*packages.Package) int {
	paths := map[string]bool{}
	for _, p := range all {
		paths[strings.TrimSuffix(p.PkgPath, "_test")] = true
	}
	return len(paths)
}

// leftOut reports whether the build leaves out every Go file of a package.
func leftOut(p *packages.Package) bool {
	return len(p.GoFiles) == 0 && len(p.Errors) > 0 &&
		(strings.Contains(p.Errors[0].Msg, "build constraints exclude all Go files") ||
			strings.Contains(p.Errors[0].Msg, "no Go files in"))
}

// analyze returns the findings of the analyzers, without duplicates, in the order of files.
func analyze(all []*packages.Package, analyzers []*analysis.Analyzer) ([]Found, error) {
	graph, err := checker.Analyze(analyzers, all, nil)
	if err != nil {
		return nil, message.Failed("cannot vet: "+err.Error(), "go version must report go1.23 or later")
	}
	var found []Found
	var failed error
	seen := map[string]bool{}
	for _, a := range graph.Roots {
		if a.Err != nil {
			failed = message.Failed("cannot vet: "+a.Analyzer.Name+": "+a.Err.Error(),
				"go vet with the same packages shows every error")
			continue
		}
		for i := range a.Diagnostics {
			f := finding(a.Package.Fset, &a.Diagnostics[i])
			// A go.mod is reported once for every program of its module.
			key := f.File + ":" + strconv.Itoa(f.Line) + ":" + strconv.Itoa(f.Column) + " " + f.ID
			if !seen[key] {
				found = append(found, f)
			}
			seen[key] = true
		}
	}
	slices.SortStableFunc(found, func(a, b Found) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.ID, b.ID))
	})
	return found, failed
}

// finding converts a diagnostic with its first fix.
func finding(fset *token.FileSet, d *analysis.Diagnostic) Found {
	at := vet.Position(fset, d.Pos)
	f := Found{ID: d.Category, File: filepath.Clean(at.Filename), Line: at.Line, Column: at.Column, Message: d.Message}
	if len(d.SuggestedFixes) == 0 {
		return f
	}
	fix := &d.SuggestedFixes[0]
	f.Fix = fix.Message
	for _, e := range fix.TextEdits {
		// Positions in the output of cgo are not those in the file.
		from, to := fset.PositionFor(e.Pos, false), fset.PositionFor(e.End, false)
		if usesC(from.Filename) || isGenerated(from.Filename) || from.Filename != fset.Position(e.Pos).Filename {
			f.Edits = nil
			return f
		}
		f.Edits = append(f.Edits, Edit{from.Filename, from.Offset, to.Offset, string(e.NewText)})
	}
	return f
}

// usesC reports whether a file imports "C".
func usesC(file string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	return err != nil || slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` })
}

// isGenerated reports whether a file says that it is generated: the next run of its generator would
// undo a fix.
func isGenerated(file string) bool {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
	return err == nil && ast.IsGenerated(f)
}

// Interrupted returns the error after Ctrl-C or SIGTERM.
func Interrupted() error {
	return &message.Failure{Code: message.ExitInterrupted, What: "interrupted",
		Hint: "no file was changed; run it again, or with fewer packages to save time"}
}

// failure returns the error for packages that could not be loaded: the first line with the
// reason, and a hint.
func failure(ctx context.Context, said string) error {
	if with, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output(); err == nil {
		if with := strings.TrimSpace(string(with)); newer(with) {
			return message.Failed(tooOld(with), "go install github.com/snug-go/snug/cmd/snug@latest with that version of Go")
		}
	}
	said = firstLine(said)
	hint := "packages must compile; go vet with the same packages shows every error"
	for _, h := range hints {
		if strings.Contains(said, h.words) {
			hint = h.hint
			break
		}
	}
	return message.Failed("cannot vet: "+said, hint)
}

// noGo reports whether there is no go command.
func noGo() bool {
	_, err := exec.LookPath("go")
	return errors.Is(err, exec.ErrNotFound)
}

// hints are by text in the message of the go command.
var hints = []struct{ words, hint string }{
	{"GOCACHE is not defined", "set HOME, or GOCACHE to a writable directory"},
	{"module cache not found", "set HOME, or GOMODCACHE to a writable directory"},
	{"go.mod file not found", "run it in the directory of a module, below its go.mod"},
	{"does not contain main module", "run it in the directory of a module, below its go.mod"},
	{"modules listed in go.work", "name packages of its modules: snug vet ./MODULE/..., or work for all of them"},
	{"build constraints exclude",
		"--tags names the tags that it is built with; files for other systems need GOOS and GOARCH"},
	{"no packages to vet", "./... means all packages below this directory"},
}

// firstLine returns the first line that gives the reason.
func firstLine(said string) string {
	if _, stderr, ok := strings.Cut(said, ": stderr: "); ok && stderr != "" { // "err: exit status 1: stderr: go: ..."
		said = stderr
	}
	for _, head := range []string{"errors parsing go.mod:", "malformed go.sum:"} { // the reason is on the next line
		said = strings.ReplaceAll(said, head+"\n", head+" ")
	}
	said = strings.TrimPrefix(said, "-: ")
	for line := range strings.Lines(said) {
		line = strings.TrimSpace(strings.TrimPrefix(line, "go: "))
		if line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "downloading") &&
			!strings.HasPrefix(line, "warning: ") {
			return line
		}
	}
	return ""
}
