// SPDX-License-Identifier: Apache-2.0

package cli

import "github.com/spf13/cobra"

func newLimits(u *ui) *cobra.Command {
	var at place
	cmd := &cobra.Command{
		Use:   "limits [--root DIR] [--pid N]",
		Short: "Show what the container gives: CPU, memory, and where each limit comes from",
		Long: `Show what the container gives a process: CPU quota, affinity, weight and
throttling, memory limits and use, each with the file it comes from. Every
cgroup that can be seen counts, not only the process's own.

A limit that cannot be read is listed as unknown; it is never taken for none.`,
		Example: `  snug limits
  snug limits --pid 4711 --json
  snug limits --root /host --pid 4711`,
		GroupID: groupFit,
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := at.open(); err != nil {
				return err
			}
			l, err := at.read()
			if err != nil {
				return err
			}
			d := limitsDocument(&l, at.target())
			d.Next = "snug plan" + at.args()
			return u.answer(d)
		},
	}
	at.add(cmd)
	u.jsonFlag(cmd)
	return cmd
}
