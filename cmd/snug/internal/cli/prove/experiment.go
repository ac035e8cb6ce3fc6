// SPDX-License-Identifier: Apache-2.0

package prove

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// newLab returns an experiment that reports to the user.
func newLab(u *ui.UI) lab.Lab {
	return lab.Lab{Talk: u, Getenv: u.Getenv, Version: finding.NewBuild().Version}
}

// command checks the arguments after the flags and sets the program to measure.
func command(l *lab.Lab, cmd *cobra.Command, args []string) error {
	if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
		return message.Usage(message.Typed(args[0])+": arguments without --",
			"flags first, then --, then the program: "+cmd.CommandPath()+" -- "+message.Quote(args[0]))
	}
	if cmd.ArgsLenAtDash() == 0 && len(args) == 0 {
		return message.Usage(cmd.CommandPath()+": no command after --", "name the program to measure")
	}
	if len(args) > 0 && args[0] == "" {
		return ui.EmptyWord(cmd.CommandPath() + " -- ''")
	}
	l.Cmd = args
	return nil
}

// again formats the flags with these names as the user gave them, and the program: for
// the next command on the same subject.
func again(l *lab.Lab, flags *pflag.FlagSet, names ...string) string {
	var b strings.Builder
	flags.Visit(func(f *pflag.Flag) {
		switch {
		case !slices.Contains(names, f.Name):
		case f.Name == "url":
			for _, u := range l.URLs {
				b.WriteString(" --url " + message.Quote(runner.Redacted(u)))
			}
		case f.Value.Type() == "bool":
			b.WriteString(" --" + f.Name)
		default:
			for _, text := range given(f) {
				b.WriteString(" --" + f.Name + " " + message.Quote(text))
			}
		}
	})
	if len(l.Cmd) > 0 {
		b.WriteString(" --")
	}
	for _, a := range l.Cmd {
		b.WriteString(" " + message.Quote(a))
	}
	return b.String()
}

// given returns the texts of a flag as the user gave them. The value of a header may be
// secret.
func given(f *pflag.Flag) []string {
	switch v := f.Value.(type) {
	case *flagvalue.Parsed:
		return v.Given()
	case pflag.SliceValue:
		all := slices.Clone(v.GetSlice())
		for i, text := range all {
			if name, _, ok := strings.Cut(text, ":"); ok && f.Name == "header" {
				all[i] = name + ": xxxxx"
			}
		}
		return all
	}
	return []string{f.Value.String()}
}

// target lists the flags that say what is measured, and in which container.
var target = []string{"cpus", "memory", "workload", "load", "users", "url", "load-cmd", "prepare", "method", "body",
	"header", "http2", "grpc", "timeout", "ready", "rt", "no-limit"}
