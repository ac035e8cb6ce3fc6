// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func newBench(u *ui) *cobra.Command {
	b := &bench{lab: lab{ui: u, records: true}}
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
		GroupID: groupProve,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := b.command(cmd, args); err != nil {
				return err
			}
			return b.run()
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.SortFlags = false
	b.sweep.addLimits(fs)
	b.sweep.addKnobs(fs)
	b.sweep.addSets(fs)
	defineList(fs, "workload", "built-in `NAME` to measure, see above (default http)", wantWorkload(), parseWorkloads, &b.sweep.workloads)
	defineList(fs, "load", "loads of a service: saturated, `80%`, 800/s", "saturated, a share of capacity such as 80%, or a rate such as 800/s", parseLoad, &b.sweep.loads)
	defineList(fs, "users", "closed loops of `N` users each, as 30,50,100", "whole numbers from 1 to 10000", func(text string) (int, bool) {
		n, err := strconv.Atoi(text)
		return n, err == nil && n >= 1 && n <= 10_000
	}, &b.users)
	b.add(fs)
	defineList(fs, "metric", "show figures that a batch prints itself, by `NAME` in the last line of JSON", "names of figures", func(text string) (string, bool) {
		return text, text != ""
	}, &b.metrics)
	fs.Var((*textFlag)(&b.stdout), "stdout", "keep what each run of a batch prints, in files of `DIR`")
	fs.BoolVar(&b.trace, "trace", false, "also take an execution trace of each run, and show its figures")
	fs.BoolVar(&b.full, "full", false, "also open loops and latency percentiles; about 15 minutes")
	fs.BoolVar(&b.check, "check", false, "exit with 3 when the current setting is worse than the best")
	fs.Var((*textFlag)(&b.benchfmt), "benchfmt", "also write the runs to `FILE` in Go's benchmark format, for benchstat")
	u.jsonFlag(cmd)
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

// bench is one invocation of `snug bench`.
type bench struct {
	lab
	sweep sweep
	users []int
	full  bool
	check bool
}

// Quick, full and plain designs. Seven rounds are the least that lets Holm's
// rule show something with three arms beside the baseline (2/2^7 x 3 < 0.05);
// more arms need more.
const (
	defaultRounds = 7
	quickWindow   = 1500 * time.Millisecond
	plainWindow   = 4 * time.Second
	fullWindow    = 10 * time.Second
)

// fillIn completes what was not asked for.
func (b *bench) fillIn() error {
	s := &b.sweep
	var workloads []string
	for _, name := range s.workloads {
		workloads = append(workloads, workload.Family(name)...)
	}
	s.workloads = workloads
	builtin := len(b.cmd) == 0 && len(b.urls) == 0
	remote := len(b.cmd) == 0 && !builtin
	if len(s.workloads) > 0 && !builtin {
		return usage("a built-in workload and a program of your own, --workload "+strings.Join(s.workloads, ","), "give one or the other")
	}
	if b.check && remote {
		return usage("nothing to compare, --check with --url alone", "give the service's command after --, so that snug can start it with other settings")
	}
	knobs := len(s.procs)+len(s.gogc)+len(s.memlimit)+len(s.burst)+len(s.sets) > 0
	if remote && (knobs || len(s.cpus)+len(s.memory) > 0) {
		return usage("limits and knobs need a program that snug starts, --url alone", "give the service's command after --")
	}
	if err := b.heeded(); err != nil {
		return err
	}
	if err := b.traceable(builtin); err != nil {
		return err
	}
	if err := b.replicable(); err != nil {
		return err
	}
	if err := s.possible(&b.choice); err != nil {
		return err
	}
	quick := builtin && len(s.cpus)+len(s.memory)+len(s.workloads)+len(s.loads)+len(b.users) == 0 && !knobs && !b.full
	switch {
	case remote:
		s.workloads = []string{"url"}
	case !builtin:
		s.workloads = []string{"command"}
	case len(s.workloads) == 0:
		s.workloads = []string{"http"}
	}
	if !knobs && !remote {
		s.procs = []string{"1", "8"}
		if !builtin {
			s.procs = []string{"1", "2", "4"}
		}
	}
	if err := b.fillInLoads(); err != nil {
		return err
	}
	window := plainWindow
	switch {
	case quick:
		window = quickWindow
	case b.full:
		window = fullWindow
	}
	b.timing(window, quick)
	if !b.objectiveSet && !slices.ContainsFunc(s.workloads, func(w string) bool { return b.loadsOf(w)[0] != runner.LoadBatch }) {
		b.objective = "wall"
	}
	var loads []string
	for _, w := range s.workloads {
		loads = append(loads, b.loadsOf(w)...)
	}
	return b.comparable(loads)
}

