// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/types"
	"slices"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

var ballastAnalyzer = &analysis.Analyzer{
	Name:     "ballast",
	Doc:      "report large slices that nothing uses, kept to make collections rarer",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      ballast,
}

// minBallast is the smallest size of a ballast: a smaller slice hardly changes the heap
// goal.
const minBallast = 64 << 20

func ballast(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	for _, f := range s.files {
		walk(f, func(at site) {
			if _, ok := at.node.(*ast.CallExpr); ok {
				s.ballastAt(at)
			}
		})
	}
	return nil, nil
}

func (s *source) ballastAt(at site) {
	size := s.made(at.call())
	if size == nil {
		return
	}
	// A size with a known type must be constant and large.
	if tv, ok := s.pass.TypesInfo.Types[size]; ok && tv.Type != types.Typ[types.Invalid] {
		if n, ok := s.number(size); !ok || n < minBallast {
			return
		}
	}
	if !s.kept(at) {
		return
	}
	if n, ok := s.number(size); ok {
		s.report(at.node, "ballast",
			"a ballast of "+strconv.FormatInt(n>>20, 10)+
				" MiB raises the heap goal by twice its size, in every container; GOMEMLIMIT, or a larger GOGC together with it, "+
				"makes collections rarer within a bound")
	}
}

// kept reports whether the result of a call is kept and never used.
func (s *source) kept(at site) bool {
	if outer := argument(at); outer != nil && s.callee(outer) == "runtime.KeepAlive" {
		return true
	}
	v, ok := s.target(at).(*types.Var)
	if !ok || v.IsField() || v.Pkg() != s.pass.Pkg {
		return false
	}
	global := v.Parent() == s.pass.Pkg.Scope()
	if v.Name() != "_" && global && v.Exported() {
		return false // others may use it
	}
	if v.Name() == "_" && !global {
		return false // freed at once
	}
	kept := global
	for _, u := range s.uses(v) {
		switch p := u.parent(0).(type) {
		case *ast.CallExpr:
			if id, ok := p.Fun.(*ast.Ident); ok && s.pass.TypesInfo.Types[id].IsBuiltin() &&
				(id.Name == "len" || id.Name == "cap") {
				continue // its length is not its content
			}
			if s.callee(p) != "runtime.KeepAlive" {
				return false
			}
			kept = true
		case *ast.AssignStmt:
			for i, r := range p.Rhs {
				if r == u.node && (len(p.Lhs) != len(p.Rhs) || !blank(p.Lhs[i])) {
					return false
				}
			}
		default:
			return false
		}
	}
	return kept
}

// bytesOf are the element types of a ballast.
var bytesOf = []string{"byte", "uint8", "int8"}

// made returns the number of bytes that a call makes; nil if it is not a make of bytes.
func (s *source) made(call *ast.CallExpr) ast.Expr {
	id, ok := call.Fun.(*ast.Ident)
	if !ok || id.Name != "make" || len(call.Args) < 2 || !s.pass.TypesInfo.Types[id].IsBuiltin() {
		return nil
	}
	slice, ok := call.Args[0].(*ast.ArrayType)
	if !ok {
		return nil
	}
	if b, ok := slice.Elt.(*ast.Ident); !ok || !slices.Contains(bytesOf, b.Name) {
		return nil
	}
	return call.Args[len(call.Args)-1]
}

func blank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}
