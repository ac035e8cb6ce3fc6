// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// maxSteps is how many variables, fields, parameters and results a number is followed through.
const maxSteps = 4

// flow is where a number goes within its package: directly, through arithmetic, and through
// variables, flags, fields, parameters and results of functions.
type flow struct {
	*source
	drops  bool           // leave out what is bounded to a few
	places []site         // the largest expressions with the number's magnitude; their parents are the uses
	stored []types.Object // variables, fields and parameters that hold it
	seen   map[types.Object]bool
}

// arrivals follows the result of a call. With drops it leaves out places where the number is bounded
// to a few, as by min(n, 8).
func (s *source) arrivals(at site, drops bool) *flow {
	f := &flow{source: s, drops: drops, seen: map[types.Object]bool{}}
	f.follow(at, nil, false, 0)
	return f
}

// follow adds the places of a number that is at a site, held by a variable or a call's result (nil).
// passed = it came in by a parameter, so that a result of the function may be of another call.
func (f *flow) follow(at site, held types.Object, passed bool, steps int) {
	top, bounded := f.operand(at)
	call, _ := top.parent(0).(*ast.CallExpr)
	flag, length := call != nil && f.isFlag(call), call != nil && f.length(call, top.node)
	var into types.Object
	switch {
	case flag:
		if a, ok := call.Args[0].(*ast.UnaryExpr); ok && a.Op == token.AND {
			into = f.object(a.X) // flag.IntVar(&v, ...)
		}
		if into == nil {
			into = f.target(top.up())
		}
	case call != nil && !length:
		into = f.parameter(call, top.node)
	default:
		into = f.target(top)
	}
	if into != nil {
		into = origin(into)
	}
	if f.drops && (bounded || f.guarded(top, held) || into != nil && f.bounded(into)) {
		return
	}
	f.places = append(f.places, top)
	switch body := counted(top); {
	case steps == maxSteps:
	case body != nil:
		f.appended(body, passed, steps)
	case length:
		f.elements(f.target(top.up()), passed, steps)
	case into != nil:
		f.through(into, passed || call != nil && !flag, steps)
	case !passed:
		f.returned(top, steps)
	}
}

// returned follows the result of the function around a site to its calls, if the function returns the
// number.
func (f *flow) returned(top site, steps int) {
	r, ok := top.parent(0).(*ast.ReturnStmt)
	fn := top.function()
	if !ok || fn == nil || len(r.Results) != 1 || top.inLiteral() {
		return
	}
	o := f.pass.TypesInfo.Defs[fn.Name]
	if o == nil || f.seen[o] {
		return
	}
	f.seen[o] = true
	for _, u := range f.uses(o) {
		if call, ok := u.parent(0).(*ast.CallExpr); ok && call.Fun == u.node {
			f.follow(u.up(), nil, false, steps+1)
		}
	}
}

// through follows a number into a variable, field or parameter.
func (f *flow) through(o types.Object, passed bool, steps int) {
	v, ok := o.(*types.Var)
	if !ok || v.Name() == "_" || f.seen[v] {
		return
	}
	f.seen[v] = true
	f.stored = append(f.stored, v)
	if v.Pkg() != f.pass.Pkg {
		return
	}
	for _, u := range f.uses(v) {
		if star, ok := u.parent(0).(*ast.StarExpr); ok && star.X == u.node {
			u = u.up()
		}
		f.follow(u, v, passed, steps+1)
	}
}

// appended follows the number of iterations of a loop, into loops over the slices that it appends to.
func (f *flow) appended(body *ast.BlockStmt, passed bool, steps int) {
	ast.Inspect(body, func(n ast.Node) bool {
		a, ok := n.(*ast.AssignStmt)
		if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
			return true
		}
		if call, ok := a.Rhs[0].(*ast.CallExpr); ok {
			if id, ok := call.Fun.(*ast.Ident); ok && id.Name == "append" && f.pass.TypesInfo.Types[id].IsBuiltin() {
				f.elements(f.object(a.Lhs[0]), passed, steps)
			}
		}
		return true
	})
}

// elements follows the length of a slice into loops over it.
func (f *flow) elements(o types.Object, passed bool, steps int) {
	v, ok := o.(*types.Var)
	if !ok {
		return
	}
	if v = v.Origin(); v.Pkg() != f.pass.Pkg || f.seen[v] {
		return
	}
	f.seen[v] = true
	for _, u := range f.uses(v) {
		switch p := u.parent(0).(type) {
		case *ast.RangeStmt:
			if p.X == u.node {
				f.places = append(f.places, u)
			}
		case *ast.CallExpr:
			if id, ok := p.Fun.(*ast.Ident); ok && id.Name == "len" && f.pass.TypesInfo.Types[id].IsBuiltin() {
				f.follow(u.up(), nil, passed, steps+1)
			}
		}
	}
}

