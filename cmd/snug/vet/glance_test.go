// SPDX-License-Identifier: Apache-2.0

package vet_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/snug-go/snug/cmd/snug/vet"
)

// glanced is a finding and where it is: "0:3", line 3 of the first file.
type glanced struct{ id, at string }

func glance(t *testing.T, module *analysis.Module, texts ...string) (all []glanced, enough bool) {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for i, text := range texts {
		f, err := parser.ParseFile(fset, strconv.Itoa(i), text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	found, enough := vet.Glance(analysis.Pass{
		Fset: fset, Files: files, TypesSizes: types.SizesFor("gc", runtime.GOARCH), Module: module,
		ReadFile: func(name string) ([]byte, error) {
			i, err := strconv.Atoi(name)
			return []byte(texts[i]), err
		},
	}, "example.com/m")
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body == nil {
				t.Errorf("%s has no body any more", fn.Name.Name)
			}
		}
	}
	for _, f := range found {
		at := fset.Position(f.Pos)
		all = append(all, glanced{f.Category, fmt.Sprint(at.Filename, ":", at.Line)})
	}
	return all, enough
}

// TestGlanceMisses: where a glance is enough it finds all that is to be found.
func TestGlanceMisses(t *testing.T) {
	packages := map[string][]string{}
	err := filepath.WalkDir("testdata/src", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			var text []byte
			text, err = os.ReadFile(path)
			packages[filepath.Dir(path)] = append(packages[filepath.Dir(path)], string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	enough := 0
	for dir, texts := range packages {
		bare := make([]string, len(texts))
		for i, text := range texts {
			bare[i] = wants.ReplaceAllString(text, "")
		}
		found, is := glance(t, nil, bare...)
		if !is {
			continue
		}
		enough++
		places := map[string]bool{}
		for _, f := range found {
			places[f.at] = true
		}
		for i, text := range texts {
			for n, line := range strings.Split(text, "\n") {
				if wants.MatchString(line) && !places[fmt.Sprint(i, ":", n+1)] {
					t.Errorf("%s: not found: %s", dir, line)
				}
			}
		}
	}
	if len(packages) < 15 || enough < 7 {
		t.Errorf("%d packages, a glance is enough for %d", len(packages), enough)
	}
}

func TestGlance(t *testing.T) {
	for _, c := range []struct {
		name, text string
		enough     bool
		finds      string
	}{
		{"nothing", "func a() { println(runtime.NumCPU(), other.Thing()) }", true, ""},
		{"read only", "func a() bool { return runtime.GOMAXPROCS(0) == 1 }", true, ""},
		{"a pool of another package", "func a() { other.NewPool(runtime.NumCPU()) }", false, ""},
		{"a field of another package", "func a(c *other.Config) { c.Workers = runtime.NumCPU() }", false, ""},
		{"a constant of another package", "func a() { runtime.GOMAXPROCS(other.Number) }", false, ""},
		{"a name of another package", "func a() { os.Setenv(other.Name, `x`) }", false, ""},
		{"a type of another package", "var c = make(other.Semaphore, runtime.NumCPU())", false, ""},
		{"a slice as long as another package says", "var b = make([]byte, other.Size)", false, ""},
		{"a slice that is used", "func a() { b := make([]byte, other.Size); println(b[0], runtime.NumCPU()) }", true, ""},
		{"a variable that matters elsewhere", "var cpus = runtime.NumCPU()\nfunc a() { for range cpus { go a() } }", false, ""},
		{"a variable that matters nowhere", "var cpus = runtime.NumCPU()\nfunc a() { for range 3 { go a() } }", true, ""},
		{"another who sets it", "func a() { other.Set() }\nfunc b() { runtime.GOMAXPROCS(0) }", true, ""},
		{"a pool", "func a() { c := make(chan other.Thing, runtime.NumCPU()); print(c) }", true, "pool-numcpu"},
		{"behind what is not known", "func a() { switch x := other.Thing().(type) { case int: print(x); c := make(chan int, runtime.NumCPU()); print(c) } }", true, "pool-numcpu"},
		{"in what is not known", "var a = other.Of[int]{Each: func() { c := make(chan int, runtime.NumCPU()); print(c) }}", true, "pool-numcpu"},
		{"an import that others use", "func a() { print(1); runtime.GOMAXPROCS(runtime.NumCPU()) }\nfunc b() { runtime.GC() }", false, ""},
		{"a request of another package", "func a(r *other.Context) { var m runtime.MemStats; runtime.ReadMemStats(&m) }", false, ""},
		{"a loop over what is not known", "func a() { var m runtime.MemStats; for range other.Things() { runtime.ReadMemStats(&m) } }", false, ""},
	} {
		found, enough := glance(t, nil, "package a\nimport (\"os\"; \"runtime\"; \"example.com/other\")\nvar _ = os.Args\n"+c.text)
		var ids []string
		for _, f := range found {
			ids = append(ids, f.id)
		}
		if got := strings.Join(ids, " "); enough != c.enough || got != c.finds {
			t.Errorf("%s: %v, %q; want %v, %q", c.name, enough, got, c.enough, c.finds)
		}
	}
}
