// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var poolAnalyzer = &analysis.Analyzer{
	Name:     "poolsize",
	Doc:      "report pools and semaphores sized by runtime.NumCPU, or once by GOMAXPROCS",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      poolSize,
}

// sizing matches names of variables, fields, flags and functions that are a number of
// concurrent goroutines.
var sizing = regexp.MustCompile(`(?i)(workers?|concurren(cy|t)|parallel(ism)?|(num|max|n)_?(threads|goroutines|jobs|procs|routines)|^(threads|jobs|routines|goroutines)$|poolsize|pool_size|^-?j$)`)

// notSizing matches names that contain a word of sizing by chance.
var notSizing = regexp.MustCompile(`(?i)(gomaxprocs|id$|index|name|version)`)

func sizes(name string) bool { return sizing.MatchString(name) && !notSizing.MatchString(name) }

// pools matches functions whose argument is a number of concurrent goroutines.
var pools = regexp.MustCompile(`^(New|Make|Start|Run|Set|With)?(Num|Max)?(Workers?|Concurrency|Parallelism|Limit|WorkerPool|GoroutinePool|Pool|Semaphore|Weighted|MaxGoroutines|PoolWithFunc)$` +
	`|^(Set|With)[A-Z]\w*(Workers|Concurrency|Parallelism)$`)

// sizingFlags matches further names for flags of such a number whose default is a number
// of CPUs.
var sizingFlags = regexp.MustCompile(`^(p|cpus?|procs|threads|processes)$`)

func poolSize(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	for _, at := range s.calls["runtime.NumCPU"] {
		if what := s.sized(at); what != "" && !s.weighed(at) && !s.setsAgain(at) {
			s.report(at.node, "pool-numcpu",
				what+" is sized by runtime.NumCPU, which ignores the CPU quota: in a container it may be many times too large; use runtime.GOMAXPROCS(0)",
				analysis.SuggestedFix{Message: "use runtime.GOMAXPROCS(0)", TextEdits: []analysis.TextEdit{{
					Pos: at.node.Pos(), End: at.node.End(), NewText: []byte(runtimeName(at.call()) + ".GOMAXPROCS(0)"),
				}}})
		}
	}
	for _, at := range s.calls["runtime.GOMAXPROCS"] {
		if !s.reads(at.call()) || !once(at) || s.setsAgain(at) {
			continue
		}
		if what := s.sized(at); what != "" {
			s.report(at.node, "pool-at-start",
				what+" is sized by GOMAXPROCS at start; if the CPU quota changes, GOMAXPROCS follows and this does not")
		}
	}
	return nil, nil
}

// weighed reports whether the function around a call also reads GOMAXPROCS: it then has
// both numbers, and usually takes the smaller one.
func (s *source) weighed(at site) bool {
	f := at.function()
	return f != nil && slices.ContainsFunc(s.calls["runtime.GOMAXPROCS"], func(other site) bool {
		return other.function() == f && s.reads(other.call())
	})
}

// runtimeName returns the name of package runtime in a file.
func runtimeName(call *ast.CallExpr) string {
	return ast.Unparen(call.Fun).(*ast.SelectorExpr).X.(*ast.Ident).Name
}

// once reports whether code runs once: at package level, in init or in main, and not in
// a function literal.
func once(at site) bool {
	for _, n := range at.path {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
	}
	f := at.function()
	return f == nil || f.Recv == nil && (f.Name.Name == "init" || f.Name.Name == "main")
}

// sized names the pool that a number is the size of, or returns "".
func (s *source) sized(at site) string {
	places, stored := s.arrivals(at)
	for _, p := range places {
		if what := s.sizedAt(p); what != "" {
			return what
		}
	}
	if v, ok := stored.(*types.Var); ok && sizes(v.Name()) {
		return v.Name()
	}
	return ""
}

// sizedAt is sized for one place that uses the number.
func (s *source) sizedAt(at site) string {
	switch p := at.parent(0).(type) {
	case *ast.CallExpr:
		if p.Fun == at.node {
			return ""
		}
		return s.sizedByCall(p, at)
	case *ast.BinaryExpr: // the condition of a loop: i < n
		loop, ok := at.parent(1).(*ast.ForStmt)
		if ok && loop.Cond == p && p.Op != token.NEQ && p.Op != token.EQL && starts(loop.Body) {
			return "the number of goroutines of this loop"
		}
	case *ast.RangeStmt:
		if p.X == at.node && starts(p.Body) {
			return "the number of goroutines of this loop"
		}
	case *ast.KeyValueExpr:
		if k, ok := p.Key.(*ast.Ident); ok && p.Value == at.node && sizes(k.Name) {
			return k.Name
		}
	case *ast.ReturnStmt:
		if f := at.function(); f != nil && sizes(f.Name.Name) && len(p.Results) == 1 {
			return "the result of " + f.Name.Name
		}
	}
	return ""
}

func (s *source) sizedByCall(call *ast.CallExpr, at site) string {
	fun := ast.Unparen(call.Fun)
	if id, ok := fun.(*ast.Ident); ok && id.Name == "make" && s.pass.TypesInfo.Types[fun].IsBuiltin() {
		if _, ok := s.pass.TypesInfo.TypeOf(call).Underlying().(*types.Chan); ok {
			return "a channel's buffer"
		}
		return ""
	}
	if s.isFlag(call) {
		for _, a := range call.Args {
			if name, ok := s.text(a); ok {
				if sizes(name) || sizingFlags.MatchString(name) {
					return "the default of the flag " + name
				}
				return ""
			}
		}
	}
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	var name *ast.Ident
	switch f := fun.(type) {
	case *ast.Ident:
		name = f
	case *ast.SelectorExpr:
		name = f.Sel
	default:
		return ""
	}
	if !pools.MatchString(name.Name) {
		return ""
	}
	f, ok := s.pass.TypesInfo.ObjectOf(name).(*types.Func)
	if !ok || f.Pkg() == nil {
		return ""
	}
	if strings.HasSuffix(name.Name, "Limit") && f.Pkg().Path() != "golang.org/x/sync/errgroup" {
		return ""
	}
	return "the argument of " + name.Name
}

// starts reports whether the body of a loop starts a goroutine: by a go statement, or by
// a method Go, as of sync.WaitGroup and errgroup.Group.
func starts(body *ast.BlockStmt) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
				found = true
			}
		case *ast.FuncLit:
			return false
		}
		return !found
	})
	return found
}
