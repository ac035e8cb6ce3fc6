// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/top"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
)

// flagWords are what flags of commands take that take one of a few words.
var flagWords = map[string][]string{
	"doctor --fail-on":  failWords,
	"vet --fail-on":     failWords,
	"ps --sort":         slices.Sorted(maps.Keys(psOrders)),
	"top --sort":        top.Orders(),
	"plan --round":      roundWords,
	"run --round":       roundWords,
	"bench --workload":  workload.Names(),
	"tune --workload":   workload.Names(),
	"bench --objective": objectiveWords,
	"tune --objective":  objectiveWords,
}

var (
	failWords      = []string{"info", "warning", "error", "never"}
	roundWords     = []string{"ceil", "floor", "nearest"}
	objectiveWords = []string{"cpu", "rps", "p99", "wall"}
)

// completeFlags has shells complete the words that a command's flags take.
func completeFlags(cmd *cobra.Command) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if words := flagWords[cmd.Name()+" --"+f.Name]; words != nil {
			// It fails for a flag that is not there.
			_ = cmd.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
		}
	})
}

func newCompletion(u *ui) *cobra.Command {
	shells := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:       "completion SHELL",
		Short:     "Print a shell's completion script",
		Long:      "Print the completion script of a shell: " + strings.Join(shells, ", ") + ".",
		Example:   "  source <(snug completion bash)",
		GroupID:   groupPlumbing,
		ValidArgs: shells,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usage("needs one shell, snug completion", "write one of "+strings.Join(shells, ", "))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var b bytes.Buffer
			root := cmd.Root()
			var err error
			switch args[0] {
			case "bash":
				err = root.GenBashCompletionV2(&b, true)
			case "zsh":
				err = root.GenZshCompletion(&b)
			case "fish":
				err = root.GenFishCompletion(&b, true)
			case "powershell":
				err = root.GenPowerShellCompletionWithDesc(&b)
			default:
				err = usage("unknown shell, "+typed(args[0]), "write one of "+strings.Join(shells, ", "))
			}
			if err != nil {
				return err
			}
			return u.write(b.Bytes())
		},
	}
}
