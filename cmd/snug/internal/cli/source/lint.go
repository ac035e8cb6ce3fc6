// SPDX-License-Identifier: Apache-2.0

// Package source holds the commands that check files before anything runs: check, and its parts
// vet and lint.
package source

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/explain"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/lint"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/linter"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// lintFlags holds the flags of snug lint and snug check.
type lintFlags struct {
	fails usage.FailOn
	format
	linter.Options
}

func NewLint(u *ui.UI) *cobra.Command {
	f := lintFlags{format: format{name: "text"}}
	var size sizeFlags
	cmd := &cobra.Command{
		Use:   "lint FILE|DIR|-...",
		Short: "Check manifests for settings that do not fit the container",
		Long: `Check Kubernetes manifests, YAML or JSON, for values that kill or mislead a Go program:
divisors that make GOMEMLIMIT 128 bytes, sizes that Go cannot parse, references to limits
that do not exist, variables that pin what Go follows by itself. You need no cluster.
You can pipe in the output of helm and kustomize (-); --helm and --kustomize run them, and
--render runs them on all charts and kustomizations that it finds. In directories it reads
*.yaml, *.yml and *.json, including compose files, and systemd units with their drop-ins.
The same rules apply there to mem_limit and cpus, and to MemoryMax, MemoryHigh and CPUQuota.

To silence a finding, set the annotation ` + lint.IgnoreAnnotation + `: "ID reason" on the pod or
its object, or put a comment on its line or the line above: # snug:ignore ID reason.

--size writes an answer of snug size into the manifest of one container instead, and keeps all else.

The exit status is 3 if there is a finding at the level of --fail-on or above.`,
		Example: `  snug lint deploy/
  helm template ./chart | snug lint -
  snug lint --fix deploy/
  snug lint --size size.json --write deploy/cart.yaml
  snug explain gomemlimit-divisor`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := size.check(cmd, args); err != nil {
				return err
			}
			if size.file != "" {
				return size.run(u, args)
			}
			return f.run(u, args, func(d *finding.Lint) (finding.Document, error) { return d, nil })
		},
	}
	f.add(u, cmd)
	size.add(cmd)
	return cmd
}

// run checks what args name and prints the answer, which document makes of the findings in files.
func (f *lintFlags) run(u *ui.UI, args []string, document func(*finding.Lint) (finding.Document, error)) error {
	minimum, err := f.fails.Least()
	if err != nil {
		return err
	}
	render, err := f.render(u)
	if err != nil {
		return err
	}
	if f.Mend && (f.Helm != "" || f.Kustomize != "" || slices.Contains(args, "-")) {
		return message.Usage("no file to fix, the input is piped in or printed by a tool",
			"name files or directories, or leave out --fix")
	}
	f.In, f.Note, f.Titles, f.Runes = u.In, u.Note, explain.Titles(), f.sarif
	l := linter.New(f.Options)
	if err := l.Gather(args); err != nil {
		return err
	}
	l.Check()
	d := l.Document()
	answer, failed := document(d)
	for _, g := range d.Unknown {
		u.Note("warning: %s: not looked at: %s", g.File, g.Why)
	}
	if err := render(answer, d); err != nil {
		return err
	}
	if failed != nil {
		return failed
	}
	if minimum != "" && d.Worst().Level() >= minimum.Level() {
		return &message.Failure{Code: message.ExitFinding}
	}
	if err := l.Left(); err != nil {
		return err
	}
	return linter.Unread(d.Unknown)
}

// add adds the flags.
func (f *lintFlags) add(u *ui.UI, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.Mend, "fix", false, "write safe fixes into the files")
	f.fails.Add(cmd)
	f.format.add(u, cmd)
	flags.StringVar(&f.Helm, "helm", "", "run helm template on `CHART` and check the output")
	flags.StringVar(&f.Kustomize, "kustomize", "", "run kustomize build on `DIR` and check the output")
	flags.BoolVar(&f.Render, "render", false, "run helm and kustomize on all charts and kustomizations in DIR")
}
