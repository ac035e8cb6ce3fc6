// SPDX-License-Identifier: Apache-2.0

package root

import (
	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
)

// Of makes a command of package ui one of cobra's.
func Of(command func(*ui.UI) *ui.Command) func(*ui.UI) *cobra.Command {
	return func(u *ui.UI) *cobra.Command {
		c := command(u)
		cmd := &cobra.Command{
			Use: c.Use, Short: c.Short, Long: c.Long, Example: c.Example,
			Args: func(cmd *cobra.Command, args []string) error { return c.Failed(c.Check(cmd.CommandPath(), args)) },
			RunE: func(_ *cobra.Command, args []string) error { return c.Failed(c.Run(args)) },
		}
		cmd.Flags().SortFlags = c.Flags.SortFlags
		cmd.Flags().AddFlagSet(c.Flags)
		if c.TakesProgram {
			cmd.Annotations = usage.AnotherProgram()
			cmd.Flags().SetInterspersed(false)
		}
		for flag, words := range c.Complete {
			usage.Complete(cmd, flag, words...)
		}
		if c.Fail != nil {
			cmd.PersistentPreRunE = func(*cobra.Command, []string) error { return c.Failed(u.CheckColor()) }
			cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
				cmd.Parent().HelpFunc()(cmd, args)
				if cmd.CalledAs() != "" { // but not for snug help run
					u.Helped = c.Failed(u.Helped)
				}
			})
			cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
				return c.Failed(ui.FlagError(cmd.CommandPath(), cmd.Flags(), err))
			})
		}
		return cmd
	}
}
