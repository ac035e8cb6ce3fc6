// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/process/goproc"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/prove/search"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Tune is one invocation of `snug tune`.
type Tune struct {
	Lab
	Sweep       sweep
	Workload    string
	Load        string
	Users       int // of a closed loop; 0 is none
	Constraints []string
	Budget      time.Duration

	fixed [2]bool // the warm-up and the window are the operator's own
}

// tuneWindow is the window of a run in a long search, and leastWindow, ten periods of a
// quota, that in a short one. A search lengthens them where a request takes long, see [search.Pace].
const (
	tuneWindow  = 3 * time.Second
	leastWindow = time.Second
)

// pace fills in the times that the flags left unset: a small budget gets short runs,
// because a comparison needs a number of them.
func (t *Tune) pace() {
	if t.Budget == 0 {
		t.Budget = 15 * time.Minute
	}
	t.fixed = [2]bool{t.warmUp > 0, t.window > 0}
	t.timing(min(tuneWindow, max(leastWindow, t.Budget/120)), false)
}

func (t *Tune) Run() (*finding.Tune, error) {
	if err := t.readLimits(); err != nil {
		return nil, err
	}
	in, err := t.input()
	if err != nil {
		return nil, err
	}
	if err := t.prepare(); err != nil {
		return nil, err
	}
	if err := t.confinement(&t.Sweep); err != nil {
		return nil, err
	}
	if e := t.choice.env; e.GOMAXPROCS+e.GOMEMLIMIT+e.GOGC != "" {
		t.Talk.Note("note: GOMAXPROCS, GOGC and GOMEMLIMIT of the environment are ignored: the search starts from Go's " +
			"defaults")
	}
	if t.runner.Own {
		in.Memory, _ = t.choice.limits.Memory.Hard.Get()
	}
	if err := t.complete(in); err != nil {
		return nil, err
	}
	return t.search(in)
}

// input builds the input of a search from the command line, before snug inspects the
// machine.
func (t *Tune) input() (*search.Input, error) {
	s := &t.Sweep
	builtin := t.Workload != ""
	switch {
	case !builtin && len(t.Cmd) == 0 && len(t.URLs) > 0:
		return nil, message.Usage("--url alone: nothing to set",
			"give the service's command after --, so that snug can start it with other settings")
	case !builtin && len(t.Cmd) == 0:
		return nil, message.Usage("snug tune: no command",
			"name the program to tune: snug tune --url http://127.0.0.1:8080/ -- ./server")
	case builtin && len(t.Cmd)+len(t.URLs) > 0:
		return nil, message.Usage("--workload "+t.Workload+": a built-in workload and a program of your own",
			"give one or the other")
	case len(s.CPUs) > 1 || len(s.Memory) > 1:
		return nil, message.Usage("--cpus or --memory: several limits",
			"a program is tuned for one container: run snug tune for each")
	case t.rounds != 0:
		return nil, message.Usage("--rounds: a search chooses the number of rounds", "give it more time: --budget 30m")
	}
	if err := t.checkFlags(); err != nil {
		return nil, err
	}
	if t.benchmarks() {
		return nil, message.Usage("snug tune -- "+message.Quote(t.Cmd[0])+": Go benchmarks are compared, not tuned",
			"snug bench --gomaxprocs 1,2,4 --gogc 100,400 compares settings of a benchmark")
	}
	service := len(t.URLs) > 0 || workload.IsService(t.Workload)
	if t.Users > 0 {
		if t.Load != "" {
			return nil, message.Usage("--load and --users: two loads", "give one or the other")
		}
		t.Load = strconv.Itoa(t.Users) + " users"
	}
	if !service && t.Load != "" {
		return nil, message.Usage(t.loadFlag()+": a load for a program that is not a service",
			"give the address where it serves: --url http://127.0.0.1:PORT/")
	}
	if t.Load != "" {
		if err := t.checkCommandLoads([]string{t.Load}); err != nil {
			return nil, err
		}
	}
	t.pace()
	auto := false
	switch {
	case t.objective == experiment.None:
		return nil, message.Usage("--objective none: a search needs an objective",
			"one of cpu, rps, p99 and wall; or snug bench, which compares without one")
	case !t.objectiveSet && !service && (!builtin || workload.IsBatch(t.Workload)):
		t.objective = "wall"
	case !t.objectiveSet:
		t.objective, auto = "cpu", service
	}
	base := finding.Arm{Workload: "command", Load: runner.LoadBatch}
	if builtin {
		base.Workload = t.Workload
	}
	switch {
	case service && t.Load != "":
		base.Load = t.Load
	case t.loadCmd != "":
		base.Load = runner.LoadCommand
	case service && t.objective == "p99":
		base.Load = "80%"
	case service:
		base.Load = runner.LoadSaturated
	case builtin && !workload.IsBatch(t.Workload):
		base.Load = runner.LoadSelf
	}
	if err := t.checkObjective([]string{base.Load}); err != nil {
		return nil, err
	}
	in := &search.Input{
		Base:   experiment.Arm{Arm: base, Labels: []string{experiment.LabelDefault}, Rate: rateOf(base.Load)},
		Budget: t.Budget, Seed: t.seed,
		Values: search.Values{GOMAXPROCS: s.procs, GOGC: s.gogc}, Auto: auto,
	}
	var err error
	if in.Objective, err = search.ParseObjective(t.objective); err != nil {
		return nil, message.Usage(err.Error(), "snug tune --help")
	}
	for _, text := range t.Constraints {
		c, err := search.ParseConstraint(text)
		if err != nil {
			return nil, message.Usage(err.Error(), "write --constraint 'p99<20ms' or 'rss<=400MiB'")
		}
		if err := checkConstraint(c.String(), base.Load); err != nil {
			return nil, err
		}
		in.Constraints = append(in.Constraints, c)
	}
	return in, nil
}

