// SPDX-License-Identifier: Apache-2.0

package look

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/fleet"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
)

// withPrometheus gives snug size the flag --prometheus: then it answers for workloads, by what agents have exported.
func withPrometheus(u *ui.UI, cmd *cobra.Command) *cobra.Command {
	var address flagvalue.Text
	args, run := cmd.Args, cmd.RunE
	cmd.Args = func(cmd *cobra.Command, names []string) error {
		if address != "" {
			return nil
		}
		return args(cmd, names)
	}
	cmd.RunE = func(cmd *cobra.Command, names []string) error {
		if address == "" {
			return run(cmd, names)
		}
		var other error
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if n := f.Name; n != "prometheus" && n != "price" && n != "json" && n != "color" && other == nil {
				other = message.Usage("--prometheus with --"+n, "leave one out")
			}
		})
		if other != nil {
			return other
		}
		price, err := size.ParsePrice(cmd.Flags().Lookup("price").Value.String())
		if err != nil {
			return err
		}
		p, err := fleet.NewPrometheus(string(address))
		if err != nil {
			return err
		}
		ctx, stop := ui.UntilInterrupted()
		defer stop()
		u.Status("asking the Prometheus for the figures of a week, up to a minute; Ctrl-C ends it early")
		d, err := p.Sizes(ctx, fleet.Filter{Names: names}, price)
		u.Status("")
		switch {
		case ctx.Err() != nil:
			return &message.Failure{Code: message.ExitInterrupted, What: "interrupted"}
		case err != nil:
			return err
		case len(d.Workloads) == 0:
			return message.Failed(message.Typed(names...)+": no such Go workload",
				"snug size --prometheus "+message.Quote(string(address))+" lists them")
		}
		if missed := fleet.MissedSizes(d, names); len(missed) > 0 {
			u.Note("warning: no such Go workload, %s", message.Typed(missed...))
		}
		return u.Answer(d)
	}
	cmd.Flags().Var(&address, "prometheus",
		"answer for the workloads NAME, or all, of the agents that the Prometheus at `URL` scrapes")
	cmd.Long += `

With --prometheus it answers as snug cluster size does, for the workloads of all agents that a
Prometheus has scraped in the last week; a NAME is then that of a workload, or of a row as it is printed.`
	cmd.Example += `
  snug size --prometheus http://localhost:9090`
	return cmd
}
