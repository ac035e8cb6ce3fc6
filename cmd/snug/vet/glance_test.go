// SPDX-License-Identifier: Apache-2.0

package vet_test

import (
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

func glance(t *testing.T, module *analysis.Module, texts ...string) ([]vet.Found, bool) {
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
	return found, enough
}

// TestGlanceMisses: no package in which something is to be found passes for one in which
// there is nothing, when the types of what it imports are not known.
func TestGlanceMisses(t *testing.T) {
	packages := map[string][]string{}
	err := filepath.WalkDir("testdata", func(path string, _ fs.DirEntry, err error) error {
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
	module := &analysis.Module{Path: "example.com/other", GoVersion: "1.25"}
	enough := 0
	for dir, texts := range packages {
		all := strings.Join(texts, "")
		for i, text := range texts {
			texts[i] = wants.ReplaceAllString(text, "")
		}
		found, is := glance(t, module, texts...)
		if is {
			enough++
		}
		if is && strings.Contains(all, "// want") && !strings.Contains(all, "go-line") && !strings.Contains(dir, "modules") {
			t.Errorf("%s: enough, with %v", dir, found)
		}
	}
	if len(packages) < 20 || enough < 4 {
		t.Errorf("%d packages, a glance is enough for %d", len(packages), enough)
	}
}

func TestGlance(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       bool // enough
	}{
		{"nothing", "func a() { println(runtime.NumCPU(), other.Thing()) }", true},
		{"read only", "func a() bool { return runtime.GOMAXPROCS(0) == 1 }", true},
		{"a pool of another package", "func a() { other.NewPool(runtime.NumCPU()) }", false},
		{"a field of another package", "func a(c *other.Config) { c.Workers = runtime.NumCPU() }", false},
		{"a constant of another package", "func a() { runtime.GOMAXPROCS(other.Number) }", false},
		{"a name of another package", "func a() { os.Setenv(other.Name, `x`) }", false},
		{"a type of another package", "var c = make(other.Semaphore, runtime.NumCPU())", false},
		{"a slice as long as another package says", "var b = make([]byte, other.Size)", false},
		{"a slice that is used", "func a() { b := make([]byte, other.Size); println(b[0], runtime.NumCPU()) }", true},
		{"a variable that matters elsewhere", "var cpus = runtime.NumCPU()\nfunc a() { for range cpus { go a() } }", false},
		{"a variable that matters nowhere", "var cpus = runtime.NumCPU()\nfunc a() { for range 3 { go a() } }", true},
		{"another who sets it", "func a() { other.Set() }\nfunc b() { runtime.GOMAXPROCS(0) }", true},
		{"behind what is not known", "func a() { switch x := other.Thing().(type) { case int: print(x); c := make(chan int, runtime.NumCPU()); print(c) } }", false},
		{"in what is not known", "var a = other.Of[int]{Each: func() { c := make(chan int, runtime.NumCPU()); print(c) }}", false},
		{"a request of another package", "func a(r *other.Context) { var m runtime.MemStats; runtime.ReadMemStats(&m) }", false},
		{"a loop over what is not known", "func a() { var m runtime.MemStats; for range other.Things() { runtime.ReadMemStats(&m) } }", false},
	} {
		found, enough := glance(t, nil, "package a\nimport (\"os\"; \"runtime\"; \"example.com/other\")\nvar _ = os.Args\n"+c.text)
		if enough != c.want {
			t.Errorf("%s: %v, %v", c.name, enough, found)
		}
	}
}
