// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/types"
	"slices"
)

// addValues adds the calls of functions that are values, such as f(8) after f := runtime.GOMAXPROCS.
// It follows a value only into variables and parameters that hold nothing else: a field, a variable
// that is set twice, and one that another package can set may hold any function.
func (s *source) addValues(values []site) {
	s.held, s.lost = map[types.Object]string{}, map[string]bool{}
	for len(values) > 0 {
		at, name := values[0], s.imported(values[0].node)
		values = values[1:]
		v := s.onlyHolder(at, name)
		if v == nil {
			s.lost[name] = true
			continue
		}
		if _, known := s.held[v]; known {
			continue
		}
		s.held[v] = name
		for _, u := range s.uses(v) {
			if called(u) {
				s.calls[name] = append(s.calls[name], u.up())
			} else {
				values = append(values, u)
			}
		}
	}
}

// imported returns the imported function that an expression names, or that a variable holds, or "".
func (s *source) imported(n ast.Node) string {
	e, _ := n.(ast.Expr)
	switch o := s.object(e).(type) {
	case *types.Func:
		if o.Pkg() != nil && o.Pkg() != s.pass.Pkg && o.Signature().Recv() == nil {
			return o.Pkg().Path() + "." + o.Name()
		}
	case *types.Var:
		return s.held[o]
	}
	return ""
}

// onlyHolder returns the variable or parameter that gets a function at a site and never holds another,
// or nil.
func (s *source) onlyHolder(at site, name string) *types.Var {
	into := s.target(at)
	call := argument(at)
	if call != nil {
		into = s.parameter(call, at.node)
	}
	v, ok := into.(*types.Var)
	if !ok || v.IsField() || v.Pkg() != s.pass.Pkg {
		return nil
	}
	if v.Parent() == v.Pkg().Scope() && v.Exported() && v.Pkg().Name() != "main" {
		return nil
	}
	sets := 1
	if call != nil {
		if !s.alwaysGets(call, at.node, name) {
			return nil
		}
		sets = 0
	}
	if s.sets(v) != sets {
		return nil
	}
	return v
}

// alwaysGets reports whether every call of the function that a call names passes the same function in
// the place of an argument. Other packages can call an exported function, and interfaces a method.
func (s *source) alwaysGets(call *ast.CallExpr, arg ast.Node, name string) bool {
	if _, ok := ast.Unparen(call.Fun).(*ast.FuncLit); ok {
		return true
	}
	fn, ok := s.object(instantiated(ast.Unparen(call.Fun))).(*types.Func)
	if !ok || fn.Signature().Recv() != nil || fn.Exported() && fn.Pkg().Name() != "main" {
		return false
	}
	i := slices.IndexFunc(call.Args, func(e ast.Expr) bool { return e == arg })
	for _, u := range s.uses(fn.Origin()) {
		for isInstance(u) {
			u = u.up()
		}
		other, ok := u.parent(0).(*ast.CallExpr)
		if !ok || other.Fun != u.node || i >= len(other.Args) || s.imported(other.Args[i]) != name {
			return false
		}
	}
	return true
}

// isInstance reports whether a site is the function of an expression such as f[int].
func isInstance(at site) bool {
	p, ok := at.parent(0).(ast.Expr)
	return ok && p != instantiated(p) && instantiated(p) == at.node
}

// sets returns how often the package's source sets a variable: in its declaration, by an assignment, or
// in a place where a pointer to it is taken. A test that replaces a variable of the program does not
// count.
func (s *source) sets(v *types.Var) int {
	n := 0
	for _, f := range s.files {
		if isTest(s.pass, f) && (v.Pos() < f.FileStart || v.Pos() > f.FileEnd) {
			continue
		}
		walk(f, func(at site) {
			id, ok := at.node.(*ast.Ident)
			if !ok || s.pass.TypesInfo.ObjectOf(id) != v {
				return
			}
			for _, in := at.parent(0).(*ast.ParenExpr); in; _, in = at.parent(0).(*ast.ParenExpr) {
				at = at.up()
			}
			switch p := at.parent(0).(type) {
			case *ast.AssignStmt:
				if slices.ContainsFunc(p.Lhs, func(l ast.Expr) bool { return l == at.node }) {
					n++
				}
			case *ast.ValueSpec:
				if slices.Contains(p.Names, id) && len(p.Values) > 0 {
					n++
				}
			case *ast.RangeStmt:
				if p.Key == at.node || p.Value == at.node {
					n++
				}
			case *ast.UnaryExpr: // &v: set elsewhere, any number of times
				n += 2
			}
		})
	}
	return n
}
