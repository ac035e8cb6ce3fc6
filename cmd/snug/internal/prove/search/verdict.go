// SPDX-License-Identifier: Apache-2.0

package search

import (
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

const (
	// wide is how many margins a gain may have and not be seen, without a word on it.
	wide = 5
	// pessimist is the 95 % quantile of the normal distribution, for one-sided bounds.
	pessimist = 1.645
	// unlikely is the probability below which chance does not explain failures.
	unlikely = 0.05
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
		s.tune.Needed = math.Ceil((s.trials.spent+2*leastPairs*s.trials.cost())/60) * 60
		return
	}
	v.Judged = []finding.Judged{j}
	if j.Code != finding.Won && j.Code != finding.Spared {
		v.Keep = j.Fails == nil // do not keep what fails
		if j.Open > 0 {
			s.tune.Needed = 4 * s.in.Budget.Seconds() // halves the interval
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
	_, leads := s.leader()
	_, planned := lost(s.judge.byCell(s.runs)[s.ref])
	switch {
	case len(s.tune.Space) > 0 && len(s.judge.candidates) < 2:
		j.Code = finding.NothingElse
	case s.tune.Confirm != nil && min(len(s.tune.Confirm.Winner.Rounds), len(s.tune.Confirm.Default.Rounds)) >= leastPairs:
		s.confirmedBy(&j, at)
	case s.ref != 0 && !chance(j.Fails, planned): // the budget confirmed nothing else
		j.Code, j.Setting = finding.Spared, new(at[s.ref])
	case s.first == nil || leads: // the budget
	case s.ranking[0].feasible():
		j.Code = finding.NoneBetter
		j.Open, j.Noise = s.open(nil)
	default:
		j.Code = finding.NoneHolds
		for _, con := range s.judge.constraints {
			j.Bounds = append(j.Bounds, con.String())
		}
	}
	return j
}

// confirmedBy completes the decision after a confirmation.
func (s *search) confirmedBy(j *finding.Judged, at map[int]int) {
	c := s.tune.Confirm
	lead, base := s.confirmed[0], s.confirmed[1]
	_, planned := lost(s.judge.byCell(s.runs)[s.ref])
	broken := s.judge.broken(c.Winner.Rounds, true)
	if broken == nil {
		broken = s.worse(0)
	}
	j.Setting, j.Gain = new(at[s.confirmed[c.Answer]]), s.gain(c.Answer)
	if base != 0 {
		j.Against = new(at[base])
	}
	switch spared := s.ref != 0 && !chance(j.Fails, planned); {
	case c.Answer != 1 && (s.ref == 0 || spared):
		j.Code, j.Broken = finding.Won, s.judge.broken(c.Default.Rounds, false)
		if spared || base == 0 && s.spares(c.Answer) {
			j.Code = finding.Spared
		}
		for _, o := range c.Comparisons {
			if o.Cell == c.Answer && o.Word == finding.Worse {
				j.Costs = append(j.Costs, o)
			}
		}
	case spared && base == s.ref: // the leader does not beat snug's plan
		j.Code, j.Leader, j.Led, j.Gain = finding.Spared, new(at[lead]), s.gain(0), nil
		j.Broken, j.Margin = broken, margins[s.in.Objective.name]
	case broken != nil:
		j.Code, j.Setting, j.Gain, j.Broken = finding.LeaderBroke, new(at[lead]), s.gain(0), broken
	default:
		j.Code, j.Setting, j.Gain, j.Margin = finding.NoGain, new(at[lead]), s.gain(0), margins[s.in.Objective.name]
		j.Open, j.Noise = s.open(j.Gain)
	}
}

// open returns the largest gain that the search does not rule out, as a share: of the leader by the
// interval g, of the others by the one-sided 95 % bound of the rounds that they had. Noise is
// the standard deviation of the difference of two runs. The gain is 0 if it is at most wide margins.
func (s *search) open(g *finding.Comparison) (gain, noise float64) {
	if g != nil && g.Low != nil && g.High != nil {
		if gain = 1 - *g.Low; s.in.Objective.More {
			gain = *g.High - 1
		}
	}
	cells := s.judge.byCell(s.runs)
	all := make([][]float64, len(cells))
	square, free := 0.0, 0.0
	for c := range cells {
		if all[c] = differences(cells[s.ref], cells[c], s.judge.objective.figure); len(all[c]) > 1 && c != s.ref {
			square, free = square+squares(all[c]), free+float64(len(all[c])-1)
		}
	}
	noise = math.Sqrt(square / max(1, free))
	for c, d := range all {
		if len(d) > 0 && c != s.ref && s.judge.failure(cells[c]) == "" && !slices.Contains(s.confirmed, c) {
			gain = max(gain, -math.Expm1(mean(d)-pessimist*noise/math.Sqrt(float64(len(d)))))
		}
	}
	if gain <= wide*margins[s.in.Objective.name] || s.fails(0) != nil {
		return 0, 0
	}
	return gain, math.Expm1(noise)
}

// fails returns how often the baseline failed, over all of its runs that count; nil if it
// never did.
func (s *search) fails(cell int) *finding.Failure {
	runs := s.judge.byCell(s.runs)[0]
	if s.tune.Confirm != nil && s.confirmed[1] == 0 {
		runs = append(runs, s.tune.Confirm.Default.Rounds...)
	}
	f := &finding.Failure{Cell: cell, Code: finding.FailsResult}
	if f.Rounds, f.Of = lost(runs); f.Rounds == 0 {
		return nil
	}
	for i := range runs {
		if runs[i].Invalid == "" && killed(&runs[i]) {
			f.Code = finding.FailsMemory
		}
	}
	return f
}

// chance reports whether as few failures may fall by chance into the runs of the baseline, and none
// into those of another setting.
func chance(f *finding.Failure, of int) bool {
	return f == nil || stats.AllInOne(f.Rounds, f.Of, of) > unlikely
}
