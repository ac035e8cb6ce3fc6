// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Bench is one invocation of `snug bench`.
type Bench struct {
	Lab
	Sweep sweep
	Users []string // loads of --users
	Full  bool
	Check bool

	checked error // the result of --check, set by Run
}

// The round count and the windows. Seven rounds are the minimum at which Holm's method
// can show a difference with three arms besides the baseline (2/2^7 x 3 < 0.05). More
// arms need more rounds.
const (
	defaultRounds = 7
	quickWindow   = 1500 * time.Millisecond
	plainWindow   = 4 * time.Second
	fullWindow    = 10 * time.Second
)

// complete fills in what the flags left unset.
func (b *Bench) complete() error {
	s := &b.Sweep
	var workloads []string
	for _, name := range s.Workloads {
		workloads = append(workloads, workload.Family(name)...)
	}
	s.Workloads = workloads
	builtin := len(b.Cmd) == 0 && len(b.URLs) == 0
	remote := len(b.Cmd) == 0 && !builtin
	if len(s.Workloads) > 0 && !builtin {
		return message.Usage("--workload "+strings.Join(s.Workloads, ",")+": a built-in workload and a program of your own",
			"give one or the other")
	}
	if b.Check && b.objective == experiment.None {
		return message.Usage("--check with --objective none: nothing to check without a verdict", "leave one of them out")
	}
	if b.Check && remote {
		return message.Usage("--check with --url alone: nothing to compare",
			"give the service's command after --, so that snug can start it with other settings")
	}
	knobs := len(s.procs)+len(s.gogc)+len(s.memlimit)+len(s.sets) > 0
	if remote && (knobs || len(s.CPUs)+len(s.Memory) > 0) {
		return message.Usage("--url alone: limits and knobs need a program that snug starts",
			"give the service's command after --")
	}
	if err := b.checkFlags(); err != nil {
		return err
	}
	if err := b.checkBenchmarks(); err != nil {
		return err
	}
	if err := b.checkTrace(builtin); err != nil {
		return err
	}
	if err := s.check(&b.choice); err != nil {
		return err
	}
	quick := builtin && len(s.CPUs)+len(s.Memory)+len(s.Workloads)+len(s.Loads)+len(b.Users) == 0 && !knobs && !b.Full
	switch {
	case remote:
		s.Workloads = []string{"url"}
	case !builtin:
		s.Workloads = []string{"command"}
	case len(s.Workloads) == 0:
		s.Workloads = []string{"http"}
	}
	if !knobs && !remote {
		s.procs = []string{"1", "8"}
		if !builtin {
			s.procs = []string{"1", "2", "4"}
		}
	}
	if err := b.completeLoads(); err != nil {
		return err
	}
	window := plainWindow
	switch {
	case quick:
		window = quickWindow
	case b.Full:
		window = fullWindow
	}
	b.timing(window, quick)
	if b.benchmarks() {
		if b.objective != experiment.None {
			b.objective = "ns/op"
		}
		return nil
	}
	var loads []string
	for _, w := range s.Workloads {
		loads = append(loads, b.loadsOf(w)...)
	}
	return b.checkObjective(loads)
}

// completeLoads chooses the loads. Services get those of the flags; other programs have
// one load of their own.
func (b *Bench) completeLoads() error {
	s := &b.Sweep
	if err := b.checkCommandLoads(s.Loads); err != nil {
		return err
	}
	if b.loadCmd != "" && b.Full {
		return message.Usage("--full: a load command has its own loads", "leave it out, or give rates: --load 400/s,800/s")
	}
	s.Loads = append(s.Loads, b.Users...)
	service := len(b.URLs) > 0 || len(b.Cmd) == 0 && slices.ContainsFunc(s.Workloads, workload.IsService)
	if !service && (len(s.Loads) > 0 || b.Full) {
		return message.Usage(b.loadFlag()+": a load for a program that is not a service",
			"give the address where it serves: --url http://127.0.0.1:PORT/")
	}
	if len(s.Loads) == 0 && b.loadCmd != "" {
		s.Loads = []string{runner.LoadCommand}
	} else if len(s.Loads) == 0 {
		s.Loads = []string{runner.LoadSaturated}
		if b.Full {
			s.Loads = append(s.Loads, "50%", "80%")
		}
	} else if b.Full {
		return message.Usage("--full with --load or --users: it has its own loads", "give one or the other")
	}
	return b.checkRamp()
}

// loadsOf returns the loads of a workload.
func (b *Bench) loadsOf(w string) []string {
	switch {
	case len(b.URLs) > 0, workload.IsService(w):
		return b.Sweep.Loads
	case w == "command":
		return []string{b.commandLoad()}
	case workload.IsBatch(w):
		return []string{runner.LoadBatch}
	}
	return []string{runner.LoadSelf}
}

