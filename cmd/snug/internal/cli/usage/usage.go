// SPDX-License-Identifier: Apache-2.0

// Package usage checks and completes what users type after the name of a command: arguments, and
// flags that several commands have.
package usage

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// severities are the values of --fail-on.
var severities = map[string]finding.Severity{
	"info": finding.SeverityInfo, "warning": finding.SeverityWarning, "error": finding.SeverityError, "never": "",
}

// NoArgs refuses arguments that a command does not take.
func NoArgs(cmd *cobra.Command, args []string) error {
	return ui.NoArgs(cmd.CommandPath(), args)
}

// RefuseEmpty makes a command refuse empty arguments, which usually come from an unset shell
// variable. It calls check first, unless check is nil.
func RefuseEmpty(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if check != nil {
			if err := check(cmd, args); err != nil {
				return err
			}
		}
		if i := slices.Index(args, ""); i >= 0 {
			return ui.EmptyWord(cmd.CommandPath() + " " + message.Typed(args[:i+1]...))
		}
		return nil
	}
}

// TakesProgram annotates commands whose arguments are another program's command line. In it
// any argument but the first may be empty.
const TakesProgram = "program"

// AnotherProgram returns the annotations of a command that takes another program.
func AnotherProgram() map[string]string { return map[string]string{TakesProgram: "yes"} }

// Complete makes shells complete the values of a flag.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag,
		cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // no such flag, or twice: found by every test
	}
}

// FailOn is the flag --fail-on: the lowest severity at which a command exits with
// ExitFinding.
type FailOn string

// Add defines the flag.
func (f *FailOn) Add(cmd *cobra.Command) {
	*f = "warning"
	cmd.Flags().StringVar((*string)(f), "fail-on", string(*f),
		"exit with 3 if a finding has this `SEVERITY` or a higher one: info, warning, error or never")
	Complete(cmd, "fail-on", "info", "warning", "error", "never")
}

// Least returns the severity; "" = never.
func (f FailOn) Least() (finding.Severity, error) {
	severity, ok := severities[string(f)]
	if !ok {
		return "", message.Usage("--fail-on "+message.Quote(string(f))+": wrong value", "write info, warning, error or never")
	}
	return severity, nil
}
