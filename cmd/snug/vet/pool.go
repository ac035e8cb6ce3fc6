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
	Doc:      "report pools and semaphores sized from runtime.NumCPU, or once from GOMAXPROCS",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      poolSize,
}

// sizing are names of variables, fields, flags and functions that say how much runs at a
// time; sizingVar those that only a variable of the package needs more than.
var sizing = regexp.MustCompile(`(?i)(workers?|concurren(cy|t)|parallel(ism)?|(num|max|n)_?(threads|goroutines|jobs|procs|routines)|^(threads|jobs|routines|goroutines)$|poolsize|pool_size|^-?j$)`)

// notSizing are names of things that a word of sizing appears in by chance.
var notSizing = regexp.MustCompile(`(?i)(gomaxprocs|id$|index|name|version)`)

func sizes(name string) bool { return sizing.MatchString(name) && !notSizing.MatchString(name) }

// pools are functions that take the number of goroutines that may run at a time.
var pools = regexp.MustCompile(`^(New|Make|Start|Run|Set|With)?(Num|Max)?(Workers?|Concurrency|Parallelism|Limit|WorkerPool|GoroutinePool|Pool|Semaphore|Weighted|MaxGoroutines|PoolWithFunc)$` +
	`|^(Set|With)[A-Z]\w*(Workers|Concurrency|Parallelism)$`)

// sizingFlags are names that a flag with a number has for what runs at a time, where that
// number is one of CPUs.
var sizingFlags = regexp.MustCompile(`^(p|cpus?|procs|threads|processes)$`)

func poolSize(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	for _, at := range s.calls["runtime.NumCPU"] {
		if what := s.sized(at); what != "" && !s.weighed(at) && !s.setsAgain(at) {
			s.report(at.node, "pool-numcpu",
				what+" is sized by runtime.NumCPU, which knows no CPU quota: in a container it may be many times what can run; use runtime.GOMAXPROCS(0)",
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
				what+" is sized by GOMAXPROCS as it is at start; where the CPU quota changes, GOMAXPROCS follows and this does not")
		}
	}
	return nil, nil
}

// weighed tells whether the function around a call asks for GOMAXPROCS too: then it knows
// of both numbers, and mostly takes the smaller one.
func (s *source) weighed(at site) bool {
	f := at.function()
	return f != nil && slices.ContainsFunc(s.calls["runtime.GOMAXPROCS"], func(other site) bool {
		return other.function() == f && s.reads(other.call())
	})
}

// runtimeName is what a file calls package runtime.
func runtimeName(call *ast.CallExpr) string {
	return ast.Unparen(call.Fun).(*ast.SelectorExpr).X.(*ast.Ident).Name
}

// once tells whether code runs one time: at package level, in init and in main, and not
// in a function that is passed on.
func once(at site) bool {
	for _, n := range at.path {
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
	}
	f := at.function()
	return f == nil || f.Recv == nil && (f.Name.Name == "init" || f.Name.Name == "main")
}

// sized says what a number is the size of; "" when it is no pool, or cannot be seen.
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

// sizedAt is sized for one place that the number comes to.
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
			return "what " + f.Name.Name + " returns"
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

// starts tells whether a body starts a goroutine each time around: by a go statement, or
// by a method Go, as sync.WaitGroup and errgroup.Group have it.
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
