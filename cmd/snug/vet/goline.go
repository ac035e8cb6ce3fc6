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
	Doc:      "report a go line below 1.25, which keeps Go from reading the CPU quota",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run:      goLine,
}

// aware is the language version from which on programs read the CPU quota. Source:
// containermaxprocs and updatemaxprocs in internal/godebugs/table.go.
const aware = "go1.25"

func goLine(pass *analysis.Pass) (any, error) {
	// Only the main module of a program decides, so a library's go line does not.
	s := sourceOf(pass)
	if pass.Pkg.Name() != "main" || len(s.files) == 0 || s.sizesItself() {
		return nil, nil
	}
	dir, mod, work := s.module()
	if mod == nil || helper(strings.TrimPrefix(dir, filepath.Dir(mod.path))) || pass.Module != nil && pass.Module.Version != "" {
		return nil, nil // no module, or one that somebody else builds
	}
	says := mod
	if work != nil {
		says = work
	}
	if says.goLine == 0 || says.silences() {
		return nil, nil
	}
	set := maps.Clone(says.godebug)
	for _, f := range s.files {
		maps.Copy(set, directives(f))
	}
	line, off := says.builds(set)
	if len(off) == 0 {
		return nil, nil
	}
	message := "go " + says.version + " builds " + strings.Join(off, ",") + " into the programs of this module, whatever Go compiles them: GOMAXPROCS is the number of CPUs of the machine and does not follow the CPU quota; write go 1.25, or godebug containermaxprocs=1"
	if v := set["default"]; v == line && v != "go"+says.version {
		message = "godebug default=" + v + strings.TrimPrefix(message, "go "+says.version)
	}
	file := pass.Fset.AddFile(says.path, -1, len(says.text))
	file.SetLinesForContent(says.text)
	pos := file.LineStart(says.goLine)
	s.report(span{pos, pos + token.Pos(len("go ")+len(says.version))}, "go-line-old", message)
	return nil, nil
}

func (m *modFile) silences() bool { return slices.Contains(m.ignores, "go-line-old") }

// builds is the version of Go whose defaults are built into programs with these GODEBUG
// settings, and what of them keeps the quota from being read; nil when it is read, or a
// setting has decided.
func (m *modFile) builds(set map[string]string) (line string, off []string) {
	line = "go" + m.version
	if v := set["default"]; version.IsValid(v) {
		line = v
	}
	if _, decided := set["containermaxprocs"]; decided || version.Compare(version.Lang(line), aware) >= 0 {
		return line, nil
	}
	off = []string{"containermaxprocs=0"}
	if _, decided := set["updatemaxprocs"]; !decided {
		off = append(off, "updatemaxprocs=0")
	}
	return line, off
}

// helper tells whether a directory of a module holds programs that nobody deploys:
// examples, and tools for those who work on the module.
func helper(dir string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(dir), "/"), func(name string) bool {
		switch name {
		case "internal", "example", "examples", "test", "tests", "integration", "hack", "scripts", "script", "tools", "benchmark", "benchmarks",
			"contrib", "demo", "demos", "e2e", "fuzz", "ci", "gen", "generator", "codegen":
			return true
		}
		return false
	})
}

type span struct{ pos, end token.Pos }

func (s span) Pos() token.Pos { return s.pos }
func (s span) End() token.Pos { return s.end }

// sizesItself tells whether a program sets GOMAXPROCS itself, or by a module that does.
func (s *source) sizesItself() bool {
	if s.imports("go.uber.org/automaxprocs", snugPath) {
		return true
	}
	return slices.ContainsFunc(s.calls["runtime.GOMAXPROCS"], func(at site) bool { return !s.reads(at.call()) })
}

// directives are the //go:debug lines of a file.
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
