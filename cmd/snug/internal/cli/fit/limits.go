// SPDX-License-Identifier: Apache-2.0

// Package fit implements the commands that find and apply what fits: limits, plan, run.
package fit

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
)

// NewLimits returns snug limits.
func NewLimits(u *ui.UI) *cobra.Command {
	var at Place
	verbose := false
	cmd := &cobra.Command{
		Use:   "limits [--root DIR] [--pid N] [-v]",
		Short: "Show what the container gives: CPU, memory, and where each limit comes from",
		Long: `Show what the container gives a process: CPU quota, affinity, weight and
throttling, memory limits and use, each with the file it comes from. snug reads
every visible cgroup, not only the process's own.

A limit that cannot be read is listed as unknown. It never counts as no limit.`,
		Example: `  snug limits
  snug limits --pid 4711 --json
  snug limits --root /host --pid 4711`,
		Args: usage.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := at.Open(); err != nil {
				return err
			}
			l, err := at.read()
			if err != nil {
				return err
			}
			d := LimitsDocument(&l, at.Target())
			d.Next = "snug plan" + at.args()
			if !verbose && !u.JSON {
				d.Mounts = nil
			}
			return u.Answer(d)
		},
	}
	at.Add(cmd.Flags())
	verboseFlag(cmd.Flags(), &verbose)
	u.JSONFlag(cmd.Flags())
	return cmd
}

func verboseFlag(flags *pflag.FlagSet, on *bool) {
	flags.BoolVarP(on, "verbose", "v", false, "also mounts that cannot be read and are not needed")
}
