// SPDX-License-Identifier: Apache-2.0

// Package small is the command line of snug-run: those commands of snug that a container needs.
package small

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/fit"
	"github.com/snug-go/snug/cmd/snug/internal/cli/root"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
)

// Whole lists the commands that only snug has. A test compares it with them.
var Whole = []string{
	"agent", "bench", "check", "cluster", "collect", "completion", "doctor", "explain", "lint", "policy",
	"profile", "ps", "report", "size", "top", "trace", "tune", "vet", "webhook",
}

// Main runs snug-run with args, which do not include its name, and returns the exit code: that of
// the same command of snug.
func Main(u *ui.UI, args []string) int {
	newPlan := func(u *ui.UI) *cobra.Command { return fit.NewPlan(u, nil) }
	p := &root.Program{
		Name:  "snug-run",
		Short: "Start Go programs fitted to their container",
		Long: `snug-run finds what a container really gives a Go program, decides what GOMAXPROCS
and GOMEMLIMIT should be, and starts the program with that. It is the part of snug that
a container needs; snug itself also finds what is wrong, and measures.`,
		Example: `  snug-run run -- ./server         start ./server fitted
  snug-run plan --exe ./server     what that sets, and why
  snug-run limits                  what the container gives`,
		Groups: []root.Group{{Title: "Commands:",
			Commands: []func(*ui.UI) *cobra.Command{fit.NewLimits, newPlan, fit.NewRun, root.NewVersion}}},
		Missing: func(word string) string {
			if slices.Contains(Whole, word) {
				return "it is a command of snug; snug-run is the small part for containers"
			}
			return ""
		},
	}
	return p.Main(u, args)
}
