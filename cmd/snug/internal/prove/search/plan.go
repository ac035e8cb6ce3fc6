// SPDX-License-Identifier: Apache-2.0

package search

import (
	"fmt"
	"time"
)

const (
	// baselineRuns is the smallest number of runs whose median has a 95 % interval.
	baselineRuns = 6
	// confirmPairs show a difference of about 5 % in a figure that varies by 3 %.
	confirmPairs = 10
	// minScreen is the minimum number of settings in the screen, if there are that many.
	// The screen also has at least the number of the model's parameters, plus two.
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

// Plan is what a search is going to do. Before the baseline is measured it follows from
// the expected duration of a run and the largest possible space; afterwards from
// measurements.
type Plan struct {
	Steps      []Step
	Candidates int           // settings to try
	PerRun     time.Duration // 0: unknown, the budget is in runs
}

// Runs returns the number of runs, without repetitions.
func (p Plan) Runs() int {
	n := 0
	for _, s := range p.Steps {
		n += s.Runs()
	}
	return n
}

// Duration returns how long the runs will take.
func (p Plan) Duration() time.Duration { return time.Duration(p.Runs()) * p.PerRun }

// BudgetError reports a budget that is too small for a useful search.
type BudgetError struct {
	Budget, Need   time.Duration // 0 if the budget is in runs
	Runs, NeedRuns int
}

func (e *BudgetError) Error() string {
	if e.Need == 0 {
		return fmt.Sprintf("the budget of %d runs is too small: the smallest useful budget is %d", e.Runs, e.NeedRuns)
	}
	return fmt.Sprintf("the budget of %v is too small: it allows %d runs, and the smallest useful search needs %d", e.Budget, e.Runs, e.NeedRuns)
}

// Hint returns the cure.
func (e *BudgetError) Hint() string {
	if e.Need == 0 {
		return "allow more runs, or fix a knob to have fewer settings to try"
	}
	return fmt.Sprintf("give it %v, or fix a knob to have fewer settings to try", e.Need)
}

// newPlan divides a budget. The baseline and the confirmation take what they need. Half
// of the rest screens, the other half is for sequential halving, the same for each rung
// (Z. Karnin, T. Koren, O. Somekh, "Almost Optimal Exploration in Multi-Armed Bandits",
// ICML 2013). parameters is the number of parameters of the additive model.
func newPlan(runs int, budget, perRun time.Duration, candidates, parameters int) (Plan, error) {
	if budget > 0 && perRun > 0 {
		runs = int(budget / perRun)
	}
	p := Plan{Candidates: candidates, PerRun: perRun, Steps: []Step{{"baseline", 1, baselineRuns}}}
	if candidates < 2 {
		return p, nil
	}
	screen := min(candidates, max(minScreen, parameters+2))
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
