// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/diagnose/size"
	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/prove/search"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
)

// Size is one invocation of `snug size` with a command: it finds the cheapest container in which the program keeps an
// objective.
type Size struct {
	Lab
	Price size.Price
	For   time.Duration // of the watch; 0 = sizeWatch
	// Watch says what a process needs by what is seen of it.
	Watch func(ctx context.Context, pid int, duration time.Duration, price size.Price) (*finding.Size, error)

	load   string
	bound  string
	cpus   float64 // of the roomiest container; 0 = what there is
	memory int64   // the same
	bounds []search.Constraint
}

const (
	sizeWatch = 30 * time.Second
	// MinWatch is for collections, and the first seconds of a program tell little.
	MinWatch = 10 * time.Second
	MaxWatch = time.Hour
	// sizeRun is the window of a run: a hundred periods of a quota, and latencies above the 99th percentile at moderate
	// rates.
	sizeRun = 10 * time.Second
	// sizeTries bounds the containers that a search tries: played programs need no more (diagnose/size). sizeMore are
	// added if the confirmation refutes its answer, and sizeConfirmations bounds those.
	sizeTries, sizeMore, sizeConfirmations = 16, 4, 3
	// sizeRounds is the least number of fresh runs.
	sizeRounds = 3
)

// Add defines the flags of an experiment.
func (s *Size) Add(fs *pflag.FlagSet) {
	s.addLoad(fs)
	flagvalue.Define(fs, "rate", "send `N` requests a second", "a number above 0, up to 1000000",
		func(text string) (string, bool) {
			return ParseLoad(text + "/s")
		}, &s.load)
	flagvalue.Define(fs, "slo",
		"every run must keep `BOUND`, such as 'p99<50ms'; without it, no kill and no failed request",
		"a bound such as p99<50ms", parseCommand, &s.bound)
	flagvalue.Define(fs, "cpus", "the roomiest container has `CPUS` (default all)", plan.Want("SNUG_CPU_LIMIT"),
		plan.ParseCPUs, &s.cpus)
	flagvalue.Define(fs, "memory", "the roomiest container has `SIZE` (default 80 % of what is free)",
		plan.Want("SNUG_MEMORY_LIMIT"), plan.ParseBytes, &s.memory)
	flagvalue.Define(fs, "rounds", "confirm the answer by `N` fresh runs (default 3)", "a whole number from 3 to 1000",
		parseRounds(sizeRounds), &s.rounds)
	flagvalue.Define(fs, "window", "measure for `DURATION` in each run (default 10s)", "a time from 100ms to 1h",
		parseWindow, &s.window)
	flagvalue.Define(fs, "warmup", "load for `DURATION` before each window (default 1s)", "a time such as 1s", parseTime,
		&s.warmUp)
	fs.BoolVar(&s.RealTime, "rt", false, "the load generator gets real-time priority (needs root)")
	s.seed = 1
}

// check rejects what cannot be measured, before minutes are spent on it.
func (s *Size) check() error {
	switch {
	case len(s.Cmd) == 0:
		return message.Usage(s.given()+" without one: no command",
			"name the program after --; at the end of the line add "+s.missing()+"-- ./server")
	case len(s.URLs) == 0 && s.load+s.loadCmd != "":
		return message.Usage(s.given()+" without --url: no address",
			"say where it listens: "+strings.TrimSpace(s.missing()))
	case len(s.URLs) == 0:
		return message.Usage("snug size -- "+message.Quote(s.Cmd[0])+": no load", "say where it listens and how it is "+
			"loaded: --url http://127.0.0.1:8080/ --rate 300, or --url tcp://127.0.0.1:4222 --load-cmd ./load.sh")
	case s.memory > 0 && s.memory < cgrun.MinMemoryBytes:
		return message.Usage(fmt.Sprintf("memory limit of %d bytes is too small to start a command in", s.memory),
			"use at least --memory 1MiB; the smallest Go programs want 2MiB")
	}
	if err := s.checkFlags(); err != nil {
		return err
	}
	switch {
	case s.load == "" && s.loadCmd == "":
		return message.Usage("--url without --rate: no rate", "say how many requests a second it must serve: --rate 300")
	case s.load == "":
		s.load = runner.LoadCommand
	}
	if s.bound == "" {
		return nil
	}
	c, err := search.ParseConstraint(s.bound)
	if err != nil {
		_, what, _ := strings.Cut(err.Error(), ": ")
		return message.Usage("--slo "+message.Quote(s.bound)+": "+what, "write --slo 'p99<50ms' or 'rss<=400MiB'")
	}
	if c.Key == "wall_seconds" {
		return message.Usage("--slo "+message.Quote(s.bound)+": only a command that ends has a duration",
			"a service has p50, p95, p99 and rps")
	}
	s.bounds, s.bound = []search.Constraint{c}, c.String()
	return nil
}

