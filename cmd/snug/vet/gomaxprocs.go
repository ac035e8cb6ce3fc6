// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

var gomaxprocsAnalyzer = &analysis.Analyzer{
	Name:     "gomaxprocs",
	Doc:      "report calls of runtime.GOMAXPROCS that undo what the runtime has learned of the container",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      gomaxprocs,
}

func gomaxprocs(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	sets := s.calls["runtime.GOMAXPROCS"]
	if len(sets) == 0 {
		return nil, nil
	}
	// What runtime.NumCPU and a read of GOMAXPROCS come to.
	fromCPU, fromProcs := map[*ast.CallExpr]bool{}, map[*ast.CallExpr]bool{}
	trace := func(from []site, into map[*ast.CallExpr]bool) {
		for _, at := range from {
			places, _ := s.arrivals(at)
			for _, p := range places {
				if call := argument(p); call != nil && s.callee(call) == "runtime.GOMAXPROCS" {
					into[call] = true
				}
			}
		}
	}
	trace(s.calls["runtime.NumCPU"], fromCPU)
	for _, at := range sets {
		// What a set returns is what was, and to set that again is to restore.
		if s.reads(at.call()) && s.target(at) == nil {
			trace([]site{at}, fromProcs)
		}
	}
	for _, at := range sets {
		call := at.call()
		if len(call.Args) != 1 || s.reads(call) {
			continue
		}
		n, constant := s.number(call.Args[0])
		switch {
		case fromCPU[call]:
			s.report(call, "gomaxprocs-numcpu",
				"runtime.GOMAXPROCS is set from runtime.NumCPU, which knows no CPU quota; without the call Go takes the quota into account and follows it",
				s.unset(at)...)
		case fromProcs[call] && isNested(call):
			s.report(call, "gomaxprocs-frozen",
				"runtime.GOMAXPROCS is set to what it is: the value stays, and the runtime no longer follows a CPU quota that changes",
				s.unset(at)...)
		case constant && n > 1: // one P exceeds nothing, and is meant
			s.report(call, "gomaxprocs-constant",
				"runtime.GOMAXPROCS("+strconv.FormatInt(n, 10)+") is the same in every container, and the runtime no longer follows the CPU quota")
		}
	}
	return nil, nil
}

// isNested tells whether the argument is itself a call of runtime.GOMAXPROCS and nothing
// more: arithmetic means it to differ.
func isNested(call *ast.CallExpr) bool {
	_, ok := ast.Unparen(call.Args[0]).(*ast.CallExpr)
	return ok
}

// unset is the fix that takes the call away, where its result is not used and its
// argument does nothing else.
func (s *source) unset(at site) []analysis.SuggestedFix {
	if _, ok := at.parent(0).(*ast.ExprStmt); !ok {
		return nil
	}
	arg, ok := ast.Unparen(at.call().Args[0]).(*ast.CallExpr)
	if !ok || s.callee(arg) != "runtime.NumCPU" && s.callee(arg) != "runtime.GOMAXPROCS" {
		return nil
	}
	edit, ok := s.removeStatement(at.up())
	if !ok {
		return nil
	}
	edits := []analysis.TextEdit{edit}
	if s.used(at.file(), "runtime") == 2 { // both are in the statement
		edits = append(edits, s.removeImport(at.file(), "runtime")...)
	}
	return []analysis.SuggestedFix{{Message: "remove the call: the runtime sizes itself", TextEdits: edits}}
}
