// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"maps"
	"strconv"

	"golang.org/x/tools/go/analysis"
)

var gomaxprocsAnalyzer = &analysis.Analyzer{
	Name:     "gomaxprocs",
	Doc:      "report calls of runtime.GOMAXPROCS that override what the runtime reads of the container",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      gomaxprocs,
}

func gomaxprocs(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	sets := s.calls["runtime.GOMAXPROCS"]
	if len(sets) == 0 {
		return nil, nil
	}
	fromCPU, fromProcs := s.setFrom(s.calls["runtime.NumCPU"]), map[*ast.CallExpr]bool{}
	for _, at := range sets {
		// A set returns the old value; setting that again restores it.
		if s.reads(at.call()) && s.target(at) == nil {
			maps.Copy(fromProcs, s.setFrom([]site{at}))
		}
	}
	quota := s.ignoresQuota()
	for _, at := range sets {
		call := at.call()
		if len(call.Args) != 1 || s.reads(call) {
			continue
		}
		n, constant := s.number(call.Args[0])
		switch {
		case fromCPU[call] && quota != nil:
			s.report(call, "gomaxprocs-numcpu",
				"runtime.GOMAXPROCS is set from runtime.NumCPU, which ignores the CPU quota; "+quota.says(s)+
					", then remove the call")
		case fromCPU[call]:
			s.report(call, "gomaxprocs-numcpu",
				"runtime.GOMAXPROCS is set from runtime.NumCPU, which ignores the CPU quota; without the call Go uses the quota "+
					"and follows it",
				s.unset(at)...)
		case fromProcs[call] && isNested(call) && quota == nil: // else nothing follows a quota
			s.report(call, "gomaxprocs-frozen",
				"runtime.GOMAXPROCS is set to its current value: the value stays, and the runtime no longer follows a changing "+
					"CPU quota",
				s.unset(at)...)
		case constant && n > 1: // one P exceeds no quota, and is intended
			s.report(call, "gomaxprocs-constant",
				"runtime.GOMAXPROCS("+strconv.FormatInt(n, 10)+") is the same in every container, whatever its CPU quota")
		}
	}
	return nil, nil
}

// setFrom returns the calls of runtime.GOMAXPROCS that get the result of one of these calls.
func (s *source) setFrom(from []site) map[*ast.CallExpr]bool {
	into := map[*ast.CallExpr]bool{}
	for _, at := range from {
		for _, p := range s.arrivals(at, false).places {
			if call := argument(p); call != nil && s.callee(call) == "runtime.GOMAXPROCS" {
				into[call] = true
			}
		}
	}
	return into
}

// isNested reports whether the argument is itself a plain call of runtime.GOMAXPROCS.
// With arithmetic the value is intended to differ.
func isNested(call *ast.CallExpr) bool {
	_, ok := ast.Unparen(call.Args[0]).(*ast.CallExpr)
	return ok
}

// unset returns the fix that removes the call, if its result is not used and its
// argument has no other effect.
func (s *source) unset(at site) []analysis.SuggestedFix {
	if _, ok := at.parent(0).(*ast.ExprStmt); !ok || s.isDotted(at.call()) {
		return nil
	}
	arg, ok := ast.Unparen(at.call().Args[0]).(*ast.CallExpr)
	if !ok || s.isDotted(arg) || s.callee(arg) != "runtime.NumCPU" && s.callee(arg) != "runtime.GOMAXPROCS" {
		return nil
	}
	edit, ok := s.removeStatement(at.up())
	if !ok {
		return nil
	}
	edits := []analysis.TextEdit{edit}
	if s.used(at.file(), "runtime") == 2 { // both uses are in the statement
		edits = append(edits, s.removeImport(at.file(), "runtime")...)
	}
	return []analysis.SuggestedFix{{Message: "remove the call: the runtime sizes itself", TextEdits: edits}}
}