// given returns the first flag given of those that ask for an experiment; "--" = none.
func (s *Size) given() string {
	switch {
	case len(s.URLs) > 0:
		return "--url"
	case s.loadCmd != "":
		return "--load-cmd"
	case s.load != "":
		return "--rate"
	case s.bound != "":
		return "--slo"
	}
	return "--"
}

// missing returns examples of the flags without which no experiment can be, and which are not
// given, each with a space after it.
func (s *Size) missing() (flags string) {
	switch {
	case len(s.URLs) == 0 && s.loadCmd != "":
		flags = "--url tcp://127.0.0.1:4222 "
	case len(s.URLs) == 0:
		flags = "--url http://127.0.0.1:8080/ "
	}
	switch {
	case s.loadCmd != "":
	case len(s.URLs) > 0 && !isHTTP(s.URLs[0]):
		flags += "--load-cmd ./load.sh "
	case s.load == "":
		flags += "--rate 300 "
	}
	return flags
}

// Run finds the container. The document is nil only if there is nothing to show.
func (s *Size) Run() (*finding.Size, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := s.readLimits(); err != nil {
		return nil, err
	}
	s.objective = experiment.None
	s.timing(sizeRun, false)
	s.rounds = max(s.rounds, sizeRounds)
	s.For = cmp.Or(s.For, sizeWatch)
	if err := s.prepare(); err != nil {
		return nil, err
	}
	ctx, stop := s.interruptible()
	defer stop()
	if s.cpus > float64(s.machine.CPUs) {
		return nil, message.Usage(fmt.Sprintf("--cpus %s: more than the %s here", units.Exact(s.cpus),
			units.CPUs(float64(s.machine.CPUs))), "leave it out: the roomiest container has all")
	}
	roomiest := s.roomiest()
	var err error
	if s.machine.CgroupWay, err = s.runner.Try(ctx, roomiest.Cores); err == nil {
		err = s.runner.Check(s.arm(roomiest, finding.Knobs{}).Arm)
	}
	if err != nil {
		return nil, s.fail(ctx, err)
	}
	s.preview(roomiest)
	first := s.patiently()
	t := &sizing{Size: s, first: first, runner: search.Tolerant{Runner: first, Proven: new(true)}, started: time.Now(),
		most: s.atMost()}
	m := s.measured("")
	t.say = m.say
	d, err := t.watch(ctx, roomiest)
	if err == nil {
		err = t.find(ctx)
	}
	m.done()
	if err != nil {
		err = s.fail(ctx, err)
	}
	if d == nil || t.search == nil {
		return nil, err
	}
	t.answer(d, err == nil)
	return d, err
}

// roomiest returns the container in which the program is watched: what this machine, and the container of snug, have.
func (s *Size) roomiest() size.Container {
	cpus, memory := float64(s.machine.CPUs), runner.Guard()
	if quota, ok := s.choice.limits.CPU.Quota.Get(); ok {
		cpus = min(cpus, quota)
	}
	if hard, ok := s.choice.limits.Memory.Hard.Get(); ok {
		memory = min(memory, hard/5*4)
	}
	if s.cpus > 0 {
		cpus = s.cpus
	}
	if s.memory > 0 {
		memory = s.memory
	}
	return size.Container{Cores: cpus, Memory: float64(memory >> 20 << 20)}
}

