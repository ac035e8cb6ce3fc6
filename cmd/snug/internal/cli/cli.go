// SPDX-License-Identifier: Apache-2.0

// Package cli implements the command line of snug. Each group of commands in --help has a
// folder; package ui prints for all of them, and package root makes them a program. A command
// reads, decides, fills in a document of package finding, and hands it to package report.
package cli

import (
	"debug/buildinfo"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/cli/cluster"
	"github.com/snug-go/snug/cmd/snug/internal/cli/fit"
	"github.com/snug-go/snug/cmd/snug/internal/cli/look"
	"github.com/snug-go/snug/cmd/snug/internal/cli/prove"
	"github.com/snug-go/snug/cmd/snug/internal/cli/root"
	"github.com/snug-go/snug/cmd/snug/internal/cli/source"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/source/govet"
)

// groups lists the commands in the order of --help.
var groups = []root.Group{
	{Title: "Look:", Commands: []func(*ui.UI) *cobra.Command{look.NewPS, look.NewTop, look.NewDoctor, look.NewProfile,
		look.NewTrace}},
	{Title: "Fit:", Commands: []func(*ui.UI) *cobra.Command{fit.NewLimits, newPlan, fit.NewRun, look.NewSize}},
	{Title: "Prove:", Commands: []func(*ui.UI) *cobra.Command{prove.NewBench, prove.NewTune, prove.NewReport}},
	{Title: "Check:", Commands: []func(*ui.UI) *cobra.Command{source.NewCheck, alias(source.NewVet),
		alias(source.NewLint)}},
	{Title: "Cluster:", Commands: []func(*ui.UI) *cobra.Command{cluster.New, alias(cluster.NewAgent),
		alias(cluster.NewPolicy), alias(cluster.NewWebhook)}},
	{Title: "Plumbing:", Commands: []func(*ui.UI) *cobra.Command{newCollect, newExplain, root.NewVersion, newCompletion}},
}

func newPlan(u *ui.UI) *cobra.Command { return fit.NewPlan(u, look.Running) }

// alias returns a command that --help does not list: another name for a part of the one before.
func alias(command func(*ui.UI) *cobra.Command) func(*ui.UI) *cobra.Command {
	return func(u *ui.UI) *cobra.Command {
		cmd := command(u)
		cmd.Hidden = true
		return cmd
	}
}

// Main runs snug with args, which do not include the program's name, and returns the exit
// code; see root.Program. `snug run` has its own exit codes.
func Main(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	goproc.Foreign = buildinfo.Read
	govet.Tool(args, stderr) // returns unless the go command runs snug as a vet tool
	u := &ui.UI{In: stdin, Out: stdout, Err: stderr, Getenv: os.Getenv}
	return program(u).Main(u, args)
}

// plugin reports whether kubectl runs snug: it calls a program by its plug-in's name.
func plugin(program string) bool {
	return strings.HasPrefix(filepath.Base(program), "kubectl-snug")
}

// ofCluster returns the commands of kubectl's plug-in: ps, top, doctor and size are about the cluster.
func ofCluster() []root.Group {
	all := slices.Clone(groups)
	all[0].Commands = []func(*ui.UI) *cobra.Command{cluster.NewFleetPS, cluster.NewFleetTop, cluster.NewFleetDoctor,
		look.NewProfile, look.NewTrace}
	all[1].Commands = []func(*ui.UI) *cobra.Command{fit.NewLimits, newPlan, fit.NewRun, cluster.NewFleetSize}
	return all
}

func program(u *ui.UI) *root.Program {
	groups, display := groups, ""
	if plugin(os.Args[0]) {
		groups, display = ofCluster(), "kubectl snug"
	}
	return &root.Program{
		Name:    "snug",
		Display: display,
		Short:   "Make Go programs fit their containers",
		Long: `snug finds what a container really gives a Go program, decides what GOMAXPROCS
and GOMEMLIMIT should be, and says why.

Without a command it prints a verdict on its own container and the next command to
try.`,
		Example: `  snug                            the verdict on this container
  snug limits --pid 4711          what the container gives process 4711
  snug plan --exe ./server        what ./server should use here, and why
  snug run -- ./server            start ./server with that
  snug plan --root case.txtar     the same in a saved situation (snug collect)`,
		Groups:  groups,
		Default: func() error { return verdict(u) },
	}
}
