// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/prove/search"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
)

func newTune(u *ui) *cobra.Command {
	t := &tune{lab: lab{ui: u}}
	cmd := &cobra.Command{
		Use:   "tune [LIMITS] [KNOBS] [LOAD] [--url URL] -- CMD [ARG...]",
		Short: "Find the settings of Go that suit a program best, or say to keep the default",
		Long: `Search for the GOMAXPROCS, GOGC and GOMEMLIMIT with which a program does best in
its container: under load with --url, or as a batch command without.

First the default is measured; then a part of all settings that can fit, balanced
so that every value of every knob is seen equally often; then the better half
again and again; and last the winner against the default on fresh, paired runs.
The verdict is the winner with its interval, or to keep the default. The plan and
its duration are shown before it starts.

Objectives: cpu (CPU time per request), rps, p99, wall (of a batch command).
--constraint sets bounds that the winner has to keep: p99<20ms, rss<=400MiB,
rps>=1000. No setting wins that fails requests or runs out of memory.`,
		Example: `  snug tune --cpus 1 --memory 512MiB --url http://127.0.0.1:8080/ -- ./server
  snug tune --objective p99 --load 400/s --budget 60m --url http://127.0.0.1:8080/ -- ./server
  snug tune --cpus 2 --memory 1GiB -- ./batch input.xml
  snug tune --constraint 'rss<=400MiB' --html report.html --url http://127.0.0.1:8080/ -- ./server`,
		GroupID: groupProve,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := t.command(cmd, args); err != nil {
				return err
			}
			return t.run()
		},
	}
	fs := cmd.Flags()
	fs.SetInterspersed(false)
	fs.SortFlags = false
	t.sweep.addLimits(fs)
	t.sweep.addKnobs(fs)
	defineValue(fs, "workload", "tune the built-in `NAME` instead of a program (see snug bench --help)", wantWorkload(), parseWorkload, &t.workload)
	defineValue(fs, "load", "load of a service: `saturated`, 80%, 800/s (default saturated; 80% for p99)", "saturated, a share of capacity such as 80%, or a rate such as 800/s", parseLoad, &t.load)
	fs.StringArrayVar(&t.constraints, "constraint", nil, "the winner must keep to `BOUND`, as 'p99<20ms'; repeatable")
	defineValue(fs, "budget", "search for `TIME` (default 15m)", "a time from 1m to 24h", func(text string) (time.Duration, bool) {
		d, err := time.ParseDuration(text)
		return d, err == nil && d >= time.Minute && d <= 24*time.Hour
	}, &t.budget)
	t.add(fs)
	for _, refused := range []string{"replicas", "rounds", "record"} { // with the reason, see input
		fs.MarkHidden(refused)
	}
	u.jsonFlag(cmd)
	return cmd
}

// tune is one invocation of `snug tune`.
type tune struct {
	lab
	sweep       sweep
	workload    string
	load        string
	constraints []string
	budget      time.Duration
}

const tuneWindow = 3 * time.Second

func (t *tune) run() error {
	if err := t.look(); err != nil {
		return err
	}
	in, err := t.input()
	if err != nil {
		return err
	}
	if err := t.prepare(); err != nil {
		return err
	}
	if err := t.confinement(&t.sweep); err != nil {
		return err
	}
	if t.choice.env != (plan.Env{}) {
		t.ui.note("note: GOMAXPROCS, GOGC and GOMEMLIMIT of the environment are left out: the search begins with Go's defaults")
	}
	if t.runner.Own {
		in.Memory, _ = t.choice.limits.Memory.Hard.Get()
	}
	if err := t.complete(in); err != nil {
		return err
	}
	doc, err := t.search(in)
	if doc == nil {
		return err
	}
	if e := t.publish(doc); err == nil {
		err = e
	}
	return err
}

