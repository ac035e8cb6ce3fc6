// SPDX-License-Identifier: Apache-2.0

// Package cli is the tool: one file for each command, ui.go for how they
// speak. Commands read, decide, fill in a document of package finding, and hand
// it to package report.
package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// The groups that --help shows commands in.
const (
	groupLook     = "look"
	groupFit      = "fit"
	groupProve    = "prove"
	groupCluster  = "cluster"
	groupPlumbing = "plumbing"
)

// commands make the tool's commands, in the order of --help.
var commands = []func(*ui) *cobra.Command{
	newPS, newTop, newDoctor, newProfile, newTrace, newVet, newLimits, newPlan, newRun, newBench, newTune, newReport, newLint, newAdmission, newAgent, newWebhook, newCollect, newExplain, newVersion, newCompletion,
}

// takesProgram are commands whose words are another program's command line, in which an
// empty word may stand anywhere but at the beginning.
var takesProgram = map[string]bool{"run": true, "bench": true, "tune": true}

// Main runs snug with these arguments, the program's name not among them, and
// returns its exit code: 0 fine, 1 snug failed, 2 wrong usage; those of `snug
// run` are its own.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	vetTool(args, stderr) // returns unless the go command runs snug as a vet tool
	u := &ui{in: stdin, out: stdout, err: stderr, getenv: os.Getenv}
	root := newRoot(u)
	if len(args) == 1 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		args = append(args, "") // a word of which nothing is written yet
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	u.command = cmd.CommandPath()
	if err == nil {
		err = u.helped
	}
	if err != nil {
		return u.complain(err)
	}
	return exitFine
}

func newRoot(u *ui) *cobra.Command {
	root := &cobra.Command{
		Use:   "snug",
		Short: "Make Go programs fit their containers",
		Long: `snug finds what a container really gives a Go program, decides what GOMAXPROCS
and GOMEMLIMIT should be, and says why.

Without a command it gives the verdict on its own container and the next command
to try.`,
		Example: `  snug                            the verdict on this container
  snug limits --pid 4711          what the container gives process 4711
  snug plan --exe ./server        what ./server should use here, and why
  snug run -- ./server            start ./server with that
  snug plan --root case.txtar     the same in a saved situation (snug collect)`,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args)
			}
			return verdict(u)
		},
	}
	root.SuggestionsMinimumDistance = 2
	u.jsonFlag(root)
	root.SetIn(u.in)
	root.SetOut(u.out)
	root.SetErr(u.err)
	root.SetFlagErrorFunc(flagError)
	root.SetUsageTemplate(usageTemplate)
	root.SetHelpTemplate(helpTemplate)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var b bytes.Buffer
		cmd.SetOut(&b)
		help(cmd, args)
		u.helped = u.write(b.Bytes())
		if cmd.CalledAs() == "run" {
			u.helped = runFailure(u.helped)
		}
	})
	root.AddGroup(&cobra.Group{ID: groupLook, Title: "Look:"}, &cobra.Group{ID: groupFit, Title: "Fit:"}, &cobra.Group{ID: groupProve, Title: "Prove:"}, &cobra.Group{ID: groupCluster, Title: "Cluster:"}, &cobra.Group{ID: groupPlumbing, Title: "Plumbing:"})
	for _, command := range commands {
		cmd := command(u)
		cmd.DisableFlagsInUseLine = true
		if !takesProgram[cmd.Name()] {
			cmd.Args = refuseEmpty(cmd.Args)
		}
		completeFlags(cmd)
		root.AddCommand(cmd)
	}
	root.SetHelpCommandGroupID(groupPlumbing)
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return unknownCommand(root, args)
				}
				return nil
			}
		}
	}
	return root
}

func unknownCommand(cmd *cobra.Command, words []string) error {
	hint := "snug --help lists them"
	// An empty name is the beginning of all, and a long one is no slip of the finger.
	if name := words[0]; name != "" && len(name) < mostShown {
		if like := cmd.SuggestionsFor(name); len(like) > 0 {
			hint = "did you mean snug " + strings.Join(like, " or snug ") + "?"
		}
	}
	return usage("unknown command, "+typed(words[0]), hint)
}

// flagError turns what the flag library says into the words of ui.go.
func flagError(cmd *cobra.Command, err error) error {
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
		return usage("wrong value, --"+invalid.GetFlag().Name+" "+typed(invalid.GetValue()), hint)
	case errors.As(err, &missing):
		return usage("value missing, --"+missing.GetFlag().Name, help)
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		if unknown.GetSpecifiedShortnames() != "" {
			return usage("unknown flag, -"+cut(name, mostShown), help)
		}
		return usage("unknown flag, --"+cut(name, mostShown), help)
	}
	return usage(err.Error(), help)
}

// noArgs refuses arguments that a command does not take.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("takes no argument, "+cmd.CommandPath()+" "+typed(args[0]), cmd.CommandPath()+" --help")
	}
	return nil
}

const helpTemplate = `{{with or .Long .Short}}{{. | trimTrailingWhitespaces}}{{end}}

{{.UsageString}}`

const usageTemplate = `Usage:
  {{.UseLine}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} COMMAND --help{{end}}
{{- if .HasAvailableSubCommands}}{{$commands := .Commands}}
{{- range $group := .Groups}}

{{.Title}}
{{- range $commands}}{{if and (eq .GroupID $group.ID) (or .IsAvailableCommand (eq .Name "help"))}}
  {{rpad .Name .NamePadding }} {{.Short}}{{end}}{{end}}{{end}}{{end}}
{{- if .HasAvailableLocalFlags}}

Flags:
{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}{{end}}
{{- if .HasExample}}

Examples:
{{.Example}}{{end}}
`
