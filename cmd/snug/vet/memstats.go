// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/types"
	"time"

	"golang.org/x/tools/go/analysis"
)

var memstatsAnalyzer = &analysis.Analyzer{
	Name:     "memstats",
	Doc:      "report runtime.ReadMemStats in loops and in request handlers",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      memStats,
}

func memStats(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	for _, at := range s.calls["runtime.ReadMemStats"] {
		switch {
		case s.hotLoop(at):
			s.report(at.node, "memstats-loop",
				"runtime.ReadMemStats stops the world in every iteration of this loop; runtime/metrics reads the same figures "+
					"without a stop")
		case s.inHandler(at):
			s.report(at.node, "memstats-handler",
				"runtime.ReadMemStats stops the world for each request; runtime/metrics reads the same figures without a stop")
		}
	}
	return nil, nil
}

// often is the interval from which the cost of stopping the world, tens of microseconds,
// is not measurable.
const often = time.Second

// hotLoop reports whether a call is in a loop that runs more often than once in often.
func (s *source) hotLoop(at site) bool {
	for i := range len(at.path) {
		var body *ast.BlockStmt
		switch n := at.parent(i).(type) {
		case *ast.FuncLit, *ast.FuncDecl:
			return false
		case *ast.ForStmt:
			body = n.Body
		case *ast.RangeStmt:
			if _, ok := s.pass.TypesInfo.TypeOf(n.X).Underlying().(*types.Chan); ok {
				continue // a ticker, or incoming work: the interval is unknown
			}
			body = n.Body
		default:
			continue
		}
		if !s.paced(body) && !leaves(at, i) {
			return true
		}
	}
	return false
}

// leaves reports whether the statements after the call end the loop i steps up: then the
// call runs once.
func leaves(at site, i int) bool {
	for j := 1; j < i; j++ {
		var list []ast.Stmt
		switch b := at.parent(j).(type) {
		case *ast.BlockStmt:
			list = b.List
		case *ast.CaseClause:
			list = b.Body
		case *ast.CommClause:
			list = b.Body
		}
		if len(list) == 0 {
			continue
		}
		switch last := list[len(list)-1].(type) {
		case *ast.ReturnStmt:
			return true
		case *ast.BranchStmt:
			if last.Tok.String() == "break" {
				return true
			}
		}
	}
	return false
}

// paced reports whether a loop waits for a channel or sleeps. A constant sleep shorter
// than often does not count.
func (s *source) paced(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.SelectStmt:
			found = found || !hasDefault(n)
		case *ast.UnaryExpr:
			found = found || n.Op.String() == "<-"
		case *ast.CallExpr:
			switch sel, ok := n.Fun.(*ast.SelectorExpr); {
			case !ok || len(n.Args) > 1:
			case s.callee(n) == "time.Sleep":
				d, known := s.number(n.Args[0])
				found = found || !known || time.Duration(d) >= often
			case sel.Sel.Name == "Wait" || sel.Sel.Name == "Sleep":
				found = true
			}
		}
		return !found
	})
	return found
}

func hasDefault(s *ast.SelectStmt) bool {
	for _, c := range s.Body.List {
		if c.(*ast.CommClause).Comm == nil {
			return true
		}
	}
	return false
}

// contexts are the types by which frameworks pass a request to its handler.
var contexts = map[string]bool{
	"github.com/gin-gonic/gin.Context": true, "github.com/labstack/echo.Context": true,
	"github.com/labstack/echo/v4.Context": true,
	"github.com/gofiber/fiber/v2.Ctx":     true, "github.com/valyala/fasthttp.RequestCtx": true, "net/http.Request": true,
}

// inHandler reports whether the innermost function around a call takes a request.
func (s *source) inHandler(at site) bool {
	for i := range len(at.path) {
		var params *ast.FieldList
		switch f := at.parent(i).(type) {
		case *ast.FuncLit:
			params = f.Type.Params
		case *ast.FuncDecl:
			params = f.Type.Params
		default:
			continue
		}
		for _, p := range params.List {
			of := p.Type
			if star, ok := of.(*ast.StarExpr); ok {
				of = star.X
			}
			t := s.pass.TypesInfo.TypeOf(of)
			if ptr, ok := types.Unalias(t).(*types.Pointer); ok {
				t = ptr.Elem()
			}
			if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil &&
				contexts[n.Obj().Pkg().Path()+"."+n.Obj().Name()] {
				return true
			}
		}
		return false
	}
	return false
}