// arm returns a container as an arm. GOGC stays the operator's.
func (s *Size) arm(c size.Container, k finding.Knobs) experiment.Arm {
	k.GOGC = s.choice.env.GOGC
	return experiment.Arm{Arm: finding.Arm{Workload: "command", Quota: c.Cores, Memory: int64(c.Memory), Knobs: k,
		Load: s.load}, Rate: rateOf(s.load)}
}

// atMost returns the longest that the runs may take, without repetitions of those that do not count: the roomiest
// container may need a second run.
func (s *Size) atMost() time.Duration {
	return s.For + time.Duration(2+sizeTries+(sizeConfirmations-1)*sizeMore+2*sizeConfirmations*s.rounds)*s.perRun()
}

// preview says what is done and how long it takes, before anything is measured.
func (s *Size) preview(roomiest size.Container) {
	about := s.For + time.Duration(1+sizeTries/2+2*s.rounds)*s.perRun()
	s.Talk.Note("note: watched for %s in %s, then up to %d smaller containers, and %s of the cheapest: about %s, at "+
		"most %s",
		approximate(s.For), Described(roomiest), sizeTries+(sizeConfirmations-1)*sizeMore,
		units.Plural(s.rounds, "fresh run"), wholeMinutes(about), wholeMinutes(s.atMost()))
	if s.choice.env.GOMAXPROCS+s.choice.env.GOMEMLIMIT != "" {
		s.Talk.Note("note: GOMAXPROCS and GOMEMLIMIT of the environment are ignored: they follow from the container")
	}
	s.noteBusy()
}

// Described names a container.
func Described(c size.Container) string {
	return units.CPUs(c.Cores) + " and " + units.Bytes(int64(c.Memory))
}

// fail turns an error into a failure with a hint that snug size has.
func (s *Size) fail(ctx context.Context, err error) error {
	var noWay *cgrun.NoWayError
	switch {
	case ctx.Err() != nil:
		return &message.Failure{Code: message.ExitInterrupted, What: "interrupted", Hint: "the same command starts anew"}
	case errors.As(err, &noWay):
		return message.Failed(err.Error(),
			"run as root, or in a cgroup delegated to this user; snug size PID watches a program where it runs")
	}
	return s.explain(ctx, err)
}

// broken returns what a run breaks. A load command that was asked for a rate must reach it.
func (s *Size) broken(run finding.Run) *finding.Broken {
	if rate := rateOf(s.load); rate > 0 && run.Offered == nil {
		run.Offered = &rate
	}
	return search.Breaks(&run, s.bounds)
}

// worst returns the worst of the bounded metric in runs; nil = no bound, or not measured.
func (s *Size) worst(runs []finding.Run) (worst *float64) {
	for i := range runs {
		for _, c := range s.bounds {
			v := c.Run(&runs[i])
			if runs[i].Invalid == "" && v != nil && (worst == nil || (*v > *worst) != c.More) {
				worst = v
			}
		}
	}
	return worst
}

// counting returns how many of the runs that count keep the bound, and what the first of the others breaks.
func (s *Size) counting(runs []finding.Run) (kept, of int, broken *finding.Broken) {
	for i := range runs {
		if runs[i].Invalid != "" {
			continue
		}
		of++
		b := s.broken(runs[i])
		if b == nil {
			kept++
		} else if broken == nil {
			broken = b
		}
	}
	if of == 0 && len(runs) > 0 {
		broken = s.broken(runs[len(runs)-1])
	}
	return kept, of, broken
}

// bare returns runs without their distributions of latency.
func bare(runs []finding.Run, round int) []finding.Run {
	runs = slices.Clone(runs)
	for i := range runs {
		runs[i].Latency = nil
		runs[i].Round += round
	}
	return runs
}

// goal describes what a container must keep.
func (s *Size) goal() string {
	var rate *float64
	if n := rateOf(s.load); n > 0 {
		rate = &n
	}
	return content.SizeGoal(s.bound, rate)
}
