// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// severities are the values of --fail-on.
var severities = map[string]finding.Severity{
	"info": finding.SeverityInfo, "warning": finding.SeverityWarning, "error": finding.SeverityError, "never": "",
}

// FlagError turns an error of the flag library into one of snug's own.
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
			return message.Usage("unknown flag, -"+message.Cut(name, message.MaxShown), help)
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if like := Like(name, names); len(like) > 0 {
			help = "did you mean --" + strings.Join(like, " or --") + "?"
		}
		return message.Usage("unknown flag, --"+message.Cut(name, message.MaxShown), help)
	}
	return message.Usage(err.Error(), help)
}

// Like returns the names that a mistyped word may stand for: at most two letters differ, or the word
// begins the name.
func Like(word string, names []string) []string {
	if word == "" || len(word) > message.MaxShown { // a prefix of every name, or no typing error
		return nil
	}
	list := &cobra.Command{SuggestionsMinimumDistance: 2}
	for _, name := range names {
		if !strings.Contains(name, " ") {
			list.AddCommand(&cobra.Command{Use: name, Run: func(*cobra.Command, []string) {}})
		}
	}
	like := list.SuggestionsFor(word)
	return like[:min(len(like), 3)]
}

// NoArgs refuses arguments that a command does not take.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return message.Usage("takes no argument, "+cmd.CommandPath()+" "+message.Typed(args[0]), cmd.CommandPath()+" --help")
	}
	return nil
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
			return EmptyWord(cmd.CommandPath() + " " + message.Typed(args[:i+1]...))
		}
		return nil
	}
}

func EmptyWord(where string) error {
	return message.Usage("empty argument, "+where, "is a variable unset? write a name, or leave it out")
}

// TakesProgram annotates commands whose arguments are another program's command line. In it
// any argument but the first may be empty.
const TakesProgram = "program"

// AnotherProgram returns the annotations of a command that takes another program.
func AnotherProgram() map[string]string { return map[string]string{TakesProgram: "yes"} }

// Complete makes shells complete the values of a flag.
func Complete(cmd *cobra.Command, flag string, words ...string) {
	if err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // no such flag, or twice: found by every test
	}
}

// FailOn is the flag --fail-on: the lowest severity at which a command exits with
// ExitFinding.
type FailOn string

// Add defines the flag.
func (f *FailOn) Add(cmd *cobra.Command) {
	*f = "warning"
	cmd.Flags().StringVar((*string)(f), "fail-on", string(*f), "exit with 3 if a finding has this `SEVERITY` or a higher one: info, warning, error or never")
	Complete(cmd, "fail-on", "info", "warning", "error", "never")
}

// Least returns the severity; "" = never.
func (f FailOn) Least() (finding.Severity, error) {
	severity, ok := severities[string(f)]
	if !ok {
		return "", message.Usage("wrong value, --fail-on "+message.Quote(string(f)), "write info, warning, error or never")
	}
	return severity, nil
}
