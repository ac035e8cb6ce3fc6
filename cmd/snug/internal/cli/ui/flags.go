// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// severities are what --fail-on takes.
var severities = map[string]finding.Severity{
	"info": finding.SeverityInfo, "warning": finding.SeverityWarning, "error": finding.SeverityError, "never": "",
}

// FlagError turns what the flag library says into the words that ui has for it.
func FlagError(cmd *cobra.Command, err error) error {
	help := cmd.CommandPath() + " --help lists the flags"
	var invalid *pflag.InvalidValueError
	var missing *pflag.ValueRequiredError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &invalid):
		hint := "write " + invalid.Unwrap().Error()
		switch invalid.GetFlag().Value.Type() {
		case "bool":
			hint = "write --" + invalid.GetFlag().Name + " alone"
		case "int":
			hint = "write a whole number"
		}
		return message.Usage("wrong value, --"+invalid.GetFlag().Name+" "+message.Typed(invalid.GetValue()), hint)
	case errors.As(err, &missing):
		return message.Usage("value missing, --"+missing.GetFlag().Name, help)
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return message.Usage("unknown flag, -"+message.Cut(name, message.MostShown), help)
		}
		return message.Usage("unknown flag, --"+message.Cut(name, message.MostShown), help)
	}
	return message.Usage(err.Error(), help)
}

// NoArgs refuses arguments that a command does not take.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return message.Usage("takes no argument, "+cmd.CommandPath()+" "+message.Typed(args[0]), cmd.CommandPath()+" --help")
	}
	return nil
}

// RefuseEmpty makes a command refuse words that are empty: a variable that is not set is
// not meant to name something.
func RefuseEmpty(given cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if given != nil {
			if err := given(cmd, args); err != nil {
				return err
			}
		}
		if i := slices.Index(args, ""); i >= 0 {
			return EmptyWord(cmd.CommandPath() + " " + message.Typed(args[:i+1]...))
		}
		return nil
	}
}

func EmptyWord(where string) error {
	return message.Usage("an empty word, "+where, "is a variable not set? write a name, or leave it out")
}

// TakesProgram annotates commands whose words are another program's command line, in which an
// empty word may stand anywhere but at the beginning.
const TakesProgram = "program"

// AnotherProgram are the annotations of a command that takes one.
func AnotherProgram() map[string]string { return map[string]string{TakesProgram: "yes"} }

// Complete has shells complete the words that a flag takes.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // no such flag, or twice: found by every test
	}
}

// FailOn is the flag --fail-on: the severity from which a command ends with ExitFinding.
type FailOn string

// Add defines it.
func (f *FailOn) Add(cmd *cobra.Command) {
	*f = "warning"
	cmd.Flags().StringVar((*string)(f), "fail-on", string(*f), "end with 3 from this `SEVERITY` on: info, warning, error or never")
	Complete(cmd, "fail-on", "info", "warning", "error", "never")
}

// Least is the severity; "" = never.
func (f FailOn) Least() (finding.Severity, error) {
	least, ok := severities[string(f)]
	if !ok {
		return "", message.Usage("wrong value, --fail-on "+message.Quote(string(f)), "write info, warning, error or never")
	}
	return least, nil
}
