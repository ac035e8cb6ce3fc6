// SPDX-License-Identifier: Apache-2.0

package search

import (
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// verdict decides what to set. After an early stop it only says so: the leader of half a
// search is not a recommendation.
func (s *search) verdict(err error, at map[int]int) {
	v := &s.tune.Verdict
	v.Cannot, v.Metric = []string{}, s.in.Objective.Key
	if err != nil {
		v.Code = finding.CodeUnfinished
		return
	}
	j := s.judged(at)
	if j.Code == "" {
		v.Code = finding.CodeBudget
		s.tune.Needed = math.Ceil(smallest*s.trials.cost()/60) * 60
		if s.trials.inRuns {
			s.tune.Needed = 0
		}
		return
	}
	v.Judged = []finding.Judged{j}
	if j.Code != finding.Won && j.Code != finding.Spared {
		v.Keep = j.Fails == nil && j.Open == 0 // do not keep what fails
		if j.Open > 0 {
			s.tune.Needed = 4 * s.in.Budget.Seconds() // halves the errors of the estimates
		}
		return
	}
	v.Best = j.Setting
	for _, c := range j.Costs {
		s.warn(WarnTrade, "%s is worse with it: %s", metric.Called(c.Metric), units.ChangeSaid(c.Ratio, c.Low, c.High))
	}
}

// judged returns the decision and its evidence; without a code if the budget ended the
// search before anything was confirmed.
func (s *search) judged(at map[int]int) finding.Judged {
	j := finding.Judged{Baseline: at[0], Loads: 1, Fails: s.fails(at[0])}
	top := standing{cell: -1}
	if len(s.ranking) > 0 {
		top = s.ranking[0]
	}
	switch planned := len(s.tune.Space) > 0; {
	case planned && len(s.judge.candidates) < 2:
		j.Code = finding.NothingElse
	case s.tune.Confirm != nil:
		s.confirmedBy(&j, at)
	case !planned || len(s.tune.Stages) < 2: // the budget
	case !top.feasible():
		j.Code = finding.NoneHolds
		for _, con := range s.judge.constraints {
			j.Bounds = append(j.Bounds, con.String())
		}
	case s.ref != 0: // snug's plan survives where the baseline fails; the budget confirmed nothing else
		j.Code, j.Setting = finding.Spared, new(at[s.ref])
	case !s.unaffordable:
		j.Code = finding.NoneBetter
		j.Open, j.Noise = s.open()
	}
	return j
}

// open returns the largest gain of a setting that the search does not rule out: the one-sided 95 % bound
// of its model, as a share, and the standard deviation of runs of one setting. Both are 0 if the gain
// is at most wide margins, or is of a setting that was confirmed.
func (s *search) open() (gain, noise float64) {
	cells := s.judge.byCell(s.runs)
	for i, mean := range s.surface.mean {
		if s.judge.failure(cells[i]) != "" || slices.Contains(s.confirmed, i) {
			continue
		}
		gain = max(gain, -math.Expm1(mean-s.surface.mean[0]-pessimist*s.surface.apart[i]))
	}
	if s.fails(0) != nil || gain <= wide*margins[s.in.Objective.name] {
		return 0, 0
	}
	return gain, math.Expm1(s.surface.noise)
}

// wide is how many margins a gain may have and not be seen, without a word on it.
const wide = 5

// confirmedBy completes the decision after a confirmation.
func (s *search) confirmedBy(j *finding.Judged, at map[int]int) {
	c := s.tune.Confirm
	lead, base := s.confirmed[0], s.confirmed[1]
	if len(c.Winner.Rounds) < leastPairs || len(c.Default.Rounds) < leastPairs {
		if s.ref != 0 {
			j.Code, j.Setting = finding.Spared, new(at[s.ref])
		}
		return
	}
	broken := s.judge.broken(c.Winner.Rounds, true)
	if broken == nil {
		broken = s.worse(0)
	}
	j.Setting, j.Gain = new(at[s.confirmed[c.Answer]]), s.gain(c.Answer)
	switch {
	case c.Answer != 1:
		j.Code, j.Broken = finding.Won, s.judge.broken(c.Default.Rounds, false)
		if j.Fails != nil {
			j.Code = finding.Spared
		}
		if base != 0 {
			j.Against = new(at[base])
		}
		for _, o := range c.Comparisons {
			if o.Cell == c.Answer && o.Word == finding.Worse {
				j.Costs = append(j.Costs, o)
			}
		}
	case s.ref != 0 && base == 0 && broken == nil: // snug's plan, where the baseline failed before
		j.Code, j.Setting, j.Gain = finding.Spared, new(at[lead]), nil
	case s.ref != 0 && base == s.ref: // the leader does not beat snug's plan
		j.Code, j.Leader, j.Led, j.Gain = finding.Spared, new(at[lead]), s.gain(0), nil
		j.Broken, j.Margin = broken, margins[s.in.Objective.name]
	case broken != nil:
		j.Code, j.Setting, j.Gain, j.Broken = finding.LeaderBroke, new(at[lead]), s.gain(0), broken
	default:
		j.Code, j.Setting, j.Gain, j.Margin = finding.NoGain, new(at[lead]), s.gain(0), margins[s.in.Objective.name]
		j.Open, j.Noise = s.open()
	}
}

// fails returns how often the baseline failed, over all of its runs that count; nil if it
// never did.
func (s *search) fails(cell int) *finding.Failure {
	runs := s.judge.byCell(s.runs)[0]
	if s.tune.Confirm != nil && len(s.confirmed) > 1 && s.confirmed[1] == 0 {
		runs = append(runs, s.tune.Confirm.Default.Rounds...)
	}
	f := finding.Failure{Cell: cell, Code: finding.FailsResult}
	for _, r := range runs {
		if r.Invalid != "" {
			continue
		}
		f.Of++
		if killed(&r) {
			f.Code = finding.FailsMemory
		}
		if killed(&r) || empty(&r) {
			f.Rounds++
		}
	}
	if f.Rounds == 0 {
		return nil
	}
	return &f
}
