// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/constant"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

// sourceAnalyzer walks a package once for all others; testAnalyzer also walks its test files.
var sourceAnalyzer, testAnalyzer = collector(false), collector(true)

func collector(tests bool) *analysis.Analyzer {
	return &analysis.Analyzer{
		Name:       "snugsource",
		Doc:        "collect the calls that the other analyzers judge",
		Run:        func(pass *analysis.Pass) (any, error) { return collect(pass, tests) },
		ResultType: reflect.TypeFor[*source](),
	}
}

// source is the result of one walk over the files of a package.
type source struct {
	pass    *analysis.Pass
	files   []*ast.File
	calls   map[string][]site // by path and name of the function, such as "runtime.NumCPU"
	knobs   []site            // literals that begin with the name of a knob, such as GOMEMLIMIT
	ignores map[string][]ignore
	held    map[types.Object]string // functions, as in calls, by the variables that hold only them
	lost    map[string]bool         // functions that are values elsewhere: who calls them is unknown
}

// site is a node and the nodes that enclose it, the file first.
type site struct {
	node ast.Node
	path []ast.Node
}

func (s site) call() *ast.CallExpr { return s.node.(*ast.CallExpr) }
func (s site) file() *ast.File     { return s.path[0].(*ast.File) }

// parent returns the node's i-th enclosing node, 0 for the nearest, or nil.
func (s site) parent(i int) ast.Node {
	if i >= len(s.path) {
		return nil
	}
	return s.path[len(s.path)-1-i]
}

// up returns the site of the parent.
func (s site) up() site { return site{s.path[len(s.path)-1], s.path[:len(s.path)-1]} }

// inLiteral reports whether a site is in a function literal.
func (s site) inLiteral() bool {
	return slices.ContainsFunc(s.path, func(n ast.Node) bool { _, ok := n.(*ast.FuncLit); return ok })
}

// keep returns a copy of the site that stays valid when the walk continues.
func (s site) keep() site { return site{s.node, slices.Clone(s.path)} }

// walk visits every node of a file with its enclosing nodes. The site is valid until
// visit returns.
func walk(f *ast.File, visit func(site)) {
	var path []ast.Node
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			path = path[:len(path)-1]
			return true
		}
		visit(site{n, path})
		path = append(path, n)
		return true
	})
}

// function returns the function declaration around a site; nil at package level.
func (s site) function() *ast.FuncDecl {
	for _, n := range s.path {
		if f, ok := n.(*ast.FuncDecl); ok {
			return f
		}
	}
	return nil
}

// watched are the packages whose calls are collected. A file that imports none of them
// has only literals collected.
var watched = map[string]bool{
	"runtime": true, "runtime/debug": true, "os": true,
	"go.uber.org/automaxprocs/maxprocs": true, memlimitPath: true, memlimitPath + "/memlimit": true,
	snugPath: true, snugPath + "/adapt": true,
}

const (
	snugPath     = "github.com/snug-go/snug"
	memlimitPath = "github.com/KimMachineGun/automemlimit"
)

func collect(pass *analysis.Pass, tests bool) (*source, error) {
	s := &source{pass: pass, calls: map[string][]site{}, ignores: map[string][]ignore{}}
	var values []site // functions of watched packages that are not called
	for _, f := range pass.Files {
		if !tests && isTest(pass, f) {
			continue
		}
		s.files = append(s.files, f)
		s.readIgnores(f)
		watches := slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return watched[importPath(i)] })
		walk(f, func(at site) {
			switch n := at.node.(type) {
			case *ast.CallExpr:
				if watches {
					if name := s.callee(n); name != "" {
						s.calls[name] = append(s.calls[name], at.keep())
					}
				}
			case *ast.Ident:
				if fn, ok := pass.TypesInfo.Uses[n].(*types.Func); ok && watches && fn.Pkg() != nil && watched[fn.Pkg().Path()] {
					if at = whole(at); !called(at) {
						values = append(values, at.keep())
					}
				}
			case *ast.BasicLit:
				if len(n.Value) > 4 && n.Value[1:3] == "GO" && knobName(n.Value[1:]) != "" {
					s.knobs = append(s.knobs, at.keep())
				}
			}
		})
	}
	s.addValues(values)
	return s, nil
}

func isTest(pass *analysis.Pass, f *ast.File) bool {
	return strings.HasSuffix(pass.Fset.File(f.FileStart).Name(), "_test.go")
}

// sourceOf returns the result of the walk, for a pass that reports under its own name.
func sourceOf(pass *analysis.Pass) *source {
	for _, by := range []*analysis.Analyzer{sourceAnalyzer, testAnalyzer} {
		if walked, ok := pass.ResultOf[by].(*source); ok {
			s := *walked
			s.pass = pass
			return &s
		}
	}
	panic("no source: the analyzer does not require it")
}

