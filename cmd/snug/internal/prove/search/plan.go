// SPDX-License-Identifier: Apache-2.0

package search

import (
	"fmt"
	"time"
)

const (
	// baselineRuns is the least number of runs whose median has a 95 % interval.
	baselineRuns = 6
	// confirmPairs show a difference of about 5 % in a figure that varies by 3 %.
	confirmPairs = 10
	// leastScreen is how many settings are screened at the least, if there are so
	// many; and never fewer than the model has parameters, and two.
	leastScreen = 8
	// firstRung is how many settings the screen leaves to sequential halving.
	firstRung = 8
)

// Step is one stage of a search: each of so many settings once a round.
type Step struct {
	Name   string // as in finding.Stage
	Arms   int
	Rounds int
}

// Runs is how many runs the step has, repetitions apart.
func (s Step) Runs() int { return s.Arms * s.Rounds }

// Plan is what a search is going to do. Before the baseline is measured it is
// made from the expected duration of a run and the largest possible space;
// afterwards from what was measured.
type Plan struct {
	Steps      []Step
	Candidates int           // settings to be tried
	PerRun     time.Duration // 0: not known, the budget is in runs
}

// Runs is how many runs there will be, repetitions apart.
func (p Plan) Runs() int {
	n := 0
	for _, s := range p.Steps {
		n += s.Runs()
	}
	return n
}

// Duration is how long it will take.
func (p Plan) Duration() time.Duration { return time.Duration(p.Runs()) * p.PerRun }

// BudgetError is a budget in which no search would be of use.
type BudgetError struct {
	Budget, Need   time.Duration // 0 when the budget is in runs
	Runs, NeedRuns int
}

func (e *BudgetError) Error() string {
	if e.Need == 0 {
		return fmt.Sprintf("the budget of %d runs is too small: the least useful one is %d", e.Runs, e.NeedRuns)
	}
	return fmt.Sprintf("the budget of %v is too small: %d runs, and the least useful search has %d", e.Budget, e.Runs, e.NeedRuns)
}

// Hint is the cure.
func (e *BudgetError) Hint() string {
	if e.Need == 0 {
		return "allow more runs, or fix a knob to have fewer settings to try"
	}
	return fmt.Sprintf("give it %v, or fix a knob to have fewer settings to try", e.Need)
}

// newPlan divides a budget: the baseline and the confirmation take what they
// need, half of the rest screens, the other half is for sequential halving, the
// same for each rung (Z. Karnin, T. Koren, O. Somekh, "Almost Optimal
// Exploration in Multi-Armed Bandits", ICML 2013). parameters are those of the
// additive model.
func newPlan(runs int, budget, perRun time.Duration, candidates, parameters int) (Plan, error) {
	if budget > 0 && perRun > 0 {
		runs = int(budget / perRun)
	}
	p := Plan{Candidates: candidates, PerRun: perRun, Steps: []Step{{"baseline", 1, baselineRuns}}}
	if candidates < 2 {
		return p, nil
	}
	screen := min(candidates, max(leastScreen, parameters+2))
	fixed := baselineRuns + 2*confirmPairs
	need := fixed + screen
	for _, n := range rungs(candidates) {
		need += n
	}
	if runs < need {
		e := &BudgetError{Budget: budget, Runs: runs, NeedRuns: need}
		if budget > 0 {
			e.Need = (time.Duration(need) * perRun).Round(time.Second) + time.Second
		}
		return Plan{}, e
	}
	left := runs - fixed
	half := max(screen, left/2)
	first := Step{"screen", min(candidates, half), 1}
	first.Rounds = max(1, half/first.Arms)
	p.Steps = append(p.Steps, first)
	p.Steps = append(p.Steps, halving(left-first.Runs(), rungs(candidates))...)
	p.Steps = append(p.Steps, Step{"confirm", 2, confirmPairs})
	return p, nil
}

// rungs are the numbers of settings of the rounds of halving.
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
