// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"errors"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// tolerant does the runs of a search. A program that fails under one setting rules that
// setting out, once another run has shown that program and load are in order.
type tolerant struct {
	runner experiment.Runner
	// proven: a run had an answer, or was OOM-killed. Before that a failure is the
	// command's or the request's, and ends the search.
	proven bool
}

// Run does a run. It turns an [experiment.TargetFailure] into a run without a result: one
// failed operation, and no figure.
func (r *tolerant) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	run, err := r.runner.Run(ctx, t)
	var failed experiment.TargetFailure
	switch {
	case err == nil:
		r.proven = r.proven || run.Ops > 0 || killed(&run)
		return run, nil
	case !r.proven || ctx.Err() != nil || !errors.As(err, &failed):
		return run, err
	}
	return finding.Run{Arm: t.Arm, Errors: 1, Error: failed.Error(), Started: run.Started}, nil
}

// empty reports whether a program that was not OOM-killed finished nothing.
func empty(r *finding.Run) bool { return !killed(r) && r.Ops == 0 && r.Errors > 0 }