// fillInLoads decides which loads there are: services have those asked for,
// other programs one of their own.
func (b *bench) fillInLoads() error {
	s := &b.sweep
	for _, n := range b.users {
		s.loads = append(s.loads, strconv.Itoa(n)+" users")
	}
	service := len(b.urls) > 0 || len(b.cmd) == 0 && slices.ContainsFunc(s.workloads, workload.IsService)
	if !service && (len(s.loads) > 0 || b.full) {
		return usage("a load for a program that is not a service, "+b.loadFlag(), "give the address where it serves: --url http://127.0.0.1:PORT/")
	}
	if len(s.loads) == 0 {
		s.loads = []string{runner.LoadSaturated}
		if b.full {
			s.loads = append(s.loads, "50%", "80%")
		}
	} else if b.full {
		return usage("--full has its own loads, --load or --users", "give one or the other")
	}
	return nil
}

// loadsOf are the loads that a workload knows.
func (b *bench) loadsOf(w string) []string {
	switch {
	case len(b.urls) > 0, workload.IsService(w):
		return b.sweep.loads
	case w == "command", workload.IsBatch(w):
		return []string{runner.LoadBatch}
	}
	return []string{runner.LoadSelf}
}

func (b *bench) run() error {
	if err := b.look(); err != nil {
		return err
	}
	if err := b.fillIn(); err != nil {
		return err
	}
	if err := b.prepare(); err != nil {
		return err
	}
	if err := b.confinement(&b.sweep); err != nil {
		return err
	}
	var arms []experiment.Arm
	for _, w := range b.sweep.workloads {
		one := b.sweep
		one.workloads, one.loads = []string{w}, b.loadsOf(w)
		more, err := one.arms(&b.choice)
		if err != nil {
			return err
		}
		arms = append(arms, more...)
	}
	if b.sweep.workloads[0] == "url" {
		for i := range arms {
			arms[i].Labels = []string{"as it runs"}
		}
	}
	for _, a := range arms {
		if err := b.runner.Check(a.Arm); err != nil {
			return b.explain(context.Background(), err)
		}
	}
	d := &experiment.Design{Arms: arms, Rounds: b.rounds, Seed: b.seed, Against: experiment.BaselineOfVariants}
	switch least := d.LeastRounds(); {
	case d.Rounds == 0:
		d.Rounds = max(defaultRounds, least)
	case d.Rounds < least && b.check:
		return usage(fmt.Sprintf("nothing can be found in %s with %s, --check --rounds %d", counted(d.Rounds, "round"), counted(len(arms), "setting"), d.Rounds),
			fmt.Sprintf("give it --rounds %d, or fewer settings", least))
	case d.Rounds < least:
		b.ui.note("note: with %s nothing can be shown in fewer than %d rounds; --rounds %d measures without a verdict", counted(len(arms), "setting"), least, d.Rounds)
	}
	b.rounds = d.Rounds
	doc, err := b.measure(d)
	if doc == nil {
		return err
	}
	if e := b.publish(doc); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	if n, of, why := experiment.Uncounted(raw(doc)); n == of && n > 0 {
		return failed(fmt.Sprintf("none of %s counted: %s", counted(n, "run"), why), "give the load generator real-time priority (--rt), or a machine with less to do")
	}
	if b.check {
		if err := checkable(doc); err != nil {
			return err
		}
		if worse, why := experiment.Worse(d, doc.Cells, b.objective); worse {
			return &failure{exitFinding, why, "set what the verdict says, or run it again with more --rounds to be sure"}
		}
	}
	return nil
}