// input is what the command line asks of a search, before the machine has been
// looked at.
func (t *tune) input() (*search.Input, error) {
	s := &t.sweep
	builtin := t.workload != ""
	switch {
	case !builtin && len(t.cmd) == 0 && len(t.urls) > 0:
		return nil, usage("nothing to set, --url alone", "give the service's command after --, so that snug can start it with other settings")
	case !builtin && len(t.cmd) == 0:
		return nil, usage("no command, snug tune", "name the program to tune: snug tune --url http://127.0.0.1:8080/ -- ./server")
	case builtin && len(t.cmd)+len(t.urls) > 0:
		return nil, usage("a built-in workload and a program of your own, --workload "+t.workload, "give one or the other")
	case len(s.cpus) > 1 || len(s.memory) > 1:
		return nil, usage("several limits, --cpus or --memory", "a program is tuned for one container: run snug tune for each")
	case t.recordFile != "":
		return nil, usage("a search has no record, --record", "keep its result: --json > tune.json")
	case t.rounds != 0:
		return nil, usage("a search decides itself how often, --rounds", "give it more time: --budget 30m")
	case len(s.replicas) > 0:
		return nil, usage("a program is tuned for one container, --replicas", "snug bench compares replicas")
	}
	if err := t.heeded(); err != nil {
		return nil, err
	}
	service := len(t.urls) > 0 || workload.IsService(t.workload)
	if !service && t.load != "" {
		return nil, usage("a load for a program that is not a service, --load", "give the address where it serves: --url http://127.0.0.1:PORT/")
	}
	t.timing(tuneWindow, false)
	if !t.objectiveSet && !service && (!builtin || workload.IsBatch(t.workload)) {
		t.objective = "wall"
	}
	base := finding.Arm{Workload: "command", Load: runner.LoadBatch}
	if builtin {
		base.Workload = t.workload
	}
	switch {
	case service && t.load != "":
		base.Load = t.load
	case service && t.objective == "p99":
		base.Load = "80%"
	case service:
		base.Load = runner.LoadSaturated
	case builtin && !workload.IsBatch(t.workload):
		base.Load = runner.LoadSelf
	}
	if err := t.comparable([]string{base.Load}); err != nil {
		return nil, err
	}
	if t.budget == 0 {
		t.budget = 15 * time.Minute
	}
	in := &search.Input{
		Base:   experiment.Arm{Arm: base, Labels: []string{experiment.LabelDefault}, Rate: rateOf(base.Load)},
		Budget: t.budget, Seed: t.seed,
		Values: search.Values{GOMAXPROCS: s.procs, GOGC: s.gogc},
	}
	var err error
	if in.Objective, err = search.ParseObjective(t.objective); err != nil {
		return nil, usage(err.Error(), "snug tune --help")
	}
	for _, text := range t.constraints {
		c, err := search.ParseConstraint(text)
		if err != nil {
			return nil, usage(err.Error(), "write --constraint 'p99<20ms' or 'rss<=400MiB'")
		}
		if err := bounded(c.String(), base.Load); err != nil {
			return nil, err
		}
		in.Constraints = append(in.Constraints, c)
	}
	return in, nil
}

// complete adds what the machine and the program say.
func (t *tune) complete(in *search.Input) error {
	s := &t.sweep
	in.CPUs = t.machine.CPUs
	if len(s.cpus) > 0 {
		in.Base.Quota = s.cpus[0]
	}
	if len(s.memory) > 0 {
		in.Base.Memory = s.memory[0]
	}
	for _, b := range s.burst {
		micros, err := b.micros(in.Base.Quota)
		if err != nil {
			return err
		}
		in.Values.Burst = append(in.Values.Burst, micros)
	}
	memory := in.Base.Memory
	if memory == 0 {
		memory = in.Memory
	}
	for _, m := range s.memlimit {
		text, err := memoryLimit(m, memory, "--gomemlimit")
		if err != nil {
			return err
		}
		in.Values.GOMEMLIMIT = append(in.Values.GOMEMLIMIT, text)
	}
	fit, _ := t.choice.fit(in.Base.Quota, memory)
	in.Snug = &fit
	if err := t.runner.Check(in.Base.Arm); err != nil {
		return t.explain(context.Background(), err)
	}
	in.PerRun = t.warmUp + t.window + t.probe() + runCost
	return nil
}

