// SPDX-License-Identifier: Apache-2.0

package bounded

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// openers are the functions that open or read what may be hostile.
var openers = []string{
	"os.Open", "os.OpenFile", "os.ReadFile", "os.OpenRoot", "os.OpenInRoot", "os.DirFS", "os.Stdin", "unix.Open", "unix.Openat", "unix.Openat2",
	"syscall.Open", "io.ReadAll", "gzip.NewReader", "zlib.NewReader", "flate.NewReader", "http.Get", "http.Post", "ioutil.ReadFile", "ioutil.ReadAll",
}

// others are the folders and files that use one of them, and why they need not this package.
var others = map[string]string{
	"internal/source/bounded/":  "it is this package",
	"internal/process/":         "reads /proc, and executables in place, with a budget of its own",
	"internal/prove/cgrun/":     "reads cgroupfs, /proc and its own state; of a CMD that could not start, a regular file, 256 bytes",
	"internal/prove/gotest/":    "reads what it wrote itself into its own directory",
	"internal/source/outfile/":  "opens for writing; looks at 64 bytes of a regular file that it would replace",
	"internal/cluster/agent/":   "reads /proc, cgroupfs and the names in a directory",
	"internal/profile/cpuprof/": "reads /proc; unpacks what it has read, with a bound of its own",

	"vet/gomod.go":                         "other linters import package vet: a regular file, 1 MiB",
	"main.go":                              "passes stdin on",
	"snug-run/main.go":                     "passes stdin on",
	"internal/source/govet/fix.go":         "opens for writing, to learn whether it may",
	"internal/prove/load/child.go":         "stdin is a pipe from snug",
	"internal/prove/workload/self.go":      "stdin is a pipe from snug",
	"internal/prove/workload/http.go":      "stdin is a pipe from snug",
	"internal/prove/runner/noise.go":       "reads files of /proc",
	"internal/cli/fit/target.go":           "a saved file system by os.Root; package limits bounds each file",
	"internal/cli/look/top_linux.go":       "passes the terminal on",
	"internal/diagnose/collect/collect.go": "reads the kernel's files",
	"internal/diagnose/examine/ended.go":   "reads cgroupfs",
	"internal/diagnose/examine/size.go":    "reads cgroupfs",
	"internal/diagnose/examine/names.go":   "reads /proc and cgroupfs",
	"internal/diagnose/examine/input.go":   "passes stdin to this package",
}

// TestOnly: no command opens a user's file, and no client reads an answer, but by this package.
func TestOnly(t *testing.T) {
	used := map[string]bool{}
	root := filepath.Join("..", "..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || name == "internal/process/oldgo" || name == "internal/process/goprogram"):
			return fs.SkipDir
		case !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"), name == "internal/process/gobin/gen.go":
			return nil
		}
		why := name
		if _, ok := others[name]; !ok {
			why = name[:strings.LastIndex(name, "/")+1]
			for others[why] == "" && strings.Contains(strings.TrimSuffix(why, "/"), "/") {
				why = why[:strings.LastIndex(strings.TrimSuffix(why, "/"), "/")+1]
			}
		}
		for _, at := range opens(t, path) {
			if used[why] = true; others[why] == "" {
				t.Errorf("%s: open it by package bounded", at)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range others {
		if !used[name] {
			t.Errorf("%s opens nothing: remove it from the list", name)
		}
	}
}

// opens returns where a file uses openers, other than with a name that begins as one of the kernel's.
func opens(t *testing.T, path string) (at []string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	fine := map[ast.Node]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			fine[n.Fun] = len(n.Args) > 0 && ofKernel(n.Args[0])
		case *ast.SelectorExpr:
			if p, ok := n.X.(*ast.Ident); ok && !fine[n] && slices.Contains(openers, p.Name+"."+n.Sel.Name) {
				at = append(at, fset.Position(n.Pos()).String()+": "+p.Name+"."+n.Sel.Name)
			}
		}
		return true
	})
	return at
}

// ofKernel reports whether a name begins with a directory of the kernel's.
func ofKernel(x ast.Expr) bool {
	switch x := x.(type) {
	case *ast.BinaryExpr:
		return ofKernel(x.X)
	case *ast.BasicLit:
		text, _ := strconv.Unquote(x.Value)
		return strings.HasPrefix(text, "/proc/") || strings.HasPrefix(text, "/sys/") || strings.HasPrefix(text, "/dev/")
	case *ast.SelectorExpr:
		return x.Sel.Name == "DevNull"
	}
	return false
}