// measure runs the design and judges it. The document is nil only when there is
// nothing to show.
func (b *bench) measure(d *experiment.Design) (*finding.Bench, error) {
	ctx, stop := b.interruptible()
	defer stop()
	started := time.Now()
	setup := b.setup(started)
	var old *finding.Setup
	var err error
	if b.recordFile != "" {
		if _, old, err = experiment.Recorded(b.recordFile); err != nil {
			return nil, b.explain(ctx, err)
		}
	}
	if setup.Capacities, err = b.rates(ctx, d, old); err != nil {
		return nil, b.explain(ctx, err)
	}
	var rec *experiment.Record
	if b.recordFile != "" {
		if rec, err = experiment.OpenRecord(b.recordFile, d, setup); err != nil {
			return nil, b.explain(ctx, err)
		}
		defer rec.Close()
	}
	b.announce(d, rec.Kept())
	if old != nil && rec.Kept() > 0 {
		setup.Started, setup.Resumed = old.Started, rec.Kept()
	}
	progress, done := b.progress()
	runs, err := experiment.Execute(ctx, d, b.runner, rec, progress)
	done()
	if err != nil {
		err = b.explain(ctx, err)
		if len(runs) == 0 {
			return nil, err
		}
		if rec != nil {
			b.ui.note("note: %s kept; the same command with --record %s goes on from there", counted(len(runs), "run"), shellQuote(b.recordFile))
		}
	}
	setup.Seconds = time.Since(started).Seconds()
	setup.Complete = err == nil
	setup.Machine.Generator = generator(runs)
	doc := &finding.Bench{Head: finding.NewHead(finding.KindBench), Setup: setup, Unknown: []finding.Gap{}, Warnings: b.confessed()}
	doc.Cells = experiment.Cells(d, runs)
	doc.Comparisons = experiment.Compare(d, doc.Cells)
	doc.Verdict = experiment.Judge(d, doc.Cells, doc.Comparisons, b.objective, setup.Machine.CPUs)
	doc.Repeated, doc.Excluded = experiment.Repeated(runs), experiment.Excluded(runs)
	doc.Next = b.next(doc)
	return doc, err
}

// next is the one command that leads on.
func (b *bench) next(doc *finding.Bench) string {
	knobs := append([]string{"gomaxprocs", "gogc", "gomemlimit", "set", "burst", "replicas", "users", "rounds", "window", "warmup", "seed", "objective", "full", "metric", "stdout"}, target...)
	late := slices.ContainsFunc(doc.Cells, func(c finding.Cell) bool {
		return slices.ContainsFunc(c.Rounds, func(r finding.Run) bool { return strings.Contains(r.Invalid, "generator was late") })
	})
	switch {
	case !doc.Complete && b.recordFile != "":
		return "snug bench --record " + shellQuote(b.recordFile) + b.again(knobs...)
	case late && !b.realTime && os.Geteuid() == 0:
		return "snug bench --rt" + b.again(knobs...)
	case b.sweep.workloads[0] == "url":
		return "snug bench" + b.again(target...) + " -- COMMAND"
	case len(b.cmd) == 0 && !b.full && b.flags.NFlag() == 0:
		return "snug bench --full --html report.html"
	case len(b.cmd) == 0:
		return "snug bench --url http://127.0.0.1:PORT/ -- COMMAND"
	case len(b.sweep.cpus) > 1 || len(b.sweep.memory) > 1 || len(b.sweep.loads) > 1:
		return "snug tune" + b.again("url", "method", "body", "header", "timeout", "ready", "rt")
	}
	return "snug tune" + b.again(target...)
}
