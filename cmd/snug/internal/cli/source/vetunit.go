// SPDX-License-Identifier: Apache-2.0

package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/token"
	"go/types"
	"go/version"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/vet"
)

// VetTool answers the go command when it runs snug as a vet tool: with -V=full, with
// -flags, and with the description of one package, a file whose name ends in .cfg. It
// returns when the arguments are none of these, and does not return otherwise.
func VetTool(args []string, stderr io.Writer) {
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
			return message.ExitFailed, true
		}
	}
	if u.VetxOnly {
		return message.ExitFine, true
	}
	if with := os.Getenv("GOVERSION"); newerGo(with) {
		fmt.Fprintln(stderr, "snug: error: "+builtWith(with))
		return message.ExitFailed, true
	}
	fset := token.NewFileSet()
	found, err := u.analyze(fset)
	if err != nil {
		if u.SucceedOnTypecheckFailure {
			return message.ExitFine, true
		}
		fmt.Fprintln(stderr, err)
		return message.ExitFailed, true
	}
	if asJSON {
		return u.writeJSON(fset, found), true
	}
	for _, d := range found {
		fmt.Fprintf(stderr, "%s: %s\n", fset.Position(d.Pos), d.Message)
		code = message.ExitFailed
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
	return found > 0 || !u.VetxOnly || newerGo(os.Getenv("GOVERSION"))
}

// newerGo tells whether a release of Go, such as go1.27.1, is newer than the one that snug
// was built with, patches aside.
func newerGo(with string) bool {
	return version.Compare(version.Lang(with), version.Lang(runtime.Version())) > 0
}

// builtWith says why packages of a newer Go cannot be read: the form in which its
// compiler writes types is one that the older standard library does not know.
func builtWith(with string) string {
	return "built with " + runtime.Version() + ", which cannot read packages of " + with + "; build snug with " + with
}

func (u *vetPackage) analyze(fset *token.FileSet) ([]vet.Found, error) {
	p := &vetSource{
		path: u.ImportPath, names: u.GoFiles, others: u.NonGoFiles, ignored: u.IgnoredFiles, goVersion: u.GoVersion, module: u.Module,
	}
	if p.module == nil && u.ModulePath != "" {
		p.module = &analysis.Module{Path: u.ModulePath, Version: u.ModuleVersion, GoVersion: u.GoVersion}
	}
	if found, enough, err := p.glance(fset); enough || err != nil {
		return found, err
	}
	gc := compiledTypes(fset, func(path string) (io.ReadCloser, error) {
		file := u.PackageFile[path]
		if file == "" {
			return nil, errors.New("no types of " + path)
		}
		return os.Open(file)
	})
	return p.examine(fset, importerFunc(func(path string) (*types.Package, error) {
		if to := u.ImportMap[path]; to != "" {
			path = to
		}
		return gc.Import(path)
	}))
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

// diagnostic is a finding in that form.
func diagnostic(fset *token.FileSet, d vet.Found) vetDiagnostic {
	g := vetDiagnostic{Category: d.Category, Posn: fset.Position(d.Pos).String(), End: fset.Position(d.End).String(), Message: d.Message}
	for _, f := range d.SuggestedFixes {
		g.Fixes = append(g.Fixes, vetEdits{f.Message, editsOf(fset, f)})
	}
	return g
}

func editsOf(fset *token.FileSet, f analysis.SuggestedFix) []vetEdit {
	var edits []vetEdit
	for _, e := range f.TextEdits {
		at := fset.File(e.Pos)
		end := e.End
		if !end.IsValid() {
			end = e.Pos
		}
		edits = append(edits, vetEdit{at.Name(), at.Offset(e.Pos), at.Offset(end), string(e.NewText)})
	}
	return edits
}

func (u *vetPackage) writeJSON(fset *token.FileSet, found []vet.Found) int {
	tree := map[string]map[string][]vetDiagnostic{}
	for _, d := range found {
		if tree[u.ID] == nil {
			tree[u.ID] = map[string][]vetDiagnostic{}
		}
		tree[u.ID][d.By] = append(tree[u.ID][d.By], diagnostic(fset, d))
	}
	text, err := json.MarshalIndent(tree, "", "\t")
	if err != nil {
		return message.ExitFailed
	}
	text = append(text, '\n')
	if u.Stdout != "" {
		err = os.WriteFile(u.Stdout, text, 0o666)
	} else {
		_, err = os.Stdout.Write(text)
	}
	if err != nil {
		return message.ExitFailed
	}
	return message.ExitFine
}
