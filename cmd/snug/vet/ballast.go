// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/types"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

var ballastAnalyzer = &analysis.Analyzer{
	Name:     "ballast",
	Doc:      "report large slices that nothing uses, kept to make collections rarer",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      ballast,
}

// leastBallast is from which size on a slice that nobody uses is a ballast: smaller ones
// hardly move the heap goal.
const leastBallast = 64 << 20

func ballast(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	for _, f := range s.files {
		var path []ast.Node
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			if call, ok := n.(*ast.CallExpr); ok {
				s.ballastAt(site{call, path})
			}
			path = append(path, n)
			return true
		})
	}
	return nil, nil
}

func (s *source) ballastAt(at site) {
	size := s.made(at.call())
	if size < leastBallast {
		return
	}
	if outer := argument(at); outer != nil && s.callee(outer) == "runtime.KeepAlive" {
		s.reportBallast(at, size)
		return
	}
	v, ok := s.target(at).(*types.Var)
	if !ok || v.IsField() || v.Pkg() != s.pass.Pkg {
		return
	}
	global := v.Parent() == s.pass.Pkg.Scope()
	if v.Name() != "_" && global && v.Exported() {
		return // others may use it
	}
	if v.Name() == "_" && !global {
		return // freed at once
	}
	kept := global
	for _, u := range s.uses(v) {
		switch p := u.parent(0).(type) {
		case *ast.CallExpr:
			if s.callee(p) != "runtime.KeepAlive" {
				return
			}
			kept = true
		case *ast.AssignStmt:
			for i, r := range p.Rhs {
				if r == u.node && (len(p.Lhs) != len(p.Rhs) || !blank(p.Lhs[i])) {
					return
				}
			}
		default:
			return
		}
	}
	if kept {
		s.reportBallast(at, size)
	}
}

func (s *source) reportBallast(at site, size int64) {
	s.report(at.node, "ballast",
		"a ballast of "+strconv.FormatInt(size>>20, 10)+" MiB: it raises the heap goal by twice its size whatever the container gives; GOMEMLIMIT, or a larger GOGC with one, makes collections rarer and is bounded")
}

// made is how many bytes a call makes; 0 when it is no make of bytes, or not known.
func (s *source) made(call *ast.CallExpr) int64 {
	id, ok := call.Fun.(*ast.Ident)
	if !ok || id.Name != "make" || len(call.Args) < 2 || !s.pass.TypesInfo.Types[id].IsBuiltin() {
		return 0
	}
	slice, ok := s.pass.TypesInfo.TypeOf(call).Underlying().(*types.Slice)
	if !ok {
		return 0
	}
	if b, ok := slice.Elem().Underlying().(*types.Basic); !ok || b.Kind() != types.Byte && b.Kind() != types.Int8 {
		return 0
	}
	n, _ := s.number(call.Args[len(call.Args)-1])
	return n
}

func blank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}
