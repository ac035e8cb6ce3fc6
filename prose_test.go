// SPDX-License-Identifier: Apache-2.0

package snug_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

// prose are the fields that hold sentences for people, and functions that look into one.
var prose, looks = map[string]bool{"Why": true, "Text": true}, map[string]bool{"Contains": true, "HasPrefix": true, "HasSuffix": true, "Cut": true, "CutPrefix": true, "CutSuffix": true, "Index": true}

// others are where texts of errors are looked into, and why.
var others = map[string]string{
	"cmd/snug/internal/cli/source/vet.go":         "the first line of the go command's error",
	"cmd/snug/internal/source/govet/govet.go":     "the go command's error has no code",
	"cmd/snug/internal/diagnose/examine/input.go": "an error names its subject once; the address in an error of an HTTP client",
	"cmd/snug/internal/diagnose/examine/trace.go": "an error names its subject once",
	"cmd/snug/internal/prove/lab/size.go":         "an error names its subject once",
}

// TestNoProse: no package but report, which words reasons, compares a sentence or an error's text with a constant. Text of
// manifests and source, which others wrote, is data.
func TestNoProse(t *testing.T) {
	sentence := func(e ast.Expr) bool {
		if c, ok := e.(*ast.CallExpr); ok {
			s, ok := c.Fun.(*ast.SelectorExpr)
			return ok && s.Sel.Name == "Error" && len(c.Args) == 0
		}
		s, ok := e.(*ast.SelectorExpr)
		return ok && prose[s.Sel.Name]
	}
	constant := func(e ast.Expr) bool {
		if lit, ok := e.(*ast.BasicLit); ok {
			return lit.Value != `""`
		}
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			id, ok := e.(*ast.Ident)
			return ok && id.Obj != nil && id.Obj.Kind == ast.Con
		}
		x, ok := s.X.(*ast.Ident)
		return ok && x.Obj == nil // of a package
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && slices.Contains([]string{"e2e", "experiments", "testdata", "report", "manifest", "lint", "vet"}, d.Name()):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			found := false
			switch n := n.(type) {
			case *ast.BinaryExpr:
				found = (n.Op == token.EQL || n.Op == token.NEQ) && (sentence(n.X) && constant(n.Y) || sentence(n.Y) && constant(n.X))
			case *ast.CallExpr:
				if s, ok := n.Fun.(*ast.SelectorExpr); ok && len(n.Args) == 2 && looks[s.Sel.Name] {
					x, ok := s.X.(*ast.Ident)
					found = ok && x.Name == "strings" && sentence(n.Args[0])
				}
			}
			if found && others[name] == "" {
				t.Errorf("%s compares a sentence; give it a code", set.Position(n.Pos()))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