// Run runs the experiment. The document is nil only if there is nothing to show. Judge
// turns it into the command's error.
func (b *Bench) Run() (*finding.Bench, error) {
	if err := b.readLimits(); err != nil {
		return nil, err
	}
	if err := b.complete(); err != nil {
		return nil, err
	}
	defer b.clean()
	if err := b.prepare(); err != nil {
		return nil, err
	}
	if err := b.confinement(&b.Sweep); err != nil {
		return nil, err
	}
	var arms []experiment.Arm
	for _, w := range b.Sweep.Workloads {
		one := b.Sweep
		one.Workloads, one.Loads = []string{w}, b.loadsOf(w)
		more, err := one.arms(&b.choice)
		if err != nil {
			return nil, err
		}
		arms = append(arms, more...)
	}
	if b.Sweep.Workloads[0] == "url" {
		for i := range arms {
			arms[i].Labels = []string{"as it runs"}
		}
	}
	for _, a := range arms {
		if err := b.runner.Check(a.Arm); err != nil {
			return nil, b.explain(context.Background(), err)
		}
	}
	d := &experiment.Design{Arms: arms, Rounds: b.rounds, Seed: b.seed, Against: experiment.BaselineOfVariants}
	_, ramp := b.ramp()
	switch {
	case d.Rounds > 0:
	case ramp && !b.Check:
		d.Rounds = rampRounds
	default:
		d.Rounds = max(defaultRounds, d.MinRounds())
	}
	if least := d.MinRounds(); ramp && !b.Check && d.Compares() && d.Rounds < least {
		b.Talk.Note("note: %s show the course of the ramp, and do not judge: %s need %d to show any difference, --rounds %d",
			units.Plural(d.Rounds, "round"), units.Plural(len(arms), "setting"), least, least)
	} else if err := b.enough(d); err != nil {
		return nil, err
	}
	b.rounds = d.Rounds
	return b.measure(d)
}

// enough refuses rounds that cannot show any difference, however large, if a verdict is
// wanted.
func (b *Bench) enough(d *experiment.Design) error {
	least := d.MinRounds()
	switch {
	case d.Rounds >= least || !d.Compares() || b.objective == experiment.None && !b.Check:
		return nil
	case b.Check:
		return message.Usage(fmt.Sprintf("--check --rounds %d: %s cannot show any difference between %s", d.Rounds,
			units.Plural(d.Rounds, "round"), units.Plural(len(d.Arms), "setting")),
			fmt.Sprintf("give it --rounds %d, or fewer settings", least))
	}
	return message.Usage(fmt.Sprintf("--rounds %d: %s cannot show any difference between %s, however large", d.Rounds,
		units.Plural(d.Rounds, "round"), units.Plural(len(d.Arms), "setting")),
		fmt.Sprintf("give it --rounds %d, fewer settings, or --objective none to measure without a verdict", least))
}

// Judge returns an error if no run counts, or if --check finds the current setting worse.
func (b *Bench) Judge(doc *finding.Bench) error {
	if n, of, why := experiment.Uncounted(raw(doc)); n == of && n > 0 {
		return message.Failed(fmt.Sprintf("none of %s counted: %s", units.Plural(n, "run"), why),
			"give the load generator real-time priority (--rt), or use a less busy machine")
	}
	if b.Check {
		return b.checked
	}
	return nil
}

// measure runs the design and judges it. The document is nil only if there is nothing to
// show.
func (b *Bench) measure(d *experiment.Design) (*finding.Bench, error) {
	ctx, stop := b.interruptible()
	defer stop()
	started := time.Now()
	setup := b.setup(started)
	old, err := b.recorded(ctx)
	if err != nil {
		return nil, err
	}
	probes := capacityRuns * b.unmeasured(d, old)
	todo, doing := 0, ""
	if probes > 0 { // then a record has no runs yet
		todo, doing = b.announce(d, 0, probes), capacityText
	}
	m := b.measured(doing)
	defer m.done()
	if setup.Capacities, err = b.rates(ctx, d, old); err != nil {
		return nil, b.explain(ctx, err)
	}
	rec, err := b.record(ctx, d, nil, &setup, old)
	if err != nil {
		return nil, err
	}
	defer rec.Close()
	if probes == 0 {
		todo = b.announce(d, rec.Kept(), 0)
	}
	first := b.firstRun(d, todo)
	runs, err := experiment.Execute(ctx, d, rec.Over(b.runner), func(p experiment.Progress) {
		first(p)
		m.progress(p)
	})
	if err != nil {
		err = b.explain(ctx, err)
		if len(runs) == 0 {
			return nil, err
		}
		if rec != nil {
			b.Talk.Note("note: %s kept; the same command with --record %s resumes there", units.Plural(len(runs), "run"),
				message.Quote(b.RecordFile))
		}
	}
	setup.Seconds = time.Since(started).Seconds()
	setup.Complete = err == nil
	setup.Machine.Generator = generator(runs)
	doc := &finding.Bench{Head: finding.NewHead(finding.KindBench), Setup: setup, Unknown: []finding.Gap{},
		Warnings: b.allWarnings()}
	doc.Cells = experiment.Cells(d, runs)
	doc.Comparisons = experiment.Compare(d, doc.Cells)
	doc.Verdict = experiment.Judge(d, doc.Cells, doc.Comparisons, b.objective, setup.Machine.CPUs)
	content.Say(&doc.Verdict, doc.Cells)
	doc.Repeated, doc.Excluded = experiment.Repeated(runs), experiment.Excluded(runs)
	if b.Check {
		b.checked = b.check(d, doc)
	}
	return doc, err
}
