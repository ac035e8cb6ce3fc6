// SPDX-License-Identifier: Apache-2.0

// Package root makes a program of commands: its tree, its help and its exit codes.
package root

import (
	"cmp"
	"slices"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Program is a program with commands.
type Program struct {
	Name, Short, Long, Example string
	// Display is what its users type in place of Name; "" = Name.
	Display string
	// Groups lists the commands in the order of --help. The last group also has help.
	Groups []Group
	// Default runs without a command; nil = it prints the help.
	Default func() error
	// Missing returns a hint for a word that is no command; "" = those like it. It may be nil.
	Missing func(word string) (hint string)
}

// Group is a group of commands in --help.
type Group struct {
	Title    string
	Commands []func(*ui.UI) *cobra.Command
}

// Main runs the program with args, which do not include its name, and returns the exit code: 0
// fine, 1 snug failed, 2 wrong usage, 3 a check failed, 130 interrupted. A command may have its
// own, as `snug run` does.
func (p *Program) Main(u *ui.UI, args []string) int {
	u.Program = cmp.Or(p.Display, p.Name)
	cmd := p.Command(u)
	if len(args) == 1 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		args = append(args, "") // completes an empty word
	}
	cmd.SetArgs(args)
	u.Brief = slices.Contains(args, "-h")
	ran, err := cmd.ExecuteC()
	u.Command = ran.CommandPath()
	if err == nil {
		err = u.Helped
	}
	if err != nil {
		// The flags may be wrong before --json.
		u.JSON = ui.AsksJSON(ran.Flags(), args, u.JSON)
		return u.Complain(err)
	}
	return message.ExitFine
}

// Command returns the tree of commands.
func (p *Program) Command(u *ui.UI) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:               p.Name,
		Short:             p.Short,
		Long:              p.Long,
		Example:           p.Example,
		Args:              cobra.ArbitraryArgs,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) > 0:
				return p.unknown(cmd, args)
			case version:
				return u.Answer(finding.NewBuild())
			}
			if p.Default == nil {
				return cmd.Help()
			}
			return p.Default()
		},
	}
	if p.Display != "" {
		root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: p.Display}
	}
	u.JSONFlag(root.Flags())
	u.ColorFlag(root.PersistentFlags())
	usage.Complete(root, "color", "auto", "always", "never")
	root.PersistentPreRunE = func(*cobra.Command, []string) error { return u.CheckColor() }
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetIn(u.In)
	root.SetOut(u.Out)
	root.SetErr(u.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return ui.FlagError(cmd.CommandPath(), cmd.Flags(), err)
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		u.Helped = u.Write(help(cmd, u.Brief))
	})
	for _, g := range p.Groups {
		root.AddGroup(&cobra.Group{ID: g.Title, Title: g.Title})
		for _, command := range g.Commands {
			cmd := command(u)
			cmd.GroupID = g.Title
			p.adopt(root, cmd)
		}
	}
	root.SetHelpCommandGroupID(p.Groups[len(p.Groups)-1].Title)
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return p.unknown(root, args)
				}
				return nil
			}
		}
	}
	return root
}

// adopt adds a command, which may have commands of its own.
func (p *Program) adopt(parent, cmd *cobra.Command) {
	cmd.DisableFlagsInUseLine = true
	switch {
	case cmd.HasSubCommands():
		cmd.Args = cobra.ArbitraryArgs
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return p.unknown(cmd, args)
			}
			return cmd.Help()
		}
		for _, c := range cmd.Commands() {
			cmd.RemoveCommand(c)
			p.adopt(cmd, c)
		}
	case cmd.Annotations[usage.TakesProgram] == "":
		cmd.Args = usage.RefuseEmpty(cmd.Args)
	}
	parent.AddCommand(cmd)
}

// unknown returns the failure for words that are no command of parent.
func (p *Program) unknown(parent *cobra.Command, words []string) error {
	if p.Missing != nil {
		if hint := p.Missing(words[0]); hint != "" {
			return message.Usage(message.Typed(words[0])+": unknown command", hint)
		}
	}
	var names []string
	for _, c := range parent.Commands() {
		if !c.Hidden {
			names = append(names, c.Name())
		}
	}
	return ui.UnknownCommand(parent.CommandPath(), words[0], names)
}

// NewVersion returns the command version.
func NewVersion(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use: "version", Short: "Print the version", Args: usage.NoArgs,
		RunE: func(*cobra.Command, []string) error { return u.Answer(finding.NewBuild()) },
	}
	u.JSONFlag(cmd.Flags())
	return cmd
}
