// SPDX-License-Identifier: Apache-2.0

package search

import (
	"fmt"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
)

const (
	// baselineRuns are done before anything is chosen: they say what there is to measure.
	baselineRuns = 3
	// A third of the runs confirm, in maxPairs rounds at most: they show a difference of 4 % in a figure
	// that varies by 3 %. minPairs can still show one, and leastPairs if all of them agree.
	maxPairs, minPairs, leastPairs = 16, 8, 6
	// maxWithout is how many knobs of the leader are tested, each by leaving it out.
	maxWithout = 2
	// fewest is how many settings are not halved any more: the setting to beat and two others.
	fewest = 3
	// smallest is the number of runs of the smallest useful search.
	smallest = baselineRuns + fewest + 2*leastPairs
)

// BudgetError reports a budget that is too small for any search.
type BudgetError struct {
	Budget, Need time.Duration
	Why          string // "" if that is plain
}

func (e *BudgetError) Error() string {
	return "a budget of " + short(e.Budget) + " is too small even to confirm one setting" + e.Why
}

// Hint returns the cure.
func (e *BudgetError) Hint() string {
	hint := "give it --budget " + short(e.Need)
	if e.Why == "" {
		hint += ", or a shorter --window"
	}
	return hint
}

// short formats whole minutes as 4m, and anything else as Go does.
func short(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return fmt.Sprintf("%dm", int(d/time.Minute))
	}
	return d.String()
}

// Preview returns how many settings a search tries at most. It returns an error if the input is not
// valid, and a [*BudgetError] if the budget allows no useful search.
func Preview(in Input) (int, error) {
	if err := in.check(); err != nil {
		return 0, err
	}
	_, candidates, _ := Space(in.space())
	if l := newLedger(&in); len(candidates) > 1 && l.left() < smallest {
		return 0, in.tooSmall(smallest*in.PerRun, "")
	}
	return len(candidates), nil
}

// tooSmall returns the error of a budget of which need is the least.
func (in *Input) tooSmall(need time.Duration, why string) *BudgetError {
	return &BudgetError{in.Budget, (need + time.Minute - 1).Truncate(time.Minute), why}
}

// divide divides the runs among the stages: it returns how many settings each of them measures, the
// setting to beat among them, and how many runs the confirmation keeps. Without sizes there is
// only enough to confirm. Every stage gets about as many runs, so that the settings that are
// left get twice the rounds. If the runs are too few for that, a stage leaves out more than half, and
// then the last settings are not tried.
func divide(runs, candidates int) (sizes []int, reserve int) {
	reserve = min((2+maxWithout)*maxPairs, max(2*minPairs, runs/3))
	if runs < reserve+fewest {
		reserve = 2 * leastPairs
	}
	for n := min(candidates, runs-reserve); n >= 2; n-- {
		for _, part := range []int{2, 3, 4} {
			sizes = []int{n}
			sum := n
			for next := n; next > fewest+1; {
				next = max(fewest, (next+part-1)/part)
				sizes, sum = append(sizes, next), sum+next
			}
			if sum <= runs-reserve {
				return sizes, reserve
			}
		}
	}
	return nil, reserve
}

// check rejects an input that lacks something. Package lab has checked what the operator gave.
func (in *Input) check() error {
	switch {
	case in.Objective.name == "":
		return fmt.Errorf("no objective")
	case experiment.OpenLoop(in.Base.Arm) && !(in.Base.Rate > 0):
		return fmt.Errorf("the load is %s, and no rate is known", in.Base.Load)
	case in.CPUs < 1:
		return fmt.Errorf("the number of CPUs is not known")
	case in.Budget <= 0:
		return fmt.Errorf("no budget")
	case in.PerRun <= 0:
		return fmt.Errorf("the duration of a run is not known")
	}
	return nil
}
