// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Command is a command of snug and of snug-run. It does not depend on the library that makes
// snug's commands a program, because snug-run is to stay small.
type Command struct {
	Use                  string // the name, then the arguments
	Short, Long, Example string
	Flags                *pflag.FlagSet
	// TakesProgram: the arguments are another program's command line, whose flags are its own.
	// Other commands of this type take no argument.
	TakesProgram bool
	// Complete lists the values of flags, for shells.
	Complete map[string][]string
	Run      func(args []string) error
	// Fail converts each error of the command, of its flags and of its help; nil = as it is.
	Fail func(error) error
}

// NewFlags returns an empty set of flags.
func NewFlags() *pflag.FlagSet { return pflag.NewFlagSet("", pflag.ContinueOnError) }

// Name returns the first word of Use.
func (c *Command) Name() string {
	name, _, _ := strings.Cut(c.Use, " ")
	return name
}

// Failed returns an error as the command returns it.
func (c *Command) Failed(err error) error {
	if err == nil || c.Fail == nil {
		return err
	}
	return c.Fail(err)
}

// Check returns an error for arguments that the command does not take. path is the command with
// the names before it, such as "snug plan".
func (c *Command) Check(path string, args []string) error {
	if c.TakesProgram {
		return nil
	}
	return NoArgs(path, args)
}

// NewVersion returns the command version.
func NewVersion(u *UI) *Command {
	c := &Command{Use: "version", Short: "Print the version", Flags: NewFlags(), Run: func([]string) error { return u.Answer(finding.NewBuild()) }}
	u.JSONFlag(c.Flags)
	return c
}
