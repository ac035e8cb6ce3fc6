package cli

import "github.com/spf13/cobra"

func newExplain(u *ui) *cobra.Command {
	return &cobra.Command{Use: "explain", GroupID: groupPlumbing, Run: func(*cobra.Command, []string) {}}
}
