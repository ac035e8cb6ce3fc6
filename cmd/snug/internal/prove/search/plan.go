// SPDX-License-Identifier: Apache-2.0

package search

import (
	"fmt"
	"time"
)

const (
	// baselineRuns is the smallest number of runs whose median has a 95 % interval;
	// minBaseline is what a small budget leaves of them.
	baselineRuns = 6
	minBaseline  = 3
	// confirmPairs show a difference of about 5 % in a figure that varies by 3 %, and
	// maxPairs one of 4 %. minPairs can still show one with as many settings as a
	// confirmation may have.
	confirmPairs = 10
	maxPairs     = 16
	minPairs     = 8
	// maxWithout is how many knobs of the leader are tested, each by leaving it out.
	maxWithout = 3
	// minScreen is the minimum number of settings in the screen, if there are that many
	// and the budget allows it. The screen then also has at least the number of the
	// model's parameters, plus two.
	minScreen = 8
	// firstRung is how many settings the screen leaves to sequential halving.
	firstRung = 8
)

// Step is one stage of a search: this number of settings, each once a round.
type Step struct {
	Name   string // as in finding.Stage
	Arms   int
	Rounds int
}

// Runs returns the number of runs of the step, without repetitions.
func (s Step) Runs() int { return s.Arms * s.Rounds }

// Plan is what a search is going to do.
type Plan struct {
	Candidates int           // settings to try, at most
	Expected   time.Duration // 0: the budget is in runs
	AtMost     time.Duration
	Runs       int
}

// BudgetError reports a budget that is too small for any search.
type BudgetError struct {
	Budget, Need   time.Duration // 0 if the budget is in runs
	Runs, NeedRuns int
}

func (e *BudgetError) Error() string {
	if e.Need == 0 {
		return fmt.Sprintf("a budget of %d runs is too small even to confirm one setting: that takes %d", e.Runs, e.NeedRuns)
	}
	return fmt.Sprintf("a budget of %s is too small even to confirm one setting", short(e.Budget))
}

// Hint returns the cure.
func (e *BudgetError) Hint() string {
	if e.Need == 0 {
		return fmt.Sprintf("allow %d runs or more", e.NeedRuns)
	}
	return fmt.Sprintf("give it --budget %s, or a shorter --window", short(e.Need))
}

// short formats whole minutes as 4m, and anything else as Go does.
func short(d time.Duration) string {
	if d >= time.Minute && d%time.Minute == 0 {
		return fmt.Sprintf("%dm", int(d/time.Minute))
	}
	return d.String()
}

// smallest is the number of runs of the smallest useful search: the baseline, two other
// settings once each, and pairs of one of them with the baseline.
const smallest = minBaseline + 2 + 2*minPairs

// reserves returns the numbers of runs to keep for the confirmation, the most useful
// first. varied is the number of knobs with several values: a leader that sets several
// needs a setting more for each. A large budget spends a third of its runs on it.
func reserves(runs, varied int) []int {
	var out []int
	if n := min(varied, maxWithout); n >= 2 {
		out = append(out, (2+n)*min(maxPairs, max(minPairs, runs/3/(2+n))))
		for ; n >= 2; n-- {
			out = append(out, (2+n)*minPairs)
		}
	}
	return append(out, 2*confirmPairs, 2*minPairs)
}

// divide divides the runs after the baseline, and returns the steps before the
// confirmation; none if the runs are too few for one. Half of what the confirmation leaves
// screens, the other half is for sequential halving, the same for each rung
// (Z. Karnin, T. Koren, O. Somekh, "Almost Optimal Exploration in Multi-Armed Bandits",
// ICML 2013). parameters is the number of parameters of the additive model.
func divide(runs, candidates, parameters, varied int) []Step {
	screen := min(candidates, max(minScreen, parameters+2))
	halve := 0
	for _, n := range rungs(candidates) {
		halve += n
	}
	for _, reserve := range reserves(runs, varied) {
		left := runs - reserve
		if left < screen+halve {
			continue
		}
		half := min(left-halve, max(screen, left/2))
		first := Step{"screen", min(candidates, half), 1}
		first.Rounds = max(1, half/first.Arms)
		return append([]Step{first}, halving(left-first.Runs(), rungs(candidates))...)
	}
	// Too few for all of it: a smaller screen, and one rung.
	left := runs - 2*minPairs
	if left < 2 {
		left = runs - 2*leastPairs // enough, if all of them agree
	}
	if left < 2 {
		return nil
	}
	first := Step{"screen", min(candidates, max(2, left*2/3)), 1}
	steps := []Step{first}
	for _, n := range rungs(candidates) {
		if rest := left - first.Arms; n < first.Arms && n <= rest {
			return append(steps, Step{fmt.Sprintf("halve %d", n), n, rest / n})
		}
	}
	return steps
}

// rungs returns the numbers of settings of the rounds of halving.
func rungs(candidates int) []int {
	var out []int
	for n := firstRung; n >= 2; n /= 2 {
		if n < candidates || n == 2 {
			out = append(out, n)
		}
	}
	return out
}

// halving divides runs over rungs, at least one round for each.
func halving(runs int, rungs []int) []Step {
	var steps []Step
	for i, n := range rungs {
		s := Step{fmt.Sprintf("halve %d", n), n, max(1, runs/(len(rungs)-i)/n)}
		runs -= s.Runs()
		steps = append(steps, s)
	}
	return steps
}
