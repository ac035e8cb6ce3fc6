// SPDX-License-Identifier: Apache-2.0

package source

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/source/bounded"
	"github.com/snug-go/snug/cmd/snug/internal/source/govet"
)

func NewCheck(u *ui.UI) *cobra.Command {
	f := lintFlags{format: format{name: "text"}}
	f.Tree = true
	var build govet.Build
	cmd := &cobra.Command{
		Use:   "check [FILE|DIR]...",
		Short: "Check source and manifests for what does not fit the container",
		Long: `Check a tree before anything runs; the default is the current directory.

In Go source: calls that undo what Go has learned about the container, pools sized by the
machine, values that end a process at start, an old go line in go.mod. The go command loads
the packages, so they must compile. A Go file stands for its package. Test files are checked
with --tests, and of what the build leaves out, what --tags brings in.

In Kubernetes manifests, compose files, systemd units, Dockerfiles and .env files: divisors
that make GOMEMLIMIT 128 bytes, sizes that Go cannot parse, references to limits that do
not exist, variables that pin what Go follows by itself. You need no cluster. You can
pipe in the output of helm and kustomize (-); --helm and --kustomize run them.

To silence a finding, put a comment on its line or the line above, with a reason:
//snug:ignore ID reason, or # snug:ignore ID reason; or set the annotation
` + lint.IgnoreAnnotation + `: "ID reason" on the pod or its object.

The exit status is 3 if there is a finding at the level of --fail-on or above.

snug vet checks source alone and takes packages as go vet does; snug lint checks manifests
alone.`,
		Example: `  snug check
  snug check --fix .
  helm template ./chart | snug check -
  snug check --format github --fail-on error .    in CI
  snug explain gomemlimit-divisor`,
		Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 && f.Helm == "" && f.Kustomize == "" {
				args = []string{"."}
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			// Before --fix writes anything, so that Ctrl-C leaves everything as it was.
			src, err := load(ctx, args, build)
			if err != nil {
				return err
			}
			files := slices.DeleteFunc(slices.Clone(args), goFile)
			return f.run(u, files, func(d *finding.Lint) (finding.Document, error) {
				c := &finding.Check{Lint: *d, Packages: src.packages}
				c.Kind = finding.KindCheck
				c.Inputs = c.Inputs[:len(c.Inputs)-len(files)] // --helm and --kustomize
				for _, a := range args {
					c.Inputs = append(c.Inputs, finding.UTF8(a))
				}
				err := f.source(c, src)
				*d = c.Lint // rendered, and judged by --fail-on
				return c, err
			})
		},
	}
	f.add(u, cmd)
	buildFlags(cmd, &build)
	return cmd
}

// goSource holds the findings in the Go packages below some paths. Packages that cannot be loaded
// are a gap, because the rest of the answer holds without them.
type goSource struct {
	packages int
	found    []govet.Found
	unknown  []finding.Gap
	hint     string // against the first gap of source
}

// lacks adds a gap of source, and what helps against it; "" = nothing of its own.
func (src *goSource) lacks(file, why, hint string) {
	src.hint = cmp.Or(src.hint, hint, "name a directory to check all packages below it")
	src.unknown = append(src.unknown,
		finding.Gap{Field: finding.GapSource, File: finding.UTF8(file), Why: finding.UTF8(why)})
}

// load analyzes the Go packages below paths.
func load(ctx context.Context, paths []string, build govet.Build) (*goSource, error) {
	src := &goSource{}
	for _, path := range paths {
		if _, err := os.Stat(path); err != nil && goFile(path) {
			return nil, message.Failed("cannot read "+path+": "+message.Reason(err), "name a file, a directory, or - for stdin")
		}
	}
	var files []string // of all packages
	failed := false    // the files of some packages are unknown
	for _, l := range loadings(paths) {
		if l.pattern == noModule {
			src.lacks(l.dir, "Go files without a go.mod above them", "go mod init makes a go.mod")
			continue
		}
		r, wrong := govet.Run(ctx, l.dir, []string{l.pattern}, build)
		if ctx.Err() != nil {
			return nil, govet.Interrupted()
		}
		src.packages += r.Packages
		files = append(files, r.Files...)
		failed = failed || wrong != nil && len(r.Files) == 0
		for i := range r.Found {
			f := &r.Found[i]
			if !slices.ContainsFunc(src.found, func(o govet.Found) bool {
				return o.ID == f.ID && o.File == f.File && o.Line == f.Line && o.Column == f.Column
			}) {
				src.found = append(src.found, *f)
			}
		}
		if wrong != nil {
			src.unknown = append(src.unknown, notLoaded(l.dir, wrong))
		}
	}
	if !failed {
		src.notLoaded(paths, files, build.Tags)
	}
	return src, nil
}

// notLoaded adds a gap for each Go file among paths that is not one of the files of packages.
func (src *goSource) notLoaded(paths, files []string, tags string) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || !strings.HasSuffix(path, ".go") ||
			slices.ContainsFunc(files, func(file string) bool {
				if filepath.Base(file) != filepath.Base(path) {
					return false
				}
				other, err := os.Stat(file)
				return err == nil && os.SameFile(info, other)
			}) {
			continue
		}
		why, hint := govet.LeftOut(path, tags)
		src.lacks(path, why, hint)
	}
}

// nothing returns an error if no file of a document was looked at, but some should have been.
func nothing(d *finding.Check, src *goSource) error {
	if d.Files > 0 || d.Packages > 0 {
		return nil
	}
	for _, g := range d.Unknown {
		if g.Field == finding.GapSource {
			return message.Failed(g.File+": nothing was checked: "+g.Why, src.hint)
		}
	}
	return nil
}

// source adds the findings in Go source, and fixes those that can be with --fix. With an error the
// document is complete.
func (f *lintFlags) source(d *finding.Check, src *goSource) error {
	d.Unknown = append(d.Unknown, src.unknown...)
	var failed error
	if f.Mend {
		failed = govet.Fix(src.found)
	}
	for i := range src.found {
		v := &src.found[i]
		column := v.Column
		if f.Runes {
			column = inRunes(v.File, v.Line, column)
		}
		m := finding.LintMistake{Mistake: mistake(v.ID, v.File, v.Line, &column, v.Message)}
		m.Fix, m.Fixable, m.Fixed = v.Fix, len(v.Edits) > 0, v.Fixed && failed == nil
		d.Findings = append(d.Findings, m)
	}
	slices.SortStableFunc(d.Findings, func(a, b finding.LintMistake) int { return order(&a.Mistake, &b.Mistake) })
	d.Next = nextOf(d.Findings)
	if failed == nil {
		failed = nothing(d, src)
	}
	return failed
}

// nextOf returns the command to try next: what a fix leaves to do, or else the explanation of the
// worst finding.
func nextOf(all []finding.LintMistake) string {
	v := &finding.Vet{}
	for i := range all {
		v.Findings = append(v.Findings, all[i].Mistake)
	}
	return vetNext(v)
}

// maxSource bounds a file with a finding, in bytes.
const maxSource = 64 << 20

// inRunes converts a column in bytes to one in code points, both from 1.
func inRunes(file string, line, column int) int {
	text, err := bounded.ReadFile(file, maxSource)
	if err != nil {
		return column
	}
	lines := strings.SplitN(string(text), "\n", line+1)
	if line < 1 || len(lines) < line || column < 1 || column-1 > len(lines[line-1]) {
		return column
	}
	return utf8.RuneCountInString(lines[line-1][:column-1]) + 1
}
