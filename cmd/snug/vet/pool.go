// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
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
var sizing = regexp.MustCompile(`(?i)(workers?|concurren(cy|t)|parallel(ism)?|(num|max|n)_?(threads|goroutines|jobs` +
	`|procs|routines)|^(threads|jobs|routines|goroutines)$|poolsize|pool_size|^-?j$)`)

// notSizing matches names that contain a word of sizing by chance.
var notSizing = regexp.MustCompile(`(?i)(gomaxprocs|id$|index|name|version)`)

func sizes(name string) bool { return sizing.MatchString(name) && !notSizing.MatchString(name) }

// pools matches functions whose argument is a number of concurrent goroutines.
var pools = regexp.MustCompile(`^(New|Make|Start|Run|Set|With)?(Num|Max)?(Workers?|Concurrency|Parallelism|Limit` +
	`|WorkerPool|GoroutinePool|Pool|Semaphore|Weighted|MaxGoroutines|PoolWithFunc)$` +
	`|^(Set|With)[A-Z]\w*(Workers|Concurrency|Parallelism)$`)

// sizingFlags matches further names for flags of such a number whose default is a number
// of CPUs.
var sizingFlags = regexp.MustCompile(`^(p|cpus?|procs|threads|processes)$`)

func poolSize(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	var quota *unaware
	if len(s.calls["runtime.NumCPU"])+len(s.calls["runtime.GOMAXPROCS"]) > 0 {
		quota = s.ignoresQuota()
	}
	for _, at := range s.calls["runtime.NumCPU"] {
		if what := s.sized(at); what != "" && !s.weighed(at) && !s.setsAgain(at) {
			instead, fixes := s.instead(at, quota)
			s.report(at.node, "pool-numcpu",
				what+" is sized by runtime.NumCPU, which ignores the CPU quota: in a container it may be many times too large; "+
					instead, fixes...)
		}
	}
	if quota != nil && !s.setsProcs(snugPath) {
		return nil, nil // GOMAXPROCS does not follow the quota
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

// instead returns what to write in place of runtime.NumCPU, and the fix if that is safe: if GOMAXPROCS
// is the quota, and if the result is no pool-at-start.
func (s *source) instead(at site, quota *unaware) (string, []analysis.SuggestedFix) {
	switch {
	case quota != nil && !s.setsProcs(snugPath, maxprocsPath):
		if s.pass.Pkg.Name() != "main" {
			return "use runtime.GOMAXPROCS(0); with " + quota.because + ", as here, it is the same number: " + quota.cure +
				" for the program", nil
		}
		return "runtime.GOMAXPROCS(0) is the same number with " + quota.because + ": " + quota.cure + ", then use it", nil
	case s.isDotted(at.call()):
		return "use runtime.GOMAXPROCS(0)", nil
	case once(at):
		return "use runtime.GOMAXPROCS(0), read where the work starts", nil
	}
	return "use runtime.GOMAXPROCS(0)", []analysis.SuggestedFix{{Message: "use runtime.GOMAXPROCS(0)",
		TextEdits: []analysis.TextEdit{{
			Pos: at.node.Pos(), End: at.node.End(), NewText: []byte(runtimeName(at.call()) + ".GOMAXPROCS(0)"),
		}}}}
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
	f := at.function()
	return !at.inLiteral() && (f == nil || f.Recv == nil && (f.Name.Name == "init" || f.Name.Name == "main"))
}

// sized names the pool that a number is the size of, or returns "".
func (s *source) sized(at site) string {
	f := s.arrivals(at, true)
	for _, p := range f.places {
		if what := s.sizedAt(p); what != "" {
			if fn := p.function(); fn != nil && fn != at.function() {
				return strings.Replace(what, "this loop", "a loop", 1) + " in " + fn.Name.Name
			}
			return what
		}
	}
	for _, o := range f.stored {
		if sizes(o.Name()) {
			return o.Name()
		}
	}
	return ""
}

// sizedAt is sized for one place that uses the number.
func (s *source) sizedAt(at site) string {
	if body := counted(at); body != nil {
		if s.starts(body) {
			return "the number of goroutines of this loop"
		}
		return ""
	}
	switch p := at.parent(0).(type) {
	case *ast.CallExpr:
		if p.Fun == at.node {
			return ""
		}
		return s.sizedByCall(p, at)
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

// sizedByCall is sizedAt for an argument.
func (s *source) sizedByCall(call *ast.CallExpr, at site) string {
	fun := ast.Unparen(call.Fun)
	if id, ok := fun.(*ast.Ident); ok && id.Name == "make" && s.pass.TypesInfo.Types[fun].IsBuiltin() {
		switch made := s.pass.TypesInfo.TypeOf(call).Underlying().(type) {
		case *types.Chan:
			return "a channel's buffer"
		case *types.Slice:
			if _, ok := made.Elem().Underlying().(*types.Chan); ok {
				return "a slice of channels"
			}
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
	var name *ast.Ident
	switch f := instantiated(fun).(type) {
	case *ast.Ident:
		name = f
	case *ast.SelectorExpr:
		name = f.Sel
	default:
		return ""
	}
	f, ok := s.pass.TypesInfo.ObjectOf(name).(*types.Func)
	if !ok || f.Pkg() == nil {
		return ""
	}
	if pools.MatchString(name.Name) &&
		(!strings.HasSuffix(name.Name, "Limit") || f.Pkg().Path() == "golang.org/x/sync/errgroup") {
		return "the argument of " + name.Name
	}
	if p := named(f, call, at.node); sizes(p) {
		return "the argument " + p + " of " + name.Name
	}
	return ""
}

// named returns the name of the parameter that an argument is passed as, or "".
func named(f *types.Func, call *ast.CallExpr, arg ast.Node) string {
	params := f.Signature().Params()
	for i, a := range call.Args {
		if a == arg && i < params.Len() && !(f.Signature().Variadic() && i >= params.Len()-1) {
			return params.At(i).Name()
		}
	}
	return ""
}

// starts reports whether the body of a loop starts a goroutine: by a go statement, by a method Go, as
// of sync.WaitGroup and errgroup.Group, or by a function of this package with a go statement.
func (s *source) starts(body *ast.BlockStmt) bool {
	return s.startsWithin(body, true)
}

func (s *source) startsWithin(body *ast.BlockStmt, calls bool) bool {
	found := false
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			found = true
		case *ast.CallExpr:
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Go" && len(n.Args) == 1 {
				found = true
				break
			}
			if fn, ok := s.object(n.Fun).(*types.Func); ok && calls && fn.Pkg() == s.pass.Pkg {
				if d := s.function(fn.Origin()); d != nil {
					found = s.startsWithin(d.Body, false)
				}
			}
		case *ast.FuncLit:
			return false
		}
		return !found
	})
	return found
}
