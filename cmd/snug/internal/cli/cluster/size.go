// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cluster/fleet"
	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// NewFleetSize returns the command that says which containers the workloads of a cluster need.
func NewFleetSize(u *ui.UI) *cobra.Command {
	o := fleetOptions{}
	var prices flagvalue.Text
	cmd := &cobra.Command{
		Use:   "size [NAME]...",
		Short: "Say which containers the Go workloads of a cluster need, and what that saves",
		Long: `Say which memory limit and CPU request the Go workloads of a cluster need, by what the agents
have seen of them: those at risk first, then those that would save most. A row is what each
container needs, whatever nodes they are on; SAVES is for all of them together, in money.

Agents keep distributions whose weights halve every day; what happened between two scans they
do not see. So the answer says how long they have seen a workload. With the name of one
workload it says why. Agents of the chart forget when their pod is replaced, unless
agent.state is a directory of the node.

` + asks,
		Example: `  snug cluster size
  kubectl snug size -n shop --price 0.03,0.004
  kubectl snug size Deployment/web
  kubectl snug size --json | jq '.workloads[].risks'`,
		RunE: func(_ *cobra.Command, args []string) error {
			o.names = args
			price, err := size.ParsePrice(string(prices))
			if err != nil {
				return err
			}
			ctx, stop := ui.UntilInterrupted()
			defer stop()
			d, err := o.sizes(ctx, u, price)
			if err != nil {
				return err
			}
			if len(d.Workloads) > 1 {
				w := &d.Workloads[0]
				d.Next = called(u) + " size " + message.Quote(content.WorkloadName(w.Namespace, w.Name, w.Container))
			}
			return u.Answer(d)
		},
	}
	o.addCluster(cmd)
	cmd.Flags().Var(&prices, "price",
		"what a core and a GiB cost for the same time, as `CORE,GIB` (default AWS Fargate's, 0.04048,0.004445)")
	u.JSONFlag(cmd.Flags())
	return cmd
}

// sizes asks all agents what workloads need. It fails if there are none, or none answers.
func (o *fleetOptions) sizes(ctx context.Context, u *ui.UI, price size.Price) (*finding.FleetSize, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	k := o.kubectl()
	all := fleet.Sizes{Filter: fleet.Filter{Namespace: string(o.namespace), Names: o.names}}
	at := time.Now()
	agents, err := k.Agents(ctx)
	if err == nil && len(agents) > 0 {
		err = k.AskNeeds(ctx, agents, &all)
	}
	if err = orInterrupted(ctx, err); err != nil {
		return nil, err
	}
	d := all.Document(price, at)
	if err := unanswered(d.Agents, d.Silent); err != nil {
		return nil, err
	}
	return d, o.missed(u, fleet.MissedSizes(d, o.names), len(d.Workloads), len(d.Silent),
		"no such Go workload with a container now", "size")
}
