// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/types"

	"golang.org/x/tools/go/analysis"
)

var tunerAnalyzer = &analysis.Analyzer{
	Name:     "gctuner",
	Doc:      "report GOGC tuners that run from a finalizer after each collection",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      gcTuner,
}

// tuners are the packages of such tuners.
var tuners = map[string]bool{
	"github.com/bytedance/gopkg/util/gctuner": true, "github.com/cch123/gogctuner": true,
}

func gcTuner(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	for _, f := range s.files {
		for _, i := range f.Imports {
			if tuners[importPath(i)] {
				s.report(i, "finalizer-tuner", importPath(i)+" sets GOGC from a finalizer after each collection; "+tunerHarm)
			}
		}
	}
	if len(s.calls[setGCPercent]) == 0 {
		return nil, nil
	}
	for _, at := range s.calls["runtime.SetFinalizer"] {
		if len(at.call().Args) == 2 && s.rearms(at) {
			s.report(at.node, "finalizer-tuner",
				"this package sets GOGC, and this finalizer sets itself again after each collection; "+tunerHarm)
		}
	}
	return nil, nil
}

const tunerHarm = "it sees the heap one collection late, waits for other finalizers, and works against a memory " +
	"limit; GOMEMLIMIT bounds the heap as it grows"

// rearms reports whether the finalizer of a call sets a finalizer itself.
func (s *source) rearms(at site) bool {
	var body ast.Node
	switch f := ast.Unparen(at.call().Args[1]).(type) {
	case *ast.FuncLit:
		body = f.Body
	default:
		if fn, ok := s.object(f).(*types.Func); ok {
			if d := s.function(fn); d != nil {
				body = d.Body
			}
		}
	}
	// Report only the call that arms it first, not the one within.
	if body == nil || within(at.node, body) {
		return false
	}
	for _, other := range s.calls["runtime.SetFinalizer"] {
		if within(other.node, body) {
			return true
		}
	}
	return false
}

func within(n, outer ast.Node) bool { return outer.Pos() <= n.Pos() && n.End() <= outer.End() }