// loadFlag returns the flag that chose the load.
func (t *Tune) loadFlag() string {
	if t.Users > 0 {
		return "--users"
	}
	return "--load"
}

// complete adds what depends on the machine and the program.
func (t *Tune) complete(in *search.Input) error {
	s := &t.Sweep
	in.CPUs = t.machine.CPUs
	if len(s.CPUs) > 0 {
		in.Base.Quota = s.CPUs[0]
	}
	if len(s.Memory) > 0 {
		in.Base.Memory = s.Memory[0]
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
	in.PerRun = t.perRun()
	if len(t.URLs) > 0 || workload.IsService(t.Workload) {
		r := t.runner
		in.Pace = &search.Pace{
			Warm: t.warmUp, Window: t.window, FixedWarm: t.fixed[0], FixedWindow: t.fixed[1], Rest: runCost,
			Set: func(warm, window time.Duration, slices int) { r.WarmUp, r.Window, r.Slices = warm, window, slices },
		}
	}
	return nil
}

// search runs the search and shows its progress. The document is nil only if there is
// nothing to show.
func (t *Tune) search(in *search.Input) (*finding.Tune, error) {
	ctx, stop := t.interruptible()
	defer stop()
	setup := t.setup(time.Now())
	old, err := t.recorded(ctx)
	if err != nil {
		return nil, err
	}
	base := &experiment.Design{Arms: []experiment.Arm{in.Base}}
	if setup.Capacities, err = t.rates(ctx, base, old); err != nil {
		return nil, t.explain(ctx, err)
	}
	in.Base.Rate = base.Arms[0].Rate
	in.Budget -= time.Duration(capacityRuns*len(setup.Capacities)) * in.PerRun
	if err := t.preview(in); err != nil {
		return nil, err
	}
	if in.Record, err = t.record(ctx, in.Design(), in.Identity(), &setup, old); err != nil {
		return nil, err
	}
	defer in.Record.Close()
	if setup.Resumed > 0 {
		t.Talk.Note("note: %s taken from %s", are(setup.Resumed), t.RecordFile)
	}
	m := t.measured("")
	in.Progress = func(stage string, spent time.Duration, p experiment.Progress) {
		m.say(func(since time.Duration) string {
			return fmt.Sprintf("%s: run %d of %d; %s of at most %s", content.StageName(&finding.Stage{Name: stage}),
				min(p.Done+1, p.Total), p.Total, approximate(spent+since), approximate(in.Budget))
		})
	}
	doc, err := search.Run(ctx, *in, &effective{t.patiently(), t.runner, goproc.NewCache("")})
	m.done()
	if err != nil {
		err = t.searchError(ctx, err)
		if in.Record != nil {
			t.Talk.Note("note: the runs are kept; the same command with --record %s resumes there", message.Quote(t.RecordFile))
		}
	}
	if doc == nil || len(doc.Baseline.Rounds) == 0 && err != nil {
		return nil, err // nothing that the search chose from
	}
	mine := doc.Setup
	doc.Setup = setup
	doc.Objective, doc.Seconds, doc.Complete, doc.Rounds = mine.Objective, mine.Seconds, mine.Complete, mine.Rounds
	doc.Repeated, doc.Excluded = mine.Repeated, mine.Excluded
	if mine.Window > 0 {
		doc.WarmUp, doc.Window = mine.WarmUp, mine.Window
	}
	doc.Warnings = append(t.allWarnings(), doc.Warnings...)
	content.SayTune(doc)
	return doc, err
}

// are says that a number of runs is something.
func are(runs int) string {
	if runs == 1 {
		return "1 run is"
	}
	return units.Plural(runs, "run") + " are"
}

// preview says how long the search takes, before anything is measured.
func (t *Tune) preview(in *search.Input) error {
	p, err := search.Preview(*in)
	if err != nil {
		return t.searchError(context.Background(), err)
	}
	t.Talk.Note("note: at most %s: the default first, then up to %s, and the best of them again on fresh runs",
		wholeMinutes(in.Budget), units.Plural(p, "setting"))
	return nil
}

// wholeMinutes formats a duration in whole minutes, one at least.
func wholeMinutes(d time.Duration) string {
	return strconv.Itoa(max(1, int(d.Round(time.Minute).Minutes()))) + " min"
}

func (t *Tune) searchError(ctx context.Context, err error) error {
	var budget *search.BudgetError
	if errors.As(err, &budget) {
		return message.Usage(budget.Error(), budget.Hint())
	}
	return t.explain(ctx, err)
}
