// SPDX-License-Identifier: Apache-2.0

// Package prove holds the commands that measure: bench, tune and report.
package prove

import (
	"context"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
	"github.com/snug-go/snug/cmd/snug/internal/cli/usage"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/engine"
	"github.com/snug-go/snug/cmd/snug/internal/prove/lab"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func NewBench(u *ui.UI) *cobra.Command {
	b := &lab.Bench{Lab: newLab(u)}
	in := new(container)
	cmd := &cobra.Command{
		Use:   "bench [LIMITS] [KNOBS] [LOAD] [--url URL] [-- CMD [ARG...]]",
		Short: "Compare settings of Go in a real container, with honest statistics",
		Long: `Run a program under several settings of GOMAXPROCS, GOGC and GOMEMLIMIT, or of
any variables (--set), and report what is better, what is worse, and what these
runs cannot show. Each run is a fresh process in a fresh cgroup. Each round runs
every setting once, in shuffled order.

Without arguments it takes about a minute: a built-in HTTP service with 1 CPU
under Go's default, snug's value, 1 and 8. --full adds open-loop loads and
latency percentiles, and takes about 15 minutes.

--url with a command after -- starts that service in the cgroup and loads it. A
command without --url is a batch job, and its duration is compared. --url alone
loads a service that already runs: snug confines nothing and sets no knob.

--load-cmd 'CMD' loads a service of any protocol: CMD runs by sh -c outside of
the cgroup, for SNUG_SECONDS seconds, and its last line is a JSON object such as
{"operations": 5000, "errors": 0, "p99_seconds": 0.012}.
--url tcp://HOST:PORT is where the service listens. --prepare 'CMD' fills the
service before each run. "snug explain load-command" has the variables.

Go benchmarks, from go test -bench or a test program with -test.bench, are
compared one by one, in each unit that they print. snug builds those of go test
before the first run.

If a batch runs out of memory, that is a result of its setting: the report says
in how many rounds, with an exact interval. If the last line that a batch prints
is a JSON object, its numbers are kept with each run; --metric shows them.

Loads: saturated (closed loop, as fast as the service answers), 80% (open loop,
at 80% of what the default setting serves when saturated), 800/s (open loop). An
open loop sends each request when it is due, even if earlier ones are not
answered yet, and latency counts from that time. --users is a closed loop, as
most load tests are. --users 30..100/2m adds users evenly while it measures, in
one process, and shows the course: throughput, median, P95, throttling, GC.

Workloads:
` + workloadHelp() + `
--in docker runs all of it in a container, on a machine without cgroups such as a
Mac: the program must be built for Linux, and the current directory is there.

In a container that cannot make cgroups, snug confines nothing by default: the
container's own limits apply, and only the knobs are compared.

snug asks a Go program for a GC trace on stderr (GODEBUG=gctrace=1), reads it,
and does not print it. --trace also takes an execution trace of each run of a
workload that drives itself, and shows its figures beside snug's own; all times
then include the cost of tracing. Ctrl-C stops at once and shows what was
measured.

Exit codes: 0 success; 1 snug or the program failed; 2 wrong usage; 3 with
--check, if the current setting is worse than the best beyond noise;
130 interrupted.`,
		Example: `  snug bench
  snug bench --cpus 0.5,1,1.5 --gomaxprocs 1,2,4,8 --html report.html
  snug bench --cpus 1 --load 50%,80% --url http://127.0.0.1:8080/ -- ./server
  snug bench --cpus 2 --memory 512MiB --gogc 50,100,400 -- ./batch input.xml
  snug bench --set MODE=fast,GOGC=200 --set MODE=small --metric rows_per_second -- ./batch
  snug bench --cpus 2 --gomaxprocs 1,2,4 -- go test -bench Decode ./codec
  snug bench --in docker --cpus 1 -- ./batch
  snug bench --users 30,50,100 --url http://127.0.0.1:8080/ -- ./server
  snug bench --grpc greet.Greeter/Hello --body @hello.bin --url http://127.0.0.1:50051 -- ./server
  snug bench --users 30..100/2m --html ramp.html --url http://127.0.0.1:8080/ -- ./server
  snug bench --prepare ./fill.sh --load-cmd ./load.sh --url tcp://127.0.0.1:4222 -- ./broker
  snug bench --workload xml --gogc 100,1000 --trace
  snug bench --check --json --url http://127.0.0.1:8080/ -- ./server`,
		Args:        cobra.ArbitraryArgs,
		Annotations: usage.AnotherProgram(),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := command(&b.Lab, cmd, args); err != nil {
				return err
			}
			if in.engine != "" {
				return in.run(context.Background(), u, &b.Lab, commandLine())
			}
			if err := in.check(); err != nil {
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
	flagvalue.DefineList(fs, "workload", "built-in `NAME` to measure, see above (default http)", wantWorkload(),
		parseWorkloads, &b.Sweep.Workloads)
	flagvalue.DefineList(fs, "load", "loads of a service in `LIST`: saturated, 80%, 800/s",
		"saturated, a share of capacity such as 80%, or a rate such as 800/s", lab.ParseLoad, &b.Sweep.Loads)
	b.AddUsers(fs)
	b.Add(fs)
	usage.Complete(cmd, "objective", lab.Objectives...)
	usage.Complete(cmd, "workload", workload.Names()...)
	flagvalue.DefineList(fs, "metric",
		"show figures that a batch or a load command prints, by `NAME` in the last line of JSON", "names of figures",
		func(text string) (string, bool) {
			return text, text != ""
		}, &b.Metrics)
	fs.BoolVar(&b.Trace, "trace", false, "also take an execution trace of each run, and show its figures")
	fs.BoolVar(&b.Full, "full", false, "also open loops and latency percentiles; about 15 minutes")
	fs.BoolVar(&b.Check, "check", false,
		"exit with 3 if the current setting is worse than the best, and print what to paste")
	fs.Var((*flagvalue.Text)(&b.Benchfmt), "benchfmt",
		"also write the runs to `FILE` in Go's benchmark format, for benchstat")
	in.add(fs)
	usage.Complete(cmd, "in", engine.Names...)
	u.JSONFlag(cmd.Flags())
	lab.Sections(fs)
	return cmd
}

// parseWorkloads accepts the name of a built-in workload or the common prefix of several.
func parseWorkloads(text string) (string, bool) { return text, len(workload.Family(text)) > 0 }

func parseUsers(text string) (int, bool) {
	n, err := strconv.Atoi(text)
	return n, err == nil && n >= 1 && n <= 10_000
}

// parseWorkload accepts the name of a built-in workload; wantWorkload lists them.
func parseWorkload(text string) (string, bool) {
	_, ok := workload.Describe(text)
	return text, ok
}

func wantWorkload() string { return "one of " + strings.Join(workload.Names(), ", ") }

// workloadHelp returns one line of help for each built-in workload.
func workloadHelp() string {
	var b strings.Builder
	for _, name := range workload.Names() {
		what, _ := workload.Describe(name)
		b.WriteString("  " + name + strings.Repeat(" ", max(1, 17-len(name))) + what + "\n")
	}
	return b.String()
}

// nextBench returns the command to run next.
func nextBench(b *lab.Bench, flags *pflag.FlagSet, doc *finding.Bench) string {
	knobs := append([]string{"gomaxprocs", "gogc", "gomemlimit", "set", "rounds", "window", "warmup", "seed", "objective",
		"full", "metric"}, target...)
	late := slices.ContainsFunc(doc.Cells, func(c finding.Cell) bool {
		return slices.ContainsFunc(c.Rounds,
			func(r finding.Run) bool { return strings.Contains(r.Invalid, "generator was late") })
	})
	switch {
	case !doc.Complete && b.RecordFile != "":
		return "snug bench --record " + message.Quote(b.RecordFile) + again(&b.Lab, flags, knobs...)
	case late && !b.RealTime && os.Geteuid() == 0:
		return "snug bench --rt" + again(&b.Lab, flags, knobs...)
	case b.Sweep.Workloads[0] == "url":
		return "snug bench" + again(&b.Lab, flags, target...) + " -- COMMAND"
	case b.Benchmarks(), flags.Changed("load-cmd") && len(b.Sweep.Loads) > 1: // a search has one load
		return ""
	case len(b.Cmd) == 0 && !b.Full && flags.NFlag() == 0:
		return "snug bench --full --html report.html"
	case len(b.Cmd) == 0:
		return "snug bench --url http://127.0.0.1:8080/ -- COMMAND"
	case len(b.Sweep.CPUs) > 1 || len(b.Sweep.Memory) > 1 || len(b.Sweep.Loads) > 1:
		return "snug tune" + again(&b.Lab, flags, "url", "load-cmd", "prepare", "method", "body", "header", "http2", "grpc",
			"timeout", "ready", "rt")
	}
	return "snug tune" + again(&b.Lab, flags, target...)
}
