// SPDX-License-Identifier: Apache-2.0

// Package cluster holds the commands for a whole cluster: ps, doctor, top and size of all its agents; policy, agent,
// webhook.
package cluster

import (
	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
)

// New returns the command whose commands are those of this package.
func New(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster COMMAND",
		Short: "Look at a whole cluster, and fit its pods: ps, doctor, top, size, agent, policy, webhook",
		Long: `Look at a whole cluster, and fit its pods. ps, doctor, top and size ask all agents; "kubectl
snug ps" is the same. The agent runs on every node and reports what does not fit. Admission
policies, or the webhook, give new pods their GOMEMLIMIT. The chart in deploy/helm/snug
installs all of them.`,
		Example: `  snug cluster doctor
  snug cluster policy --try deploy/
  snug cluster agent --once`,
	}
	cmd.AddCommand(NewFleetPS(u), NewFleetDoctor(u), NewFleetTop(u), NewFleetSize(u), NewAgent(u), NewPolicy(u),
		NewWebhook(u))
	return cmd
}
