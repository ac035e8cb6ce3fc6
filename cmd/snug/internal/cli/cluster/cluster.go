// SPDX-License-Identifier: Apache-2.0

// Package cluster holds the commands for a whole cluster: policy, agent, webhook.
package cluster

import (
	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
)

// New returns the command whose commands are those of this package.
func New(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cluster COMMAND",
		Short: "Fit and watch the pods of a whole cluster: agent, policy, webhook",
		Long: `Fit and watch the pods of a whole cluster. The agent runs on every node and reports what
does not fit. Admission policies, or the webhook, give new pods their GOMEMLIMIT. The
chart in deploy/helm/snug installs all of them.`,
		Example: `  snug cluster policy --try deploy/
  snug cluster agent --once`,
	}
	cmd.AddCommand(NewAgent(u), NewPolicy(u), NewWebhook(u))
	return cmd
}
