// SPDX-License-Identifier: Apache-2.0

package root

import (
	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
)

// help returns the help of a command.
func help(cmd *cobra.Command, brief bool) *ui.Help {
	h := &ui.Help{
		Path: cmd.CommandPath(), Short: cmd.Short, Long: cmd.Long, Example: cmd.Example,
		Use: cmd.UseLine(), Flags: ui.NewFlags(), Brief: brief && cmd.HasParent(),
	}
	h.Flags.SortFlags = cmd.Flags().SortFlags
	h.Flags.AddFlagSet(cmd.LocalFlags())
	h.Flags.AddFlagSet(cmd.InheritedFlags())
	if !cmd.HasAvailableSubCommands() {
		return h
	}
	groups := cmd.Groups()
	if len(groups) == 0 {
		groups = []*cobra.Group{{Title: "Commands:"}}
	}
	for _, g := range groups {
		group := ui.HelpGroup{Title: g.Title}
		for _, c := range cmd.Commands() {
			if c.GroupID == g.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				group.Commands = append(group.Commands, [2]string{c.Name(), c.Short})
			}
		}
		h.Groups = append(h.Groups, group)
	}
	return h
}
