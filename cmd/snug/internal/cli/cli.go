// SPDX-License-Identifier: Apache-2.0

// Package cli implements the command line of snug. Each group of commands in --help has a
// folder; package ui prints for all of them. A command reads, decides, fills in a document of
// package finding, and hands it to package report.
package cli

import (
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/cluster"
	"github.com/snug-go/snug/cmd/snug/internal/cli/fit"
	"github.com/snug-go/snug/cmd/snug/internal/cli/look"
	"github.com/snug-go/snug/cmd/snug/internal/cli/prove"
	"github.com/snug-go/snug/cmd/snug/internal/cli/source"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/source/govet"
)

// groups lists the commands in the order of --help.
var groups = []struct {
	id, title string
	commands  []func(*ui.UI) *cobra.Command
}{
	{"look", "Look:", []func(*ui.UI) *cobra.Command{look.NewPS, look.NewTop, look.NewDoctor, look.NewProfile, look.NewTrace}},
	{"fit", "Fit:", []func(*ui.UI) *cobra.Command{fit.NewLimits, fit.NewPlan, fit.NewRun}},
	{"prove", "Prove:", []func(*ui.UI) *cobra.Command{prove.NewBench, prove.NewTune, prove.NewReport}},
	{"source", "Source:", []func(*ui.UI) *cobra.Command{source.NewVet, source.NewLint}},
	{"cluster", "Cluster:", []func(*ui.UI) *cobra.Command{cluster.NewPolicy, cluster.NewAgent, cluster.NewWebhook}},
	{"plumbing", "Plumbing:", []func(*ui.UI) *cobra.Command{fit.NewCollect, newExplain, newVersion, newCompletion}},
}

// Main runs snug with args, which do not include the program's name, and returns the exit
// code: 0 fine, 1 snug failed, 2 wrong usage. `snug run` has its own exit codes.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	govet.Tool(args, stderr) // returns unless the go command runs snug as a vet tool
	u := &ui.UI{In: stdin, Out: stdout, Err: stderr, Getenv: os.Getenv}
	root := newRoot(u)
	if len(args) == 1 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		args = append(args, "") // completes an empty word
	}
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	u.Command = cmd.CommandPath()
	if err == nil {
		err = u.Helped
	}
	if err != nil {
		return u.Complain(err)
	}
	return message.ExitFine
}

func newRoot(u *ui.UI) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "snug",
		Short: "Make Go programs fit their containers",
		Long: `snug finds what a container really gives a Go program, decides what GOMAXPROCS
and GOMEMLIMIT should be, and says why.

Without a command it prints a verdict on its own container and the next command to
try.`,
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
			if version {
				return u.Answer(ui.Build())
			}
			return verdict(u)
		},
	}
	u.JSONFlag(root)
	root.Flags().BoolVar(&version, "version", false, "print the version of snug")
	root.SetIn(u.In)
	root.SetOut(u.Out)
	root.SetErr(u.Err)
	root.SetFlagErrorFunc(ui.FlagError)
	root.SetUsageTemplate(usageTemplate)
	root.SetHelpTemplate(helpTemplate)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		var b bytes.Buffer
		cmd.SetOut(&b)
		help(cmd, args)
		u.Helped = u.Write(b.Bytes())
	})
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, command := range g.commands {
			cmd := command(u)
			cmd.GroupID = g.id
			cmd.DisableFlagsInUseLine = true
			if cmd.Annotations[ui.TakesProgram] == "" {
				cmd.Args = ui.RefuseEmpty(cmd.Args)
			}
			root.AddCommand(cmd)
		}
	}
	root.SetHelpCommandGroupID("plumbing")
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
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if like := ui.Like(words[0], names); len(like) > 0 {
		hint = "did you mean snug " + strings.Join(like, " or snug ") + "?"
	}
	return message.Usage("unknown command, "+message.Typed(words[0]), hint)
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
