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
	began := time.Now()
	run, err := r.runner.Run(ctx, t)
	var failed experiment.TargetFailure
	switch {
	case err == nil:
		r.proven = r.proven || run.Ops > 0 || killed(&run)
	case !r.proven || ctx.Err() != nil || !errors.As(err, &failed):
		return run, err
	default:
		run = finding.Run{Arm: t.Arm, Errors: 1, Error: failed.Error(), Started: run.Started}
	}
	if run.Took == 0 {
		run.Took = time.Since(began).Seconds()
	}
	r.add(&run)
	return run, nil
}

// empty reports whether a program that was not OOM-killed finished nothing.
func empty(r *finding.Run) bool { return !killed(r) && r.Ops == 0 && r.Errors > 0 }
