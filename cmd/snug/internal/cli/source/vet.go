// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/explain"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/envfiles"
	"github.com/snug-go/snug/cmd/snug/internal/source/govet"
	"github.com/snug-go/snug/cmd/snug/vet"
)

func NewVet(u *ui.UI) *cobra.Command {
	var fails usage.FailOn
	form := format{name: "text"}
	var build govet.Build
	fix := false
	cmd := &cobra.Command{
		Use:   "vet [PACKAGE...]",
		Short: "Check source for calls and settings that do not fit the container",
		Long: `Check packages for mistakes that show before anything runs: calls that undo what Go has
learned about the container, pools sized by the machine, values that end a process at
start, an old go line. Name packages as for go vet; the default is the one in the current
directory. Dockerfiles, systemd units, .env and compose files beside them are checked for
the same variables. The go command loads the packages, so they must compile.

To silence a finding, in any kind of file, put a comment on its line or the line above:
//snug:ignore ID reason. Test files are checked with --tests.

The exit status is 3 if there is a finding at the level of --fail-on or above. The source
part also runs as go vet -vettool=$(which snug) PACKAGE..., and in linters that import
github.com/snug-go/snug/cmd/snug/vet.`,
		Example: `  snug vet ./...
  snug vet --fix ./...
  snug explain pool-numcpu`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			minimum, err := fails.Least()
			if err != nil {
				return err
			}
			if len(args) == 0 {
				args = []string{"."}
			}
			for _, a := range args {
				if err := vetPattern(a); err != nil {
					return err
				}
			}
			render, err := form.render(u)
			if err != nil {
				return err
			}
			d := &finding.Vet{Head: finding.NewHead(finding.KindVet), Patterns: args, Findings: []finding.Mistake{},
				Unknown: []finding.Gap{}}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			r, wrong := govet.Run(ctx, "", args, build)
			found := r.Found
			if wrong != nil && len(found) == 0 && (!form.forTools() || ctx.Err() != nil) {
				return wrong
			}
			if fix && wrong == nil {
				if err := govet.Fix(found); err != nil {
					return err
				}
			}
			for i := range found {
				f := &found[i]
				column := f.Column
				if form.sarif {
					column = inRunes(f.File, f.Line, column)
				}
				m := mistake(f.ID, f.File, f.Line, &column, f.Message)
				m.Fix, m.Fixable, m.Fixed = f.Fix, len(f.Edits) > 0, f.Fixed
				d.Findings = append(d.Findings, m)
			}
			vetFiles(ctx, args, d)
			if ctx.Err() != nil && !slices.ContainsFunc(d.Findings, func(m finding.Mistake) bool { return m.Fixed }) {
				return govet.Interrupted()
			}
			for _, g := range d.Unknown {
				u.Note("warning: %s: not looked at: %s", g.File, g.Why)
			}
			slices.SortStableFunc(d.Findings, func(a, b finding.Mistake) int { return order(&a, &b) })
			d.Next = vetNext(d)
			if err := render(d, forTools(d, wrong)); err != nil {
				return err
			}
			if wrong != nil {
				return wrong
			}
			if minimum != "" && d.Worst().Level() >= minimum.Level() {
				return &message.Failure{Code: message.ExitFinding}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&fix, "fix", false, "apply safe fixes")
	form.add(u, cmd)
	buildFlags(cmd, &build)
	fails.Add(cmd)
	return cmd
}

// buildFlags adds the flags that say what the go command builds.
func buildFlags(cmd *cobra.Command, b *govet.Build) {
	cmd.Flags().StringVar(&b.Tags, "tags", "", "build `TAGS`, as for the go command")
	cmd.Flags().BoolVar(&b.Tests, "tests", false, "also check test files of Go")
}

// order sorts findings: an old go line first, because the others depend on it, then by file and line.
func order(a, b *finding.Mistake) int {
	late := func(m *finding.Mistake) int {
		if m.ID == vet.GoLineOld {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(late(a), late(b)), cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
}

// forTools returns the findings in the form of json:lint, with packages that could not be loaded as a
// gap, because tools do not show stderr.
func forTools(d *finding.Vet, wrong error) *finding.Lint {
	l := &finding.Lint{Findings: []finding.LintMistake{}, Unknown: slices.Clone(d.Unknown)}
	for i := range d.Findings {
		l.Findings = append(l.Findings, finding.LintMistake{Mistake: d.Findings[i]})
	}
	if wrong != nil {
		l.Unknown = append(l.Unknown, notLoaded(".", wrong))
	}
	return l
}

// notLoaded returns the gap for packages below a directory that could not be loaded.
func notLoaded(dir string, wrong error) finding.Gap {
	why, _, _ := strings.Cut(wrong.Error(), "\n")
	why = strings.TrimPrefix(why, "cannot vet: ")
	return finding.Gap{Field: finding.GapFindings, File: finding.UTF8(dir),
		Why: finding.UTF8(message.Cut(why, message.MaxShown))}
}

// maxPattern is the maximum length of a pattern in bytes: no system has longer paths.
const maxPattern = 4096

// vetPattern returns an error if an argument cannot name packages.
func vetPattern(arg string) error {
	hint := "packages are named as for go vet: ./... or ./dir or an import path"
	switch {
	case strings.HasPrefix(arg, "-"):
		return message.Usage(message.Typed(arg)+": not a package", "snug vet --help lists the flags")
	case len(arg) > maxPattern, !utf8.ValidString(arg), strings.ContainsFunc(arg, unicode.IsControl):
		return message.Usage(message.Typed(arg)+": not a package", hint)
	}
	return nil
}

// vetNext returns the command to try next: what a fix leaves to do, or else the explanation of the
// worst finding, but of an old go line before warnings.
func vetNext(d *finding.Vet) string {
	var worst *finding.Mistake
	for i := range d.Findings {
		m := &d.Findings[i]
		if m.Fixed {
			if strings.Contains(m.Fix, "snug") {
				return "go get github.com/snug-go/snug@latest && go mod tidy"
			}
			continue
		}
		old := worst != nil && worst.ID == vet.GoLineOld && m.Severity != finding.SeverityError
		if worst == nil || m.Severity.Level() > worst.Severity.Level() && !old {
			worst = m
		}
	}
	if worst != nil {
		return "snug explain " + worst.ID
	}
	return ""
}

// vetFiles adds the findings in the files beside packages, for patterns that name a directory.
func vetFiles(ctx context.Context, patterns []string, d *finding.Vet) {
	seen := map[string]bool{}
	first := func(key string) bool {
		again := seen[key]
		seen[key] = true
		return !again
	}
	for _, p := range patterns {
		dir, deep := strings.CutSuffix(filepath.ToSlash(p), "/...")
		if p == "..." {
			dir, deep = ".", true
		}
		if !filepath.IsAbs(dir) && dir != "." && !strings.HasPrefix(dir, "./") && dir != ".." &&
			!strings.HasPrefix(dir, "../") {
			continue // an import path
		}
		found, skipped := envfiles.Scan(ctx, filepath.FromSlash(dir), deep)
		for _, f := range found {
			m := mistake(f.ID, f.File, f.Line, nil, f.Text)
			m.Fix = f.Fix
			if first(m.Target + " " + m.ID) {
				d.Findings = append(d.Findings, m)
			}
		}
		for _, s := range skipped {
			if file := beneath(s.File); first(file) {
				field := finding.GapFindings
				if s.Out {
					field = finding.GapKnobs
				}
				d.Unknown = append(d.Unknown, finding.Gap{Field: field, File: finding.UTF8(file), Why: s.Why})
			}
		}
	}
}

// mistake returns a finding at a line, with the title of its id. A column below 1 is unknown, as nil.
func mistake(id, file string, line int, column *int, message string) finding.Mistake {
	file = beneath(file)
	if column != nil && *column < 1 {
		column = nil
	}
	m := finding.Mistake{Message: strings.TrimSuffix(message, " ("+id+")"), File: file, Line: line, Column: column}
	m.ID, m.Target, m.Evidence, m.Severity = id, file+":"+
		strconv.Itoa(line), []finding.Evidence{}, finding.Severity(vet.Severity(id))
	for _, e := range explain.OfVet() {
		if e.ID == id {
			m.Title = e.Title
		}
	}
	return m
}

// beneath returns a path relative to the current directory if it is below, else unchanged.
func beneath(file string) string {
	dir, err := os.Getwd()
	if err != nil || !filepath.IsAbs(file) {
		return filepath.Clean(file)
	}
	if short, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(short) {
		return short
	}
	return file
}