// counted returns the body of the loop that a place is the number of iterations of, or nil.
func counted(at site) *ast.BlockStmt {
	switch p := at.parent(0).(type) {
	case *ast.BinaryExpr: // i < n
		loop, ok := at.parent(1).(*ast.ForStmt)
		if ok && loop.Cond == p && p.Op != token.NEQ && p.Op != token.EQL {
			return loop.Body
		}
	case *ast.RangeStmt:
		if p.X == at.node {
			return p.Body
		}
	}
	return nil
}

// length reports whether an argument is the length of a slice that a call makes.
func (s *source) length(call *ast.CallExpr, arg ast.Node) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || id.Name != "make" || !s.pass.TypesInfo.Types[id].IsBuiltin() || len(call.Args) < 2 || call.Args[1] != arg {
		return false
	}
	_, ok = s.pass.TypesInfo.TypeOf(call).Underlying().(*types.Slice)
	return ok
}

// parameter returns the parameter that an argument is passed as, to a function of this package that
// has a body; or nil.
func (s *source) parameter(call *ast.CallExpr, arg ast.Node) types.Object {
	var params *ast.FieldList
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.FuncLit:
		params = fun.Type.Params
	default:
		fn, ok := s.object(instantiated(fun)).(*types.Func)
		if !ok || fn.Pkg() != s.pass.Pkg {
			return nil
		}
		d := s.function(fn.Origin())
		if d == nil {
			return nil
		}
		params = d.Type.Params
	}
	i := 0
	for _, field := range params.List {
		if _, variadic := field.Type.(*ast.Ellipsis); variadic {
			return nil
		}
		for _, name := range field.Names {
			if i < len(call.Args) && call.Args[i] == arg {
				return s.pass.TypesInfo.Defs[name]
			}
			i++
		}
		if len(field.Names) == 0 {
			i++
		}
	}
	return nil
}

// instantiated returns the generic function in an expression such as f[int], or the expression.
func instantiated(fun ast.Expr) ast.Expr {
	switch f := fun.(type) {
	case *ast.IndexExpr:
		return f.X
	case *ast.IndexListExpr:
		return f.X
	}
	return fun
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
	case *ast.KeyValueExpr:
		key, ok := p.Key.(*ast.Ident)
		if !ok || p.Value != at.node {
			return nil
		}
		if v, ok := s.object(key).(*types.Var); ok && v.IsField() {
			return v.Origin()
		}
	}
	return nil
}

// isFlag reports whether a call defines a flag with a whole number as its default.
func (s *source) isFlag(call *ast.CallExpr) bool {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
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

// operand returns the largest expression around a site with the same magnitude: through arithmetic,
// conversions, min and max. bounded reports whether a min on the way bounds it to a few.
func (s *source) operand(at site) (top site, bounded bool) {
	for len(at.path) > 0 {
		switch p := at.parent(0).(type) {
		case *ast.ParenExpr:
		case *ast.BinaryExpr:
			if !s.scales(p, at.node) {
				return at, bounded
			}
		case *ast.CallExpr:
			if p.Fun == at.node {
				return at, bounded
			}
			switch s.extreme(p) {
			case "min":
				bounded = bounded || slices.ContainsFunc(p.Args, func(a ast.Expr) bool { return a != at.node && s.few(a) })
			case "max":
			default:
				if !s.pass.TypesInfo.Types[p.Fun].IsType() {
					return at, bounded
				}
			}
		default:
			return at, bounded
		}
		at = at.up()
	}
	return at, bounded
}

// extreme returns "min" or "max" if a call is one of them, of the language or of package math, or "".
func (s *source) extreme(call *ast.CallExpr) string {
	if id, ok := call.Fun.(*ast.Ident); ok && s.pass.TypesInfo.Types[id].IsBuiltin() &&
		(id.Name == "min" || id.Name == "max") {
		return id.Name
	}
	switch s.callee(call) {
	case "math.Min":
		return "min"
	case "math.Max":
		return "max"
	}
	return ""
}

// scales reports whether arithmetic keeps the magnitude of an operand: n*2, n-1, n/2 and n/shards are
// numbers of CPUs as n is, but len(x)/n, len(x)*n and (x+n-1)/n are not.
func (s *source) scales(e *ast.BinaryExpr, operand ast.Node) bool {
	left := e.X == operand
	other := e.X
	if left {
		other = e.Y
	}
	switch e.Op {
	case token.ADD, token.MUL:
		return !s.counts(other)
	case token.SUB, token.SHL:
		return left
	case token.QUO, token.SHR:
		_, sum := ast.Unparen(e.X).(*ast.BinaryExpr) // (x+n-1)/n
		return left && (!sum || s.value(other) != nil)
	}
	return false // a comparison, or logic
}

// counts reports whether an expression has the length of something in it.
func (s *source) counts(e ast.Expr) bool {
	found := false
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && (id.Name == "len" || id.Name == "cap") && s.pass.TypesInfo.Types[id].IsBuiltin() {
			found = true
		}
		return !found
	})
	return found
}
