// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
)

func newVersion(u *ui.UI) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of snug",
		Args:  ui.NoArgs,
		RunE:  func(*cobra.Command, []string) error { return u.Answer(ui.Build()) },
	}
	u.JSONFlag(cmd)
	return cmd
}
