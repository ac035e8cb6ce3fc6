// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"strconv"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var goenvAnalyzer = &analysis.Analyzer{
	Name: "goenv",
	Doc: "report values of GOMEMLIMIT, GOGC, GOMAXPROCS and GODEBUG that end a process, mislead it, or are set too " +
		"late",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      goEnv,
}

func goEnv(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	for _, at := range s.calls["os.Setenv"] {
		call := at.call()
		if len(call.Args) != 2 {
			continue
		}
		name, _ := s.text(call.Args[0])
		// The runtime reads GODEBUG again when it changes, and children inherit all knobs.
		if knobName(name) == name && name != "" && name != "GODEBUG" &&
			!s.imports("os/exec", "syscall", "golang.org/x/sys/unix") {
			s.report(call, "setenv-too-late",
				"os.Setenv sets "+name+" too late: the runtime reads it once, before main; "+instead[name])
		}
	}
	for _, at := range s.knobs {
		lit := at.node.(*ast.BasicLit)
		text, _ := s.text(lit)
		if name, value, ok := strings.Cut(text, "="); ok && knobName(name) == name && plain(value) {
			s.judge(lit, name, value, false)
			continue
		}
		if knobName(text) != text {
			continue
		}
		if value := s.beside(at); value != nil {
			if v, ok := s.text(value); ok && plain(v) {
				_, literal := value.(*ast.BasicLit)
				s.judge(value, text, v, literal)
			}
		}
	}
	for _, at := range s.calls["runtime/debug.SetMemoryLimit"] {
		call := at.call()
		if len(call.Args) != 1 {
			continue
		}
		switch n, ok := s.number(call.Args[0]); {
		case !ok || n < 0:
		case n < minMemLimit:
			s.report(call, idTinyMemLimit,
				"debug.SetMemoryLimit("+strconv.FormatInt(n, 10)+
					") is in bytes, and less than an idle Go program needs: it collects all the time; math.MaxInt64 sets no limit, "+
					"-1 reads the limit")
		case isHuge(n):
			s.report(call, idHugeMemLimit,
				"debug.SetMemoryLimit of "+tebibytes(n)+
					", which no container reaches: it bounds nothing; GOMEMLIMIT in the environment fits the container, "+
					"math.MaxInt64 sets no limit")
		}
	}
	return nil, nil
}

// instead is how to set each knob of a running process.
var instead = map[string]string{
	"GOMAXPROCS": "call runtime.GOMAXPROCS", "GOGC": "call debug.SetGCPercent", "GOMEMLIMIT": "call debug.SetMemoryLimit",
}

// plain reports whether a text is a value, not a format, a pattern or prose.
func plain(value string) bool {
	return !strings.ContainsAny(value, "%$ {}<>()\\\n") || isPercent(value)
}

func isPercent(value string) bool {
	_, err := strconv.Atoi(strings.TrimSuffix(value, "%"))
	return err == nil
}

// beside returns the value that belongs to the name of a variable: the second argument
// of Setenv and similar functions, the Value next to a Name, the value of a map's key;
// or nil.
func (s *source) beside(at site) ast.Expr {
	switch p := at.parent(0).(type) {
	case *ast.CallExpr:
		sel, ok := p.Fun.(*ast.SelectorExpr)
		if ok && strings.EqualFold(sel.Sel.Name, "setenv") && len(p.Args) == 2 && p.Args[0] == at.node {
			return p.Args[1]
		}
	case *ast.KeyValueExpr:
		if p.Key == at.node {
			return p.Value
		}
		lit, ok := at.parent(1).(*ast.CompositeLit)
		if key, is := p.Key.(*ast.Ident); !ok || !is || key.Name != "Name" {
			return nil
		}
		for _, e := range lit.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				if key, ok := kv.Key.(*ast.Ident); ok && key.Name == "Value" {
					return kv.Value
				}
			}
		}
	}
	return nil
}

// judge reports the problems of a value. literal means that the range contains only the
// value, and can be replaced.
func (s *source) judge(at analysis.Range, name, value string, literal bool) {
	for _, p := range Knob(name, value) {
		var fixes []analysis.SuggestedFix
		// If the unit is only likely, the user decides.
		if literal && p.Fix != "" && p.ID == idMalformedMemLimit {
			fixes = []analysis.SuggestedFix{{Message: "write " + p.Fix, TextEdits: []analysis.TextEdit{{
				Pos: at.Pos(), End: at.End(), NewText: []byte(strconv.Quote(p.Fix)),
			}}}}
		}
		text := p.Text
		if p.Fix != "" {
			text += "; write " + name + "=" + p.Fix
		}
		s.report(at, p.ID, text, fixes...)
	}
}
