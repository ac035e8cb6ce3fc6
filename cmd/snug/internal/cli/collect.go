// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/fit"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/collect"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/source/outfile"
	"github.com/snug-go/snug/internal/fixture"
)

func newCollect(u *ui.UI) *cobra.Command {
	var at fit.Place
	var file flagvalue.Text
	var raw bool
	cmd := &cobra.Command{
		Use:   "collect [--root DIR] [--pid N] [-o FILE] [--raw]",
		Short: "Save the files that limits are read from, for a bug report or a test",
		Long: `Save the situation of a process: its cgroup file, mount table and allowed CPUs,
MemTotal, and the limits and counters of every visible cgroup. It never saves an
environment or a command line. Read the saved text back with --root; snug then
answers as it did on the machine.

Names, ids and paths are replaced by made-up ones, unless you give --raw. Read the
file before you pass it on.`,
		Example: `  snug collect --pid 4711 -o case.txtar
  snug plan --root case.txtar`,
		Args: usage.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := at.Open(); err != nil {
				return err
			}
			if at.FS() == nil {
				if _, err := os.Stat("/proc/self/cgroup"); err != nil {
					return message.Failed("/proc/self/cgroup: /proc does not show this process: "+message.Reason(err),
						"mount it first: mount -t proc proc /proc")
				}
			}
			s, err := collect.Situation(at.FS(), at.PID(), raw)
			if err == nil {
				err = at.Alive()
			}
			if err != nil {
				return at.Failure(err)
			}
			text := fixture.Format(s)
			if file == "" || file == "-" {
				return u.Write(text)
			}
			if err := outfile.Save(string(file), text); err != nil {
				return err
			}
			names := "names, ids and paths are made up"
			if raw {
				names = "names, ids and paths are the real ones"
			}
			u.Note("wrote %s: %s; read it before you pass it on", file, names)
			return nil
		},
	}
	at.Add(cmd.Flags())
	cmd.Flags().VarP(&file, "output", "o", "write to `FILE` instead of stdout")
	cmd.Flags().BoolVar(&raw, "raw", false, "keep the real names, ids and paths")
	return cmd
}
