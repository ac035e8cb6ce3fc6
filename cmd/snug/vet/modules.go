// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/version"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var automaxprocsAnalyzer = &analysis.Analyzer{
	Name:     "automaxprocs",
	Doc:      "report automaxprocs if Go reads the CPU quota itself",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      autoMaxProcs,
}

var automemlimitAnalyzer = &analysis.Analyzer{
	Name:     "automemlimit",
	Doc:      "report automemlimit if it reads the memory limit only once",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      autoMemLimit,
}

const maxprocsPath = "go.uber.org/automaxprocs"

func autoMaxProcs(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	if pass.Module == nil || pass.Module.GoVersion == "" || pass.Module.Path == maxprocsPath || !s.imports(maxprocsPath) {
		return nil, nil
	}
	line := "go" + strings.TrimPrefix(pass.Module.GoVersion, "go")
	if version.Compare(version.Lang(line), quotaAware) < 0 || s.ignoresQuota() != nil {
		return nil, nil
	}
	for _, f := range s.files {
		i := importOf(f, maxprocsPath)
		if i == nil {
			i = importOf(f, maxprocsPath+"/maxprocs")
		}
		if i == nil {
			continue
		}
		var fixes []analysis.SuggestedFix
		if isBlank(i) {
			// Without it Go takes 2 Ps below one core, where it takes the 1 that snug takes.
			fix := analysis.SuggestedFix{Message: "use snug, which follows the tightest limit of all levels; or remove it, " +
				"where no limit is below one core", TextEdits: []analysis.TextEdit{replaceImport(i, snugPath+"/auto")}}
			if importOf(f, snugPath+"/auto") != nil {
				fix = analysis.SuggestedFix{Message: "remove it: snug follows the CPU quota",
					TextEdits: s.removeImport(f, importPath(i))}
			}
			fixes = append(fixes, fix)
		}
		s.report(i, "automaxprocs-pins",
			"automaxprocs reads the CPU quota once and pins GOMAXPROCS, rounded down; programs of "+line+
				" read the quota themselves and follow it", fixes...)
	}
	return nil, nil
}

func autoMemLimit(pass *analysis.Pass) (any, error) {
	s := sourceOf(pass)
	if pass.Module != nil && pass.Module.Path == memlimitPath {
		return nil, nil
	}
	follows := len(s.calls[memlimitPath+"/memlimit.WithRefreshInterval"]) > 0
	for _, f := range s.files {
		i := importOf(f, memlimitPath)
		sets := i != nil
		if i == nil {
			i = importOf(f, memlimitPath+"/memlimit")
			sets = s.setsMemLimit(f)
		}
		if i == nil || !sets || follows {
			continue
		}
		var fixes []analysis.SuggestedFix
		if isBlank(i) && importOf(f, snugPath+"/auto") == nil {
			fixes = []analysis.SuggestedFix{{
				Message: "use snug, which follows the limit", TextEdits: []analysis.TextEdit{replaceImport(i, snugPath+"/auto")},
			}}
		}
		s.report(i, "automemlimit-once",
			"automemlimit reads the memory limit once: after a resize of the container the old GOMEMLIMIT stays, above the "+
				"limit if the container shrinks", fixes...)
	}
	return nil, nil
}

// setsMemLimit reports whether a file calls a function of automemlimit that sets the
// limit.
func (s *source) setsMemLimit(f *ast.File) bool {
	for name, sites := range s.calls {
		rest, ok := strings.CutPrefix(name, memlimitPath+"/memlimit.Set")
		if !ok || rest == "" && len(sites) == 0 {
			continue
		}
		for _, at := range sites {
			if at.file() == f {
				return true
			}
		}
	}
	return false
}

// importOf returns the import of a path in a file, or nil.
func importOf(f *ast.File, path string) *ast.ImportSpec {
	for _, i := range f.Imports {
		if importPath(i) == path {
			return i
		}
	}
	return nil
}

func isBlank(i *ast.ImportSpec) bool { return i.Name != nil && i.Name.Name == "_" }
