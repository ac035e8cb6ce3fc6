// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/types"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

var gcpercentAnalyzer = &analysis.Analyzer{
	Name:     "gcpercent",
	Doc:      "report debug.SetGCPercent used to read, and collectors that are off without a memory limit",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      gcPercent,
}

const setGCPercent = "runtime/debug.SetGCPercent"

func gcPercent(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	for _, at := range s.calls[setGCPercent] {
		call := at.call()
		if len(call.Args) != 1 {
			continue
		}
		n, ok := s.number(call.Args[0])
		switch {
		case !ok || n > 0:
		case n == 0:
			s.report(call, idZeroGOGC,
				"debug.SetGCPercent(0) collects all the time: the next collection begins when one ends; -1 is off, 100 the default")
		case s.readBack(at):
			s.report(call, "gcpercent-read",
				"debug.SetGCPercent(-1) is used to read GOGC: the call waits for a running collection, and nothing is collected "+
					"until GOGC is set again; read /gc/gogc:percent of runtime/metrics")
		case !s.restored(at) && !s.limited():
			s.report(call, idUnboundedHeap,
				"debug.SetGCPercent("+strconv.FormatInt(n, 10)+
					") turns the collector off, and this package sets no memory limit that a container reaches: the heap grows "+
					"until the process is killed")
		}
	}
	return nil, nil
}

// limited reports whether the package sets a memory limit that a container can reach.
func (s *source) limited() bool {
	for _, at := range s.calls["runtime/debug.SetMemoryLimit"] {
		if n, ok := s.number(at.call().Args[0]); !ok || n >= 0 && n < hugeMemLimit {
			return true
		}
	}
	return s.lost["runtime/debug.SetMemoryLimit"] || s.imports(snugPath, memlimitPath)
}

// result returns the variable that a call's result is assigned to, or nil.
func (s *source) result(at site) types.Object {
	if o := s.target(at); o != nil && o.Name() != "_" {
		return o
	}
	return nil
}

// restored reports whether a later call sets what a call returned.
func (s *source) restored(at site) bool {
	if outer := argument(at); outer != nil && s.callee(outer) == setGCPercent {
		return true // debug.SetGCPercent(debug.SetGCPercent(-1)), deferred
	}
	o := s.result(at)
	if o == nil {
		// A call that turns it on again has the value from elsewhere.
		for _, other := range s.calls[setGCPercent] {
			if n, ok := s.number(other.call().Args[0]); !ok || n > 0 {
				return true
			}
		}
		return s.lost[setGCPercent]
	}
	if v, ok := o.(*types.Var); ok && v.IsField() {
		return true
	}
	for _, u := range s.uses(o) {
		if call := argument(u); call != nil && s.callee(call) == setGCPercent {
			return true
		}
	}
	return s.lost[setGCPercent]
}

// readBack reports whether the next statement undoes a call.
func (s *source) readBack(at site) bool {
	if outer := argument(at); outer != nil && s.callee(outer) == setGCPercent {
		_, deferred := at.parent(1).(*ast.DeferStmt)
		return !deferred
	}
	o := s.result(at)
	if o == nil || len(at.path) < 2 {
		return false
	}
	stmt, ok := at.parent(0).(ast.Stmt)
	block, inBlock := at.parent(1).(*ast.BlockStmt)
	if !ok || !inBlock {
		return false
	}
	for i, b := range block.List {
		if b != stmt || i+1 >= len(block.List) {
			continue
		}
		next, ok := block.List[i+1].(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := next.X.(*ast.CallExpr)
		return ok && s.callee(call) == setGCPercent && len(call.Args) == 1 && s.object(call.Args[0]) == o
	}
	return false
}
