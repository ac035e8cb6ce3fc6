// SPDX-License-Identifier: Apache-2.0

package vet

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
)

var ignoreAnalyzer = &analysis.Analyzer{
	Name:     "snugignore",
	Doc:      "report //snug:ignore comments that name no finding or give no reason",
	Requires: []*analysis.Analyzer{sourceAnalyzer},
	Run: func(pass *analysis.Pass) (any, error) {
		s := sourceOf(pass)
		for _, all := range s.ignores {
			for _, g := range all {
				switch {
				case g.id == "":
					s.report(g.at, idBadIgnore, "//snug:ignore names no finding; write //snug:ignore ID reason")
				case !known(g.id):
					s.report(g.at, idBadIgnore, "//snug:ignore "+g.id+": no such finding")
				case !g.reason:
					s.report(g.at, idBadIgnore, "//snug:ignore "+g.id+" gives no reason, so it silences nothing")
				}
			}
		}
		return nil, nil
	},
}

// ignore is a //snug:ignore comment.
type ignore struct {
	line   int
	id     string
	reason bool
	at     ast.Node
}

func (s *source) readIgnores(f *ast.File) {
	for _, g := range f.Comments {
		for _, c := range g.List {
			id, reason, ok := Ignore(strings.TrimPrefix(c.Text, "//"))
			if !ok {
				continue
			}
			at := Position(s.pass.Fset, c.Pos())
			s.ignores[at.Filename] = append(s.ignores[at.Filename], ignore{at.Line, id, reason, c})
		}
	}
}

// Ignore parses the text of a comment, without its comment mark, that silences a
// finding: snug:ignore ID reason. ok is false for other comments.
func Ignore(comment string) (id string, reason, ok bool) {
	rest, ok := strings.CutPrefix(comment, "snug:ignore")
	if !ok || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return "", false, false
	}
	// Text after a second comment mark is not the reason.
	rest, _, _ = strings.Cut(rest, "//")
	words := strings.Fields(rest)
	if len(words) == 0 {
		return "", false, true
	}
	return words[0], len(words) > 1, true
}

func known(id string) bool {
	return slices.ContainsFunc(checks, func(c Check) bool { return c.ID == id })
}

// ignored reports whether a comment silences a finding at a place.
func (s *source) ignored(pos token.Pos, id string) bool {
	at := Position(s.pass.Fset, pos)
	return slices.ContainsFunc(s.ignores[at.Filename], func(g ignore) bool {
		return g.id == id && g.reason && (g.line == at.Line || g.line == at.Line-1)
	})
}

// report reports a finding unless a comment silences it. The message is one sentence
// without a full stop; the first fix is safe to apply without review.
func (s *source) report(at analysis.Range, id, message string, fixes ...analysis.SuggestedFix) {
	if id != idBadIgnore && s.ignored(at.Pos(), id) {
		return
	}
	s.pass.Report(analysis.Diagnostic{
		Pos: at.Pos(), End: at.End(), Category: id, Message: message + " (" + id + ")", SuggestedFixes: fixes,
	})
}
