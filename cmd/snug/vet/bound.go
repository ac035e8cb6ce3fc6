// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
)

// maxFew is the largest bound on a number of goroutines that is few in any container: more of them
// use up a quota of one CPU early in each period.
const maxFew = 32

// chosen matches names of bounds that are chosen elsewhere, such as a configured limit.
var chosen = regexp.MustCompile(`(?i)(max|limit|cap$)`)

// few reports whether an expression bounds a number of goroutines to a few: by a small constant, or by
// a limit that is chosen elsewhere.
func (s *source) few(e ast.Expr) bool {
	if s.value(e) != nil {
		n, ok := s.number(e)
		return ok && n > 0 && n <= maxFew
	}
	e = ast.Unparen(e)
	if call, ok := e.(*ast.CallExpr); ok && len(call.Args) == 1 && s.pass.TypesInfo.Types[call.Fun].IsType() {
		return s.few(call.Args[0])
	}
	o := s.object(e)
	return o != nil && chosen.MatchString(o.Name())
}

// bounded reports whether the package bounds a variable to a few:
//
//	if n > 8 { n = 8 }        switch { case n > 8: n = 8 }
//	n = min(n, 8)             if n > 8 { return 8 }
func (s *source) bounded(o types.Object) bool {
	is := func(e ast.Expr) bool { return s.names(e, o) }
	found := false
	for _, f := range s.files {
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				found = found || s.exceeds(n.Cond, is) && s.reduces(n.Body.List, is)
			case *ast.CaseClause:
				for _, e := range n.List {
					found = found || s.exceeds(e, is) && s.reduces(n.Body, is)
				}
			case *ast.AssignStmt:
				for i, r := range n.Rhs {
					found = found || len(n.Lhs) == len(n.Rhs) && is(n.Lhs[i]) && s.least(r, is)
				}
			}
			return !found
		})
	}
	return found
}

// guarded reports whether a condition around a place, or before it in the same function, bounds the
// number there. The number is what held names; nil = a call of runtime.NumCPU.
func (s *source) guarded(at site, held types.Object) bool {
	is := func(e ast.Expr) bool {
		if held != nil {
			return s.names(e, held)
		}
		call, ok := ast.Unparen(e).(*ast.CallExpr)
		return ok && s.callee(call) == "runtime.NumCPU"
	}
	in := func(n ast.Node) bool { return n != nil && within(at.node, n) }
	f := at.function()
	if f == nil || f.Body == nil {
		return false
	}
	found := false
	ast.Inspect(f.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			switch {
			case in(n.Body):
				found = found || s.below(n.Cond, is)
			case n.Else != nil && in(n.Else):
				found = found || s.exceeds(n.Cond, is)
			default: // before it: the branch takes a few instead
				found = found || n.End() <= at.node.Pos() && s.exceeds(n.Cond, is) && s.returns(n.Body.List)
			}
		case *ast.CaseClause:
			for _, e := range n.List {
				switch {
				case in(n):
					found = found || s.below(e, is)
				default:
					found = found || n.End() <= at.node.Pos() && s.exceeds(e, is) && s.returns(n.Body)
				}
			}
		}
		return !found
	})
	return found
}

// names reports whether an expression names a variable or field.
func (s *source) names(e ast.Expr, o types.Object) bool {
	if star, ok := ast.Unparen(e).(*ast.StarExpr); ok {
		e = star.X // of a flag
	}
	named := s.object(e)
	return named != nil && origin(named) == o
}

// exceeds reports whether a condition says that a number is more than a few; below, that it is less.
func (s *source) exceeds(cond ast.Expr, is func(ast.Expr) bool) bool {
	return s.compares(cond, is, token.GTR, token.GEQ)
}

func (s *source) below(cond ast.Expr, is func(ast.Expr) bool) bool {
	return s.compares(cond, is, token.LSS, token.LEQ)
}

// turned has the comparisons with their sides changed.
var turned = map[token.Token]token.Token{token.GTR: token.LSS, token.GEQ: token.LEQ, token.LSS: token.GTR,
	token.LEQ: token.GEQ}

func (s *source) compares(cond ast.Expr, is func(ast.Expr) bool, ops ...token.Token) bool {
	e, ok := ast.Unparen(cond).(*ast.BinaryExpr)
	if !ok {
		return false
	}
	if e.Op == token.LAND || e.Op == token.LOR {
		return s.compares(e.X, is, ops...) || s.compares(e.Y, is, ops...)
	}
	for _, op := range ops {
		if e.Op == op && is(e.X) && s.few(e.Y) || turned[e.Op] == op && is(e.Y) && s.few(e.X) {
			return true
		}
	}
	return false
}

// reduces reports whether statements set a number to a few, or return a few instead.
func (s *source) reduces(body []ast.Stmt, is func(ast.Expr) bool) bool {
	for _, stmt := range body {
		if a, ok := stmt.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i := range a.Lhs {
				if is(a.Lhs[i]) && s.few(a.Rhs[i]) {
					return true
				}
			}
		}
	}
	return s.returns(body)
}

// returns reports whether statements end the function with a few as its result.
func (s *source) returns(body []ast.Stmt) bool {
	if len(body) == 0 {
		return false
	}
	r, ok := body[len(body)-1].(*ast.ReturnStmt)
	return ok && len(r.Results) == 1 && s.few(r.Results[0])
}

// least reports whether an expression is the minimum of a number and a few.
func (s *source) least(e ast.Expr, is func(ast.Expr) bool) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok || s.extreme(call) != "min" {
			return !found
		}
		number, few := false, false
		for _, a := range call.Args {
			ast.Inspect(a, func(n ast.Node) bool {
				if x, ok := n.(ast.Expr); ok && is(x) {
					number = true
				}
				return true
			})
			few = few || s.few(a)
		}
		found = found || number && few
		return !found
	})
	return found
}