// search searches and tells how far it is. The document is nil only when there
// is nothing to show.
func (t *tune) search(in *search.Input) (*finding.Tune, error) {
	ctx, stop := t.interruptible()
	defer stop()
	started := time.Now()
	setup := t.setup(started)
	if share, ok := percentOf(in.Base.Load); ok {
		c := finding.Capacity{Workload: in.Base.Workload, Quota: in.Base.Quota, Memory: in.Base.Memory}
		var err error
		if c.RPS, err = t.capacity(ctx, c); err != nil {
			return nil, t.explain(ctx, err)
		}
		in.Base.Rate = share * c.RPS
		setup.Capacities = append(setup.Capacities, c)
	}
	if err := t.preview(in); err != nil {
		return nil, err
	}
	in.Planned = func(p search.Plan) error {
		t.ui.note("note: %s", planned(p))
		return nil
	}
	in.Progress = func(stage string, p experiment.Progress) {
		t.ui.status(fmt.Sprintf("%s: run %d of %d; %s of %s", stage, min(p.Done+1, p.Total), p.Total,
			time.Since(started).Round(time.Second), t.budget))
	}
	doc, err := search.Run(ctx, *in, t.runner)
	t.ui.status("")
	if err != nil {
		err = t.searchError(ctx, err)
	}
	if doc == nil || len(doc.Stages) == 0 {
		return nil, err
	}
	mine := doc.Setup
	doc.Setup = setup
	doc.Objective, doc.Seconds, doc.Complete, doc.Rounds = mine.Objective, mine.Seconds, mine.Complete, mine.Rounds
	doc.Repeated, doc.Excluded = mine.Repeated, mine.Excluded
	doc.Warnings = append(t.confessed(), doc.Warnings...)
	doc.Next = "snug bench" + winner(doc) + t.again(target...)
	return doc, err
}

// preview shows the plan before anything is measured.
func (t *tune) preview(in *search.Input) error {
	p, err := search.Preview(*in)
	if err != nil {
		return t.searchError(context.Background(), err)
	}
	t.ui.note("note: at most %s; the baseline may rule some out", planned(p))
	return nil
}

// planned says what a search is about to do.
func planned(p search.Plan) string {
	var steps []string
	for _, s := range p.Steps {
		steps = append(steps, fmt.Sprintf("%s %d x %d", s.Name, s.Arms, s.Rounds))
	}
	took := ""
	if p.PerRun > 0 {
		took = ", about " + roughly(p.Duration())
	}
	return fmt.Sprintf("%d settings, %d runs%s: %s", p.Candidates, p.Runs(), took, strings.Join(steps, ", "))
}

func (t *tune) searchError(ctx context.Context, err error) error {
	var budget *search.BudgetError
	if errors.As(err, &budget) {
		return usage(budget.Error(), budget.Hint())
	}
	return t.explain(ctx, err)
}

// winner is the flag with which snug bench measures the setting that was found;
// "" when that is the default.
func winner(doc *finding.Tune) string {
	if doc.Verdict.Best == nil || doc.Confirm == nil {
		return ""
	}
	var set []string
	k := doc.Confirm.Winner.Knobs
	for _, v := range []struct{ name, value string }{{"GOMAXPROCS", k.GOMAXPROCS}, {"GOGC", k.GOGC}, {"GOMEMLIMIT", k.GOMEMLIMIT}} {
		if v.value != "" {
			set = append(set, v.name+"="+v.value)
		}
	}
	if len(set) == 0 {
		return ""
	}
	return " --set " + strings.Join(set, ",")
}
