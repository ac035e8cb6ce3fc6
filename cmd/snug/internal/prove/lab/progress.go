// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"context"
	"errors"
	"fmt"
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

// progress returns a function that shows progress on the status line, which only a
// terminal has, and one that clears it.
func (l *Lab) progress() (func(experiment.Progress), func()) {
	return func(p experiment.Progress) {
			again := ""
			if p.Repeated > 0 {
				again = fmt.Sprintf(", %d repeated", p.Repeated)
			}
			left := ""
			if p.Left > 0 {
				left = ", about " + approximate(p.Left) + " left"
			}
			l.Talk.Status(fmt.Sprintf("run %d of %d%s%s", min(p.Done+1, p.Total), p.Total, again, left))
		},
		func() { l.Talk.Status("") }
}

// announce prints what is about to run, how long it takes, and whether the machine is
// busy.
func (l *Lab) announce(d *experiment.Design, kept int) {
	all := len(d.Arms) * d.Rounds
	runs := max(0, all-kept)
	took := time.Duration(runs) * (l.warmUp + l.window + l.probe() + runCost)
	shape := units.Plural(len(d.Arms), "setting") + ", " + units.Plural(d.Rounds, "round")
	if kept > 0 {
		l.Talk.Note("note: %s of %d are taken from %s", units.Plural(kept, "run"), all, l.RecordFile)
	}
	switch {
	case runs == 0:
		return
	case d.Arms[0].Load == runner.LoadBatch, d.Arms[0].Load == experiment.LoadBenchmark:
		l.Talk.Note("note: %s: %s of the command", shape, units.Plural(runs, "run"))
	default:
		l.Talk.Note("note: %s: %s, about %s", shape, units.Plural(runs, "run"), approximate(took))
	}
	if load, ok := runner.Busy(); ok && load > float64(l.machine.CPUs)/2 {
		l.Talk.Note("note: other programs keep this machine busy (load %s on %s): expect noise", units.Exact(load), units.Plural(l.machine.CPUs, "CPU"))
	}
}
