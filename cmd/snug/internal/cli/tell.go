// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
)

// explain turns an error of an experiment into a failure with a cure.
func (l *lab) explain(ctx context.Context, err error) error {
	var target *runner.TargetError
	var noWay *cgrun.NoWayError
	var spec *cgrun.SpecError
	var f *failure
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return err
	case ctx.Err() != nil:
		return &failure{exitInterrupted, "interrupted", l.goesOn()}
	case errors.As(err, &target):
		return failed(target.What, target.Cure)
	case errors.As(err, &spec):
		return usage(spec.What, spec.Cure)
	case errors.As(err, &noWay):
		return failed(err.Error(), cgrun.Hint(err)+"; --no-limit measures without a quota, and every output says so")
	}
	return failed(err.Error(), cgrun.Hint(err))
}

// goesOn is how an experiment that was interrupted can be gone on with.
func (l *lab) goesOn() string {
	switch {
	case l.recordFile != "":
		return "the same command goes on from what " + l.recordFile + " has"
	case l.records:
		return "with --record FILE the same command goes on from where it was stopped"
	}
	return "a search does not go on from where it was stopped: say with --budget what time there is"
}

// progress tells how far an experiment is: on a terminal one line that is
// written over, elsewhere nothing.
func (l *lab) progress() (func(experiment.Progress), func()) {
	return func(p experiment.Progress) {
			again := ""
			if p.Repeated > 0 {
				again = fmt.Sprintf(", %d repeated", p.Repeated)
			}
			left := ""
			if p.Left > 0 {
				left = ", about " + roughly(p.Left) + " left"
			}
			l.ui.status(fmt.Sprintf("run %d of %d%s%s", min(p.Done+1, p.Total), p.Total, again, left))
		},
		func() { l.ui.status("") }
}

// announce says what is about to happen and how long it takes, and what may spoil
// it.
func (l *lab) announce(d *experiment.Design, kept int) {
	all := len(d.Arms) * d.Rounds
	runs := max(0, all-kept)
	took := time.Duration(runs) * (l.warmUp + l.window + l.probe() + runCost)
	shape := counted(len(d.Arms), "setting") + ", " + counted(d.Rounds, "round")
	if kept > 0 {
		l.ui.note("note: %s of %d are taken from %s", counted(kept, "run"), all, l.recordFile)
	}
	switch {
	case runs == 0:
		return
	case d.Arms[0].Load == runner.LoadBatch:
		l.ui.note("note: %s: %s of the command", shape, counted(runs, "run"))
	default:
		l.ui.note("note: %s: %s, about %s", shape, counted(runs, "run"), roughly(took))
	}
	if load, ok := runner.Busy(); ok && load > float64(l.machine.CPUs)/2 {
		l.ui.note("note: other programs keep this machine busy (load %s on %s): expect noise", trimFloat(load), counted(l.machine.CPUs, "CPU"))
	}
}

// again repeats flags as they were given, those of these names, and the program:
// for a next command that asks about the same thing.
func (l *lab) again(names ...string) string {
	var b strings.Builder
	l.flags.Visit(func(f *pflag.Flag) {
		switch {
		case !slices.Contains(names, f.Name):
		case f.Name == "url":
			for _, u := range l.urls {
				b.WriteString(" --url " + shellQuote(runner.Redacted(u)))
			}
		case f.Value.Type() == "bool":
			b.WriteString(" --" + f.Name)
		default:
			b.WriteString(" --" + f.Name + " " + shellQuote(f.Value.String()))
		}
	})
	if len(l.cmd) > 0 {
		b.WriteString(" --")
	}
	for _, a := range l.cmd {
		b.WriteString(" " + shellQuote(a))
	}
	return b.String()
}

// target are the flags that say what is measured, and in which container.
var target = []string{"cpus", "memory", "workload", "load", "url", "method", "body", "header", "timeout", "ready", "rt", "no-limit"}
