// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// lintFlags are what snug lint was asked for.
type lintFlags struct {
	failOn, format  string
	fix, sarif      bool
	helm, kustomize string
	images          []string
}

func newLint(u *ui) *cobra.Command {
	f := lintFlags{failOn: "warning", format: "text"}
	cmd := &cobra.Command{
		Use:   "lint FILE|DIR|-...",
		Short: "Find in manifests what makes a Go program misfit its container",
		Long: `Look through Kubernetes manifests, YAML or JSON, for values that kill a Go program or
mislead it: divisors that make GOMEMLIMIT 128 bytes, sizes that Go does not read, references
to limits that there are not, variables that pin what Go 1.25 follows by itself. No cluster
is needed. What helm and kustomize print can be piped in (-); --helm and --kustomize run
them. Of directories the files *.yaml, *.yml and *.json are read, compose files among them,
and systemd units with their drop-ins: the same rules hold there, by mem_limit and cpus, by
MemoryMax, MemoryHigh and CPUQuota.

An annotation ` + lint.IgnoreAnnotation + `: "ID reason" on a pod or its object silences a finding, and
so does a comment on its line or above it: # snug:ignore ID reason.

It ends with 3 when something is found that is as bad as --fail-on or worse.`,
		Example: `  snug lint deploy/
  helm template ./chart | snug lint -
  snug lint --fix deploy/
  snug lint --image server=./server deploy/    advice for the Go that built ./server
  snug explain gomemlimit-divisor`,
		GroupID: groupCluster,
		Args:    cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			least, ok := severities[f.failOn]
			if !ok {
				return usage("wrong value, --fail-on "+shellQuote(f.failOn), "write info, warning, error or never")
			}
			render, err := f.render(u)
			if err != nil {
				return err
			}
			if f.fix && (f.helm != "" || f.kustomize != "" || slices.Contains(args, "-")) {
				return usage("no file to fix, what is piped in or printed by a tool", "name files or directories, or leave out --fix")
			}
			l := newLinter(u, &f)
			if err := l.gather(args); err != nil {
				return err
			}
			if err := l.check(); err != nil {
				return err
			}
			d := l.document()
			for _, g := range d.Unknown {
				u.note("warning: not looked at, %s, %s", g.Why, g.File)
			}
			if err := render(d); err != nil {
				return err
			}
			if least != "" && d.Worst().Level() >= least.Level() {
				return &failure{code: exitFinding}
			}
			if err := l.left(); err != nil {
				return err
			}
			return unread(d.Unknown)
		},
	}
	u.jsonFlag(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.fix, "fix", false, "write the fixes that are safe into the files")
	flags.StringVar(&f.failOn, "fail-on", f.failOn, "end with 3 from this `SEVERITY` on: info, warning, error or never")
	flags.StringVar(&f.format, "format", f.format, "answer as text, json, sarif (code scanning) or github (annotations)")
	flags.BoolVar(&f.sarif, "sarif", false, "the same as --format sarif")
	flags.StringVar(&f.helm, "helm", "", "run helm template on `CHART` and look at what it prints")
	flags.StringVar(&f.kustomize, "kustomize", "", "run kustomize build on `DIR` and look at what it prints")
	flags.StringArrayVar(&f.images, "image", nil, "`NAME=FILE`: the program, OCI layout or docker save archive of an image; for each image once")
	return cmd
}

// render is how the answer is printed.
func (f *lintFlags) render(u *ui) (func(*finding.Lint) error, error) {
	format := f.format
	switch {
	case f.sarif && format != "text" && format != "sarif", u.json && format != "text" && format != "json", f.sarif && u.json:
		return nil, usage("two formats", "one of --json, --sarif and --format")
	case f.sarif:
		format = "sarif"
	case u.json:
		format = "json"
	}
	switch format {
	case "text":
		return func(d *finding.Lint) error { return u.answer(d) }, nil
	case "json":
		return func(d *finding.Lint) error { u.json = true; return u.answer(d) }, nil
	case "sarif":
		f.sarif = true
		return func(d *finding.Lint) error {
			text, err := report.SARIF(d, lintTexts(), build().Version)
			if err != nil {
				return err
			}
			return u.write(text)
		}, nil
	case "github":
		return func(d *finding.Lint) error { return u.write(report.Annotations(d)) }, nil
	}
	return nil, usage("wrong value, --format "+shellQuote(f.format), "write "+strings.Join([]string{"text", "json", "sarif"}, ", ")+" or github")
}

// lintTexts are what ids mean, at length.
func lintTexts() map[string]string {
	texts := map[string]string{}
	for _, e := range explanations() {
		texts[e.ID] = e.Text
	}
	return texts
}
