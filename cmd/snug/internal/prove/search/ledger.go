// SPDX-License-Identifier: Apache-2.0

package search

import (
	"errors"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// overrun is how far a search may exceed its budget, in the confirmation only: a share.
const overrun = 0.1

// errBudget ends a stage early. It is not an error of the search.
var errBudget = errors.New("the budget is used up")

// ledger is the budget and what the runs took of it, in seconds. It depends on the recorded
// duration of the runs only, so that a resumed search decides as it would have without the
// interruption.
type ledger struct {
	budget  float64
	perRun  float64 // expected before the first run
	spent   float64
	costs   []float64 // of runs that were not cut short by a failure
	allowed func() bool
}

func newLedger(in *Input) ledger {
	return ledger{budget: in.Budget.Seconds(), perRun: in.PerRun.Seconds()}
}

// add counts a run.
func (l *ledger) add(r *finding.Run) {
	l.spent += r.Took
	if !killed(r) && !empty(r) {
		l.costs = append(l.costs, r.Took)
	}
}

// cost returns what the next run is expected to cost: the mean of the last runs.
func (l *ledger) cost() float64 {
	const recent = 12
	last := l.costs[max(0, len(l.costs)-recent):]
	if len(last) == 0 {
		return l.perRun
	}
	sum := 0.0
	for _, c := range last {
		sum += c
	}
	return max(sum/float64(len(last)), 1e-6)
}

// left returns how many runs the budget still allows.
func (l *ledger) left() int { return max(0, int((l.budget-l.spent)/l.cost())) }

// holds reports whether the budget allows one more run and after it a number of others.
func (l *ledger) holds(others int) bool {
	return l.spent+float64(1+others)*l.cost() <= l.budget
}

// limit reports whether the budget, with its overrun, allows one more run.
func (l *ledger) limit() bool {
	return l.spent+l.cost() <= l.budget*(1+overrun)
}
