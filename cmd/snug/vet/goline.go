// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/token"
	"go/version"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var golineAnalyzer = &analysis.Analyzer{
	Name:     "goline",
	Doc:      "report a go line below 1.25, which prevents Go from reading the CPU quota",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      goLine,
}

// quotaAware is the first language version whose programs read the CPU quota. Source:
// containermaxprocs and updatemaxprocs in internal/godebugs/table.go.
const quotaAware = "go1.25"

func goLine(pass *analysis.Pass) (any, error) {
	// Only the main module of a program decides, so a library's go line does not.
	s := sourceOf(pass)
	if pass.Pkg.Name() != "main" || len(s.files) == 0 || s.sizesItself() {
		return nil, nil
	}
	dir, mod, work := s.module()
	if mod == nil || helper(strings.TrimPrefix(dir, filepath.Dir(mod.path))) ||
		pass.Module != nil && pass.Module.Version != "" {
		return nil, nil // no module, a helper, or a dependency
	}
	says := mod
	if work != nil {
		says = work
	}
	if says.goLine == 0 || says.silences() || mod.requires[maxprocsPath] || mod.requires[snugPath] {
		return nil, nil // a program may import one of these by another package of the module
	}
	set := maps.Clone(says.godebug)
	for _, f := range s.files {
		maps.Copy(set, directives(f))
	}
	line, off := says.builds(set)
	if len(off) == 0 {
		return nil, nil
	}
	message := "go " + says.version + " builds " + strings.Join(off, ",") +
		" into the programs of this module, with every version of Go: GOMAXPROCS is the machine's number of CPUs and does " +
		"not follow the CPU quota; write go 1.25, or godebug containermaxprocs=1"
	if v := set["default"]; v == line && v != "go"+says.version {
		message = "godebug default=" + v + strings.TrimPrefix(message, "go "+says.version)
	}
	file := pass.Fset.AddFile(says.path, -1, len(says.text))
	file.SetLinesForContent(says.text)
	pos := file.LineStart(says.goLine)
	s.report(span{pos, pos + token.Pos(len("go ")+len(says.version))}, GoLineOld, message)
	return nil, nil
}

func (m *modFile) silences() bool { return slices.Contains(m.ignores, GoLineOld) }

// builds returns the version of Go whose defaults are built into programs with these
// GODEBUG settings, and the defaults that prevent reading the quota; nil if the quota is
// read, or if a setting decides.
func (m *modFile) builds(set map[string]string) (line string, off []string) {
	line = "go" + m.version
	if v := set["default"]; version.IsValid(v) {
		line = v
	}
	if _, decided := set["containermaxprocs"]; decided || version.Compare(version.Lang(line), quotaAware) >= 0 {
		return line, nil
	}
	off = []string{"containermaxprocs=0"}
	if _, decided := set["updatemaxprocs"]; !decided {
		off = append(off, "updatemaxprocs=0")
	}
	return line, off
}

// helper reports whether a directory of a module contains programs that are not
// deployed: examples, and tools for the module's developers.
func helper(dir string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(dir), "/"), func(name string) bool {
		switch name {
		case "internal", "example", "examples", "test", "tests", "integration", "hack", "scripts", "script", "tools",
			"benchmark", "benchmarks",
			"contrib", "demo", "demos", "e2e", "fuzz", "ci", "gen", "generator", "codegen":
			return true
		}
		return false
	})
}

type span struct{ pos, end token.Pos }

func (s span) Pos() token.Pos { return s.pos }
func (s span) End() token.Pos { return s.end }

// sizesItself reports whether a program sets GOMAXPROCS itself or by a module, to another number than
// the machine's, which it would be anyway.
func (s *source) sizesItself() bool {
	if s.imports(maxprocsPath, snugPath) {
		return true
	}
	machine := s.setFrom(s.calls["runtime.NumCPU"])
	return slices.ContainsFunc(s.calls["runtime.GOMAXPROCS"],
		func(at site) bool { return !s.reads(at.call()) && !machine[at.call()] })
}

// directives returns the //go:debug lines of a file.
func directives(f *ast.File) map[string]string {
	set := map[string]string{}
	for _, g := range f.Comments {
		if g.Pos() > f.Package {
			break
		}
		for _, c := range g.List {
			if text, ok := strings.CutPrefix(c.Text, "//go:debug "); ok {
				if k, v, ok := strings.Cut(strings.TrimSpace(text), "="); ok {
					set[k] = v
				}
			}
		}
	}
	return set
}
