// SPDX-License-Identifier: Apache-2.0

// Package small is the command line of snug-run: those commands of snug that a container needs,
// without the library that makes the others a program.
package small

import (
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/cli/fit"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

const name = "snug-run"

const long = `snug-run finds what a container really gives a Go program, decides what GOMAXPROCS
and GOMEMLIMIT should be, and starts the program with that. It is the part of snug that
a container needs; snug itself also finds what is wrong, and measures.`

const example = `  snug-run run -- ./server         start ./server fitted
  snug-run plan --exe ./server     what that sets, and why
  snug-run limits                  what the container gives`

// Whole lists the commands that only snug has. A test compares it with them.
var Whole = []string{
	"agent", "bench", "check", "cluster", "collect", "completion", "doctor", "explain", "lint", "policy",
	"profile", "ps", "report", "size", "top", "trace", "tune", "vet", "webhook",
}

// Main runs snug-run with args, which do not include its name, and returns the exit code: that of
// the same command of snug.
func Main(u *ui.UI, args []string) int {
	u.Text, u.Program, u.Command = text.WriteFit, name, name
	if err := run(u, args); err != nil {
		return u.Complain(err)
	}
	return message.ExitFine
}

func run(u *ui.UI, args []string) error {
	commands := []*ui.Command{fit.NewLimits(u), fit.NewPlan(u, nil), fit.NewRun(u), ui.NewVersion(u)}
	help := &ui.Help{Path: name, Long: long, Example: example, Use: name + " COMMAND", Flags: ui.NewFlags()}
	help.Flags.BoolP("help", "h", false, "help for "+name)
	help.Flags.Bool("version", false, "print the version")
	u.JSONFlag(help.Flags)
	u.ColorFlag(help.Flags)
	group := ui.HelpGroup{Title: "Commands:"}
	var names []string
	for _, c := range commands {
		group.Commands = append(group.Commands, [2]string{c.Name(), c.Short})
		names = append(names, c.Name())
	}
	help.Groups = []ui.HelpGroup{group}

	at := commandAt(help.Flags, args)
	if at < 0 {
		return alone(u, help, args, names)
	}
	wanted, rest := args[at], slices.Delete(slices.Clone(args), at, at+1)
	if wanted == "help" {
		if at = commandAt(help.Flags, rest); at < 0 {
			return u.Write(help.Bytes())
		}
		wanted, rest = rest[at], []string{"--help"}
	}
	i := slices.Index(names, wanted)
	switch {
	case i >= 0:
		return one(u, commands[i], rest)
	case slices.Contains(Whole, wanted):
		return message.Usage("unknown command, "+message.Typed(wanted), "it is a command of snug; "+name+" is the small part for containers")
	}
	return ui.UnknownCommand(name, wanted, names)
}

// alone handles flags without a command.
func alone(u *ui.UI, help *ui.Help, args, commands []string) error {
	help.Flags.Usage = func() {}
	if err := help.Flags.Parse(args); err != nil {
		u.JSON = ui.AsksJSON(help.Flags, args, u.JSON)
		return ui.FlagError(name, help.Flags, err)
	}
	if err := u.CheckColor(); err != nil {
		return err
	}
	asked, _ := help.Flags.GetBool("help")
	version, _ := help.Flags.GetBool("version")
	switch {
	case help.Flags.NArg() > 0: // behind --
		return ui.UnknownCommand(name, help.Flags.Arg(0), commands)
	case version && !asked:
		return u.Answer(finding.NewBuild())
	}
	return u.Write(help.Bytes())
}

// commandAt returns the index of the command in args, which flags may precede; -1 = none. Flags
// that are not among flags are taken to have a value, as snug takes them.
func commandAt(flags *pflag.FlagSet, args []string) int {
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			return -1
		case !strings.HasPrefix(a, "-") || a == "-":
			return i
		case strings.Contains(a, "="), a == "-h":
		case strings.HasPrefix(a, "--"):
			if f := flags.Lookup(a[2:]); f == nil || f.NoOptDefVal == "" {
				i++
			}
		case len(a) == 2: // -p 1
			i++
		}
	}
	return -1
}

// one runs a command.
func one(u *ui.UI, c *ui.Command, args []string) error {
	path := name + " " + c.Name()
	u.Command = path
	help := c.Flags.BoolP("help", "h", false, "help for "+c.Name())
	u.ColorFlag(c.Flags)
	c.Flags.SetInterspersed(!c.TakesProgram)
	c.Flags.Usage = func() {}
	err := c.Flags.Parse(args)
	switch {
	case errors.Is(err, pflag.ErrHelp), err == nil && *help:
		h := &ui.Help{Path: path, Short: c.Short, Long: c.Long, Example: c.Example, Use: name + " " + c.Use, Flags: c.Flags, Brief: slices.Contains(args, "-h")}
		return c.Failed(u.Write(h.Bytes()))
	case err != nil:
		u.JSON = ui.AsksJSON(c.Flags, args, u.JSON)
		return c.Failed(ui.FlagError(path, c.Flags, err))
	}
	if err := u.CheckColor(); err != nil {
		return c.Failed(err)
	}
	if err := c.Check(path, c.Flags.Args()); err != nil {
		return c.Failed(err)
	}
	return c.Failed(c.Run(c.Flags.Args()))
}
