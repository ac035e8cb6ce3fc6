package cli

import "github.com/spf13/cobra"

func newCollect(u *ui) *cobra.Command {
	return &cobra.Command{Use: "collect", GroupID: groupPlumbing, Run: func(*cobra.Command, []string) {}}
}
