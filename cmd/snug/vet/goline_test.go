// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"
)

// TestGoLine: a program's go.mod, its go.work and its directives decide together. The
// findings are in other files than Go's, which analysistest does not support.
func TestGoLine(t *testing.T) {
	const plain, procs = "package main\n\nfunc main() {}\n", "package main\n\nimport \"runtime\"\n\nfunc main() { runtime.GOMAXPROCS(2) }\n"
	const machine = "package main\n\nimport \"runtime\"\n\nfunc main() { runtime.GOMAXPROCS(runtime.NumCPU()) }\n"
	for _, c := range []struct{ name, dir, mod, work, source, want string }{
		{"old", ".", "module m\n\ngo 1.24.3\n", "", plain, "go.mod:3: go 1.24.3 builds containermaxprocs=0,updatemaxprocs=0"},
		{"new", ".", "module m\n\ngo 1.25\n", "", plain, ""},
		{"no go line", ".", "module m\n", "", plain, ""},
		{"a library", ".", "module m\n\ngo 1.20\n", "", "package m\n", ""},
		{"an example", "examples/a", "module m\n\ngo 1.20\n", "", plain, ""},
		{"a program below", "cmd/a", "module m\n\ngo 1.20\n", "", plain, "go.mod:3: "},
		{"sets it itself", ".", "module m\n\ngo 1.20\n", "", procs, ""},
		{"sets what it would be", ".", "module m\n\ngo 1.20\n", "", machine, "go.mod:3: "},
		{"decided in go.mod", ".", "module m\n\ngo 1.20\n\ngodebug containermaxprocs=1\n", "", plain, ""},
		{"decided in a block", ".", "module m\n\ngo 1.20\n\ngodebug (\n\tcontainermaxprocs=1\n\tupdatemaxprocs=1\n)\n", "", plain, ""},
		{"decided in source", ".", "module m\n\ngo 1.20\n", "", "//go:debug containermaxprocs=0\n" + plain, ""},
		{"defaults of another version", ".", "module m\n\ngo 1.26\n\ngodebug default=go1.23\n", "", plain, "go.mod:3: godebug default=go1.23 builds"},
		{"defaults of a new version", ".", "module m\n\ngo 1.21\n\ngodebug default=go1.25\n", "", plain, ""},
		{"go.work decides", ".", "module m\n\ngo 1.20\n", "go 1.26\n\nuse .\n", plain, ""},
		{"an old go.work", ".", "module m\n\ngo 1.20\n", "go 1.24\n\nuse (\n\t./x\n\t.\n)\n", plain, "go.work:1: go 1.24 builds"},
		{"not of that go.work", ".", "module m\n\ngo 1.20\n", "go 1.26\n\nuse ./x\n", plain, "go.mod:3: "},
		{"silenced", ".", "module m\n\n//snug:ignore go-line-old it runs on machines\ngo 1.20\n", "", plain, ""},
		{"silenced without a reason", ".", "module m\n\ngo 1.20 //snug:ignore go-line-old\n", "", plain, "go.mod:3: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("GOWORK", "")
			root := t.TempDir()
			write := func(name, text string) string {
				path := filepath.Join(root, name)
				if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
					t.Fatal(err)
				}
				return path
			}
			write("go.mod", c.mod)
			if c.work != "" {
				write("go.work", c.work)
			}
			if got := goLineSays(t, write(filepath.Join(c.dir, "a.go"), c.source)); c.want == "" && got != "" || !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// goLineSays runs the analyzer on a package of one file and returns the finding, with
// the base name of its file.
func goLineSays(t *testing.T, path string) string {
	t.Helper()
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: importer.ForCompiler(fset, "source", nil)}
	pkg, err := conf.Check("m", fset, []*ast.File{f}, info)
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	pass := &analysis.Pass{Fset: fset, Files: []*ast.File{f}, Pkg: pkg, TypesInfo: info, ReadFile: os.ReadFile, ResultOf: map[*analysis.Analyzer]any{}}
	pass.Report = func(d analysis.Diagnostic) {
		at := fset.Position(d.Pos)
		at.Filename, at.Column = filepath.Base(at.Filename), 0
		said += at.String() + ": " + d.Message
	}
	s, err := collect(pass, false)
	if err != nil {
		t.Fatal(err)
	}
	pass.ResultOf[sourceAnalyzer] = s
	if _, err := goLine(pass); err != nil {
		t.Fatal(err)
	}
	return said
}

// FuzzModFile: the go line is a line of the file.
func FuzzModFile(f *testing.F) {
	f.Add("module m\n\ngo 1.24 // c\n\nrequire (\n\ta v1.0.0\n\tb v1 // indirect\n)\ngodebug x=y\n")
	f.Add("go 1\nuse (\n./a\n)\n)(\n")
	f.Fuzz(func(t *testing.T, text string) {
		if m := parseModFile(text); m.goLine > strings.Count(text, "\n")+1 || (m.goLine == 0) != (m.version == "") {
			t.Errorf("line %d, version %q", m.goLine, m.version)
		}
	})
}
