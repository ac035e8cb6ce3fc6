// SPDX-License-Identifier: Apache-2.0

// Package prove is the commands that measure: bench, tune, report.
package prove

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func NewBench(u *ui.UI) *cobra.Command {
	b := &lab.Bench{Lab: newLab(u)}
	b.Records = true
	cmd := &cobra.Command{
		Use:   "bench [LIMITS] [KNOBS] [LOAD] [--url URL] [-- CMD [ARG...]]",
		Short: "Compare settings of Go in a real container, with honest statistics",
		Long: `Run a program under several settings of GOMAXPROCS, GOGC and GOMEMLIMIT, or of
any variables (--set), each run a fresh process in a fresh cgroup, in rounds of
shuffled order, and say what is better, what is worse, and what could not be
shown.

Alone it takes about a minute: a built-in HTTP service with 1 CPU under Go's
default, snug's value, 1 and 8. --full adds open-loop loads and latency
percentiles, in about 15 minutes.

--url with a command after -- starts that service in the cgroup and loads it; a
command without --url is a batch job, and its duration is compared. --url alone
loads a service that runs already: nothing is confined and no knob is set.

A batch that is killed for want of memory is a result of its setting: how many
of its rounds were is told with an exact interval. Numbers that a batch prints
in its last line, a JSON object, are kept with each run; --metric shows them.

Loads: saturated (closed loop, as fast as it goes), 80% (open loop, of what the
default setting serves when saturated), 800/s (open loop). In an open loop
requests are sent when they are due, whether or not the earlier ones have been
answered, and latency counts from then. --users is the closed loop that load
tests are often written as.

Workloads:
` + workloadHelp() + `
Nothing is confined by default in a container that cannot make cgroups: there
its own limits hold, and only the knobs are compared.

A Go program is asked for a GC trace on its stderr (GODEBUG=gctrace=1), which is
read and shown to nobody. --trace takes an execution trace of each run of a
workload that drives itself, and shows its figures beside snug's own; all times
then hold what tracing costs. Ctrl-C stops at once and shows what was measured.

Exit codes: 0 fine; 1 snug or the program failed; 2 wrong usage; 3 with --check,
when the current setting is worse than the best beyond noise; 130 interrupted.`,
		Example: `  snug bench
  snug bench --cpus 0.5,1,1.5 --gomaxprocs 1,2,4,8 --html report.html
  snug bench --cpus 1 --load 50%,80% --url http://127.0.0.1:8080/ -- ./server
  snug bench --cpus 2 --memory 512MiB --gogc 50,100,400 -- ./batch input.xml
  snug bench --set MODE=fast,GOGC=200 --set MODE=small --metric rows_per_second -- ./batch
  snug bench --users 30,50,100 --url http://127.0.0.1:8080/ -- ./server
  snug bench --workload xml --gogc 100,1000 --trace
  snug bench --check --json --url http://127.0.0.1:8080/ -- ./server`,
		Args:        cobra.ArbitraryArgs,
		Annotations: ui.AnotherProgram(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command(&b.Lab, cmd, args); err != nil {
				return err
			}
			doc, err := b.Run()
			if doc == nil {
				return err
			}
			doc.Next = nextBench(b, cmd.Flags(), doc)
			if e := publish(u, &b.Lab, doc); err == nil {
				err = e
			}
			if err != nil {
				return err
			}
			return b.Judge(doc)
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.SortFlags = false
	b.Sweep.AddLimits(fs)
	b.Sweep.AddKnobs(fs)
	b.Sweep.AddSets(fs)
	flagvalue.DefineList(fs, "workload", "built-in `NAME` to measure, see above (default http)", wantWorkload(), parseWorkloads, &b.Sweep.Workloads)
	flagvalue.DefineList(fs, "load", "loads of a service: saturated, `80%`, 800/s", "saturated, a share of capacity such as 80%, or a rate such as 800/s", lab.ParseLoad, &b.Sweep.Loads)
	flagvalue.DefineList(fs, "users", "closed loops of `N` users each, as 30,50,100", "whole numbers from 1 to 10000", func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= 1 && n <= 10_000
	}, &b.Users)
	b.Add(fs)
	ui.Complete(cmd, "objective", lab.Objectives...)
	ui.Complete(cmd, "workload", workload.Names()...)
	flagvalue.DefineList(fs, "metric", "show figures that a batch prints itself, by `NAME` in the last line of JSON", "names of figures", func(text string) (string, bool) {
		return text, text != ""
	}, &b.Metrics)
	fs.Var((*flagvalue.Text)(&b.Stdout), "stdout", "keep what each run of a batch prints, in files of `DIR`")
	fs.BoolVar(&b.Trace, "trace", false, "also take an execution trace of each run, and show its figures")
	fs.BoolVar(&b.Full, "full", false, "also open loops and latency percentiles; about 15 minutes")
	fs.BoolVar(&b.Check, "check", false, "exit with 3 when the current setting is worse than the best")
	fs.Var((*flagvalue.Text)(&b.Benchfmt), "benchfmt", "also write the runs to `FILE` in Go's benchmark format, for benchstat")
	u.JSONFlag(cmd)
	return cmd
}

// parseWorkloads reads what parseWorkload does, and the common beginning of several names.
func parseWorkloads(text string) (string, bool) { return text, len(workload.Family(text)) > 0 }

// parseWorkload reads the name of a built-in workload; wantWorkload lists them.
func parseWorkload(text string) (string, bool) {
	_, ok := workload.Describe(text)
	return text, ok
}

func wantWorkload() string { return "one of " + strings.Join(workload.Names(), ", ") }

// workloadHelp is a line for each built-in workload.
func workloadHelp() string {
	var b strings.Builder
	for _, name := range workload.Names() {
		what, _ := workload.Describe(name)
		b.WriteString("  " + name + strings.Repeat(" ", max(1, 17-len(name))) + what + "\n")
	}
	return b.String()
}

// nextBench is the one command that leads on.
func nextBench(b *lab.Bench, flags *pflag.FlagSet, doc *finding.Bench) string {
	knobs := append([]string{"gomaxprocs", "gogc", "gomemlimit", "set", "burst", "replicas", "users", "rounds", "window", "warmup", "seed", "objective", "full", "metric", "stdout"}, target...)
	late := slices.ContainsFunc(doc.Cells, func(c finding.Cell) bool {
		return slices.ContainsFunc(c.Rounds, func(r finding.Run) bool { return strings.Contains(r.Invalid, "generator was late") })
	})
	switch {
	case !doc.Complete && b.RecordFile != "":
		return "snug bench --record " + message.Quote(b.RecordFile) + again(&b.Lab, flags, knobs...)
	case late && !b.RealTime && os.Geteuid() == 0:
		return "snug bench --rt" + again(&b.Lab, flags, knobs...)
	case b.Sweep.Workloads[0] == "url":
		return "snug bench" + again(&b.Lab, flags, target...) + " -- COMMAND"
	case len(b.Cmd) == 0 && !b.Full && flags.NFlag() == 0:
		return "snug bench --full --html report.html"
	case len(b.Cmd) == 0:
		return "snug bench --url http://127.0.0.1:PORT/ -- COMMAND"
	case len(b.Sweep.CPUs) > 1 || len(b.Sweep.Memory) > 1 || len(b.Sweep.Loads) > 1:
		return "snug tune" + again(&b.Lab, flags, "url", "method", "body", "header", "timeout", "ready", "rt")
	}
	return "snug tune" + again(&b.Lab, flags, target...)
}
