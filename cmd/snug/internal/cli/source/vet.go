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
	tags, fix := "", false
	cmd := &cobra.Command{
		Use:   "vet [PACKAGE...]",
		Short: "Check source for calls and settings that do not fit the container",
		Long: `Check packages for mistakes that show before anything runs: calls that undo what Go has
learned about the container, pools sized by the machine, values that end a process at
start, an old go line. Name packages as for go vet; the default is the one in the current
directory. Dockerfiles, systemd units, .env and compose files beside them are checked for
the same variables. The go command loads the packages, so they must compile.

To silence a finding, in any kind of file, put a comment on its line or the line above:
//snug:ignore ID reason. Test files are not checked.

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
			d := &finding.Vet{Head: finding.NewHead(finding.KindVet), Patterns: args, Findings: []finding.Mistake{}, Unknown: []finding.Gap{}}
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			r, wrong := govet.Run(ctx, "", args, tags)
			found := r.Found
			if wrong != nil && len(found) == 0 {
				return wrong
			}
			if fix && wrong == nil {
				if err := govet.Fix(found); err != nil {
					return err
				}
			}
			for i := range found {
				f := &found[i]
				m := mistake(f.ID, f.File, f.Line, &f.Column, f.Message)
				m.Fix, m.Fixable, m.Fixed = f.Fix, len(f.Edits) > 0, f.Fixed
				d.Findings = append(d.Findings, m)
			}
			vetFiles(ctx, args, d)
			if ctx.Err() != nil && !slices.ContainsFunc(d.Findings, func(m finding.Mistake) bool { return m.Fixed }) {
				return govet.Interrupted()
			}
			for _, g := range d.Unknown {
				u.Note("warning: not looked at, %s, %s", g.Why, g.File)
			}
			slices.SortStableFunc(d.Findings, func(a, b finding.Mistake) int {
				return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
			})
			d.Next = vetNext(d)
			if err := u.Answer(d); err != nil {
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
	u.JSONFlag(cmd.Flags())
	cmd.Flags().BoolVar(&fix, "fix", false, "apply safe fixes")
	cmd.Flags().StringVar(&tags, "tags", "", "build `TAGS`, as for the go command")
	fails.Add(cmd)
	return cmd
}

// maxPattern is the maximum length of a pattern in bytes: no system has longer paths.
const maxPattern = 4096

// vetPattern returns an error if an argument cannot name packages.
func vetPattern(arg string) error {
	hint := "packages are named as for go vet: ./... or ./dir or an import path"
	switch {
	case strings.HasPrefix(arg, "-"):
		return message.Usage("not a package, "+message.Typed(arg), "snug vet --help lists the flags")
	case len(arg) > maxPattern, !utf8.ValidString(arg), strings.ContainsFunc(arg, unicode.IsControl):
		return message.Usage("not a package, "+message.Typed(arg), hint)
	}
	return nil
}

// vetNext returns the command to try next: what a fix leaves to do, or else the
// explanation of the worst finding.
func vetNext(d *finding.Vet) string {
	var worst *finding.Mistake
	for i := range d.Findings {
		m := &d.Findings[i]
		if m.Fixed {
			if strings.Contains(m.Fix, "snug") {
				return "go get github.com/snug-go/snug@latest && go mod tidy"
			}
			if m.ID == "automaxprocs-pins" {
				return "go mod tidy"
			}
			continue
		}
		if worst == nil || m.Severity.Level() > worst.Severity.Level() {
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
		if !filepath.IsAbs(dir) && dir != "." && !strings.HasPrefix(dir, "./") && dir != ".." && !strings.HasPrefix(dir, "../") {
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
				d.Unknown = append(d.Unknown, finding.Gap{Field: "findings", File: finding.UTF8(file), Why: s.Why})
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
	m.ID, m.Target, m.Evidence, m.Severity = id, file+":"+strconv.Itoa(line), []finding.Evidence{}, finding.Severity(vet.Severity(id))
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
