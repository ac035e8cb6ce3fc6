// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// explain turns an error of an experiment into a failure with a hint.
func (l *Lab) explain(ctx context.Context, err error) error {
	var target *runner.TargetError
	var noWay *cgrun.NoWayError
	var spec *cgrun.SpecError
	var f *message.Failure
	if t, ok := errors.AsType[*taken](err); ok {
		err = t.port
	}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &f):
		return err
	case ctx.Err() != nil:
		return &message.Failure{Code: message.ExitInterrupted, What: "interrupted", Hint: l.resumeHint()}
	case errors.As(err, &target):
		return message.Failed(target.What, target.Cure)
	case errors.As(err, &spec):
		return message.Usage(spec.What, spec.Cure)
	case errors.As(err, &noWay):
		return message.Failed(err.Error(), cgrun.Hint(err)+"; --no-limit measures without a quota, and every output says so")
	}
	return message.Failed(err.Error(), cgrun.Hint(err))
}

// resumeHint says how to resume an interrupted experiment.
func (l *Lab) resumeHint() string {
	if l.RecordFile != "" {
		return "the same command resumes from " + l.RecordFile
	}
	return "with --record FILE the same command resumes where it stopped"
}

// announce prints what is about to run, how long it takes, and whether the machine is
// busy. kept is the number of runs that a record has, probes the number of runs to measure
// capacities. It returns the number of runs of the design.
func (l *Lab) announce(d *experiment.Design, kept, probes int) int {
	all := len(d.Arms) * d.Rounds
	runs := max(0, all-kept)
	shape := units.Plural(len(d.Arms), "setting") + ", " + units.Plural(d.Rounds, "round")
	if kept > 0 {
		l.Talk.Note("note: %s of %d are taken from %s", units.Plural(kept, "run"), all, l.RecordFile)
	}
	if runs == 0 {
		return 0
	}
	took, open := time.Duration(0), false
	for _, a := range d.Arms {
		one, ok := l.duration(a.Arm)
		took, open = took+one, open || !ok
	}
	took = took*time.Duration(runs)/time.Duration(len(d.Arms)) + time.Duration(probes)*l.perRun()
	if open {
		l.Talk.Note("note: %s: %s of the command; the first shows how long they take", shape, units.Plural(runs, "run"))
	} else {
		l.Talk.Note("note: %s: %s, %s", shape, units.Plural(runs+probes, "run"), minutes(took))
	}
	l.noteBusy()
	return runs
}

// noteBusy says that other programs use the machine, if so.
func (l *Lab) noteBusy() {
	if load, ok := runner.Busy(); ok && load > float64(l.machine.CPUs)/2 {
		l.Talk.Note("note: other programs keep this machine busy (load %s on %s): expect noise", units.Exact(load),
			units.Plural(l.machine.CPUs, "CPU"))
	}
}
