// SPDX-License-Identifier: Apache-2.0

package source

import (
	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/explain"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// format holds the flags that choose the form of an answer.
type format struct {
	name  string // text, json, sarif or github
	sarif bool
}

// add adds the flags.
func (f *format) add(u *ui.UI, cmd *cobra.Command) {
	u.JSONFlag(cmd.Flags())
	cmd.Flags().StringVar(&f.name, "format", f.name,
		"answer in `FORMAT`: text, json, sarif (code scanning) or github (annotations)")
	cmd.Flags().BoolVar(&f.sarif, "sarif", false, "same as --format sarif")
	usage.Complete(cmd, "format", "text", "json", "sarif", "github")
}

// render returns the function that prints the answer, and sets sarif and u.JSON by the chosen format.
// d has the findings of any answer.
func (f *format) render(u *ui.UI) (func(answer finding.Document, d *finding.Lint) error, error) {
	name := f.name
	switch {
	case f.sarif && name != "text" && name != "sarif", u.JSON && name != "text" && name != "json", f.sarif && u.JSON:
		return nil, message.Usage("two formats", "one of --json, --sarif and --format")
	case f.sarif:
		name = "sarif"
	case u.JSON:
		name = "json"
	}
	u.JSON = name == "json"
	switch name {
	case "text", "json":
		return func(answer finding.Document, _ *finding.Lint) error { return u.Answer(answer) }, nil
	case "sarif":
		f.sarif = true
		return func(_ finding.Document, d *finding.Lint) error {
			text, err := report.SARIF(d, explain.Texts(), finding.NewBuild().Version)
			if err != nil {
				return err
			}
			return u.Write(text)
		}, nil
	case "github":
		return func(_ finding.Document, d *finding.Lint) error { return u.Write(report.Annotations(d)) }, nil
	}
	return nil, message.Usage("--format "+message.Quote(f.name)+": wrong value", "write text, json, sarif or github")
}

// forTools reports whether the answer is for a program, which shows what is in it and not stderr.
func (f *format) forTools() bool { return f.sarif || f.name == "github" }
