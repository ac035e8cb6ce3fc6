// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"errors"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// trials does the runs of a search within its budget. A program that fails under one
// setting rules that setting out, once another run has shown that program and load are in
// order.
type trials struct {
	runner experiment.Runner
	record *experiment.Record // nil keeps nothing
	ledger
	// proven: a run had an answer, or was OOM-killed. Before that a failure is the
	// command's or the request's, and ends the search.
	proven bool
}

// Run does a run. It turns an [experiment.TargetFailure] into a run without a result: one
// failed operation, and no figure. It returns errBudget if the budget allows no more run
// of this stage.
func (r *trials) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	if r.allowed != nil && !r.allowed() {
		return finding.Run{}, errBudget
	}
	run, old, err := r.record.Take(t)
	if err == nil && !old {
		run, err = r.try(ctx, t)
		if err == nil {
			err = r.record.Add(t, run)
		}
	}
	if err != nil {
		return run, err
	}
	r.proven = r.proven || run.Ops > 0 || killed(&run)
	r.add(&run)
	return run, nil
}

// try does a run that no record holds.
func (r *trials) try(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	return Attempt(ctx, r.runner, t, r.proven)
}

// Attempt does a run. If program and load are proven to be in order, an [experiment.TargetFailure] is a run without a
// result.
func Attempt(ctx context.Context, r experiment.Runner, t experiment.Trial, proven bool) (finding.Run, error) {
	began := time.Now()
	run, err := r.Run(ctx, t)
	var failed experiment.TargetFailure
	if err != nil {
		if !proven || ctx.Err() != nil || !errors.As(err, &failed) {
			return run, err
		}
		run = finding.Run{Arm: t.Arm, Errors: 1, Error: failed.Error()}
	}
	if run.Started.IsZero() {
		run.Started = began.UTC()
	}
	if run.Took == 0 {
		run.Took = time.Since(began).Seconds()
	}
	return run, nil
}

// empty reports whether a program that was not OOM-killed finished nothing.
func empty(r *finding.Run) bool { return !killed(r) && r.Ops == 0 && r.Errors > 0 }