// callee returns the called function of an imported package, such as
// "runtime/debug.SetGCPercent", or "".
func (s *source) callee(call *ast.CallExpr) string {
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok { // imported with a dot, or a variable
		return s.imported(id)
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	id, ok := sel.X.(*ast.Ident)
	if !ok {
		return ""
	}
	p, ok := s.pass.TypesInfo.Uses[id].(*types.PkgName)
	if !ok {
		return ""
	}
	return p.Imported().Path() + "." + sel.Sel.Name
}

// isDotted reports whether a function is called without its package's name. There are no fixes then:
// they would need another name, or leave the import or the variable, and unused ones do not compile.
func (s *source) isDotted(call *ast.CallExpr) bool {
	_, ok := ast.Unparen(call.Fun).(*ast.Ident)
	return ok
}

// value returns the value of a constant expression, or nil.
func (s *source) value(e ast.Expr) constant.Value {
	return s.pass.TypesInfo.Types[e].Value
}

// number returns the value of a constant whole number.
func (s *source) number(e ast.Expr) (int64, bool) {
	v := s.value(e)
	if v == nil {
		return 0, false
	}
	if v = constant.ToInt(v); v.Kind() != constant.Int {
		return 0, false
	}
	return constant.Int64Val(v)
}

// text returns the value of a constant string.
func (s *source) text(e ast.Expr) (string, bool) {
	v := s.value(e)
	if v == nil || v.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(v), true
}

// imports reports whether the package imports one of these paths, or a package below one.
func (s *source) imports(paths ...string) bool {
	for _, f := range s.files {
		for _, i := range f.Imports {
			for _, p := range paths {
				if at := importPath(i); at == p || strings.HasPrefix(at, p+"/") {
					return true
				}
			}
		}
	}
	return false
}

func importPath(i *ast.ImportSpec) string { return strings.Trim(i.Path.Value, "\"`") }

// reads reports whether a call of runtime.GOMAXPROCS only reads it.
func (s *source) reads(call *ast.CallExpr) bool {
	if len(call.Args) != 1 {
		return false
	}
	n, ok := s.number(call.Args[0])
	return ok && n <= 0
}

// object returns the variable that an expression names: an identifier, or a field or
// package variable after a dot; or nil.
func (s *source) object(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return s.pass.TypesInfo.ObjectOf(e)
	case *ast.SelectorExpr:
		return s.pass.TypesInfo.ObjectOf(e.Sel)
	}
	return nil
}

// uses returns the places that name a variable, field or function other than to set it, in the files
// of the package. The place of a field is the selector: x.f.
func (s *source) uses(o types.Object) []site {
	var found []site
	for _, f := range s.files {
		walk(f, func(at site) {
			id, ok := at.node.(*ast.Ident)
			if !ok {
				return
			}
			if u := s.pass.TypesInfo.Uses[id]; u == nil || origin(u) != o {
				return
			}
			if at = whole(at); !s.assigned(at) {
				found = append(found, at.keep())
			}
		})
	}
	return found
}

// whole returns the site of the selector x.f for that of its name f, and others as they are.
func whole(at site) site {
	if sel, ok := at.parent(0).(*ast.SelectorExpr); ok && sel.Sel == at.node {
		return at.up()
	}
	return at
}

// called reports whether a site is the function of a call.
func called(at site) bool {
	call, ok := at.parent(0).(*ast.CallExpr)
	return ok && call.Fun == at.node
}

// origin returns the variable or function of a generic declaration that an object is an instance of.
func origin(o types.Object) types.Object {
	switch o := o.(type) {
	case *types.Var:
		return o.Origin()
	case *types.Func:
		return o.Origin()
	}
	return o
}

// assigned reports whether an expression is on the left of an assignment, or the key of a field.
func (s *source) assigned(at site) bool {
	switch p := at.parent(0).(type) {
	case *ast.AssignStmt:
		return slices.ContainsFunc(p.Lhs, func(l ast.Expr) bool { return l == at.node })
	case *ast.KeyValueExpr:
		id, ok := at.node.(*ast.Ident)
		if !ok || p.Key != id {
			return false
		}
		v, ok := s.object(id).(*types.Var)
		return ok && v.IsField()
	}
	return false
}

// function returns the declaration of a function of this package, with a body; nil for others.
func (s *source) function(fn *types.Func) *ast.FuncDecl {
	for _, f := range s.files {
		for _, d := range f.Decls {
			if fd, ok := d.(*ast.FuncDecl); ok && fd.Body != nil && s.pass.TypesInfo.Defs[fd.Name] == fn {
				return fd
			}
		}
	}
	return nil
}
