// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/types"
	"strings"
)

// arrivals returns the places that use the result of a call: directly, through
// arithmetic, and through one variable or flag that it is assigned to. stored is that
// variable, or nil. A place is the largest expression with the result's magnitude; its
// parent is the use.
func (s *source) arrivals(at site) (places []site, stored types.Object) {
	top := s.operand(at)
	places = []site{top}
	if call, ok := top.parent(0).(*ast.CallExpr); ok && s.isFlag(call) {
		if len(call.Args) > 0 {
			if a, ok := call.Args[0].(*ast.UnaryExpr); ok {
				stored = s.object(a.X) // flag.IntVar(&v, ...)
			}
		}
		if stored == nil {
			stored = s.target(top.up())
		}
	} else {
		stored = s.target(top)
	}
	if v, ok := stored.(*types.Var); !ok || v.IsField() || v.Pkg() != s.pass.Pkg {
		return places, stored
	}
	for _, u := range s.uses(stored) {
		if star, ok := u.parent(0).(*ast.StarExpr); ok && star.X == u.node {
			u = u.up()
		}
		places = append(places, s.operand(u))
	}
	return places, stored
}

// target returns the variable or field that an expression is assigned to, or nil.
func (s *source) target(at site) types.Object {
	switch p := at.parent(0).(type) {
	case *ast.AssignStmt:
		for i, r := range p.Rhs {
			if r == at.node && len(p.Lhs) == len(p.Rhs) {
				return s.object(p.Lhs[i])
			}
		}
	case *ast.ValueSpec:
		for i, v := range p.Values {
			if v == at.node && len(p.Names) == len(p.Values) {
				return s.object(p.Names[i])
			}
		}
	}
	return nil
}

// isFlag reports whether a call defines a flag with a whole number as its default.
func (s *source) isFlag(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	switch sel.Sel.Name {
	case "Int", "IntVar", "Int64", "Int64Var", "Uint", "UintVar", "IntP", "IntVarP", "UintP", "UintVarP":
	default:
		return false
	}
	f, ok := s.pass.TypesInfo.ObjectOf(sel.Sel).(*types.Func)
	return ok && f.Pkg() != nil && (f.Pkg().Path() == "flag" || strings.HasSuffix(f.Pkg().Path(), "/pflag"))
}

// argument returns the call that has an expression as its argument, or nil.
func argument(at site) *ast.CallExpr {
	call, ok := at.parent(0).(*ast.CallExpr)
	if !ok || call.Fun == at.node {
		return nil
	}
	return call
}
