// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"errors"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// trials does the runs of a search within its budget.
type trials struct {
	runner experiment.Runner
	ledger
	// proven: a run had an answer, or was OOM-killed. Before that a failure is the
	// command's or the request's, and ends the search.
	proven bool
}

// Run does a run. It returns errBudget if the budget allows no more run of this stage.
func (r *trials) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	if r.allowed != nil && !r.allowed() {
		return finding.Run{}, errBudget
	}
	run, err := r.runner.Run(ctx, t)
	if err != nil {
		return run, err
	}
	r.proven = r.proven || run.Ops > 0 || killed(&run)
	r.add(&run)
	return run, nil
}

// Tolerant is a Runner that turns an [experiment.TargetFailure] into a run without a result, one failed
// operation and no figure, once program and load are proven to be in order: then the setting is at fault.
type Tolerant struct {
	experiment.Runner
	Proven *bool
}

func (r Tolerant) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	began := time.Now()
	run, err := r.Runner.Run(ctx, t)
	var failed experiment.TargetFailure
	if err != nil {
		if !*r.Proven || ctx.Err() != nil || !errors.As(err, &failed) {
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
