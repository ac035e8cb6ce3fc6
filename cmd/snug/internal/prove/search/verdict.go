// SPDX-License-Identifier: Apache-2.0

package search

import (
	"fmt"
	"slices"
	"strings"

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
	v.Judged = []finding.Judged{j}
	if j.Code != finding.Won && j.Code != finding.Spared {
		v.Keep = j.Fails == nil // do not keep what runs out of memory
		return
	}
	v.Best = new(at[s.ranking[0].cell])
	s.tune.Environment = environment(s.judge.candidates[s.ranking[0].cell].Arm, s.in.Base.Arm)
	for _, c := range j.Costs {
		s.warn(WarnTrade, "%s is worse with it: %s", metric.Called(c.Metric), units.ChangeSaid(c.Ratio, c.Low, c.High))
	}
}

// judged returns the decision and its evidence.
func (s *search) judged(at map[int]int) finding.Judged {
	j := finding.Judged{Baseline: at[0], Loads: 1, Fails: s.baselineKills(at[0])}
	switch {
	case len(s.judge.candidates) < 2:
		j.Code = finding.NothingElse
		return j
	case !s.ranking[0].feasible():
		j.Code = finding.NoneHolds
		for _, c := range s.judge.constraints {
			j.Bounds = append(j.Bounds, c.String())
		}
		return j
	case s.ranking[0].cell == 0:
		j.Code = finding.NoneBetter
		return j
	}
	j.Setting = new(at[s.ranking[0].cell])
	if gain, ok := s.gain(); ok {
		j.Gain = &gain
	}
	for _, c := range s.tune.Confirm.Comparisons {
		if c.Word == finding.Worse {
			j.Costs = append(j.Costs, c)
		}
	}
	switch broken := s.broken(s.tune.Confirm.Winner, true); {
	case s.won():
		j.Code, j.Broken = finding.Won, s.broken(s.tune.Confirm.Default, false)
		if j.Fails != nil && j.Fails.Rounds > 0 {
			j.Code = finding.Spared
		}
	case broken != nil:
		j.Code, j.Broken = finding.LeaderBroke, broken
	default:
		j.Code, j.Margin = finding.NoGain, margins[s.in.Objective.name]
	}
	return j
}

// baselineKills returns how often the baseline was OOM-killed in the confirmation; nil if it never
// was.
func (s *search) baselineKills(cell int) *finding.Failure {
	f := finding.Failure{Cell: cell, Code: finding.FailsMemory}
	died := s.baselineKilled()
	if s.tune.Confirm != nil {
		f.Rounds, f.Of = s.kills()
		died = died || slices.ContainsFunc(s.tune.Confirm.Default.Rounds, func(r finding.Run) bool { return killed(&r) })
	}
	if !died {
		return nil
	}
	return &f
}

// kills counts the baseline's runs of the confirmation that were OOM-killed, and those
// that count.
func (s *search) kills() (n, of int) {
	for _, r := range s.tune.Confirm.Default.Rounds {
		if r.Invalid == "" {
			of++
			if killed(&r) {
				n++
			}
		}
	}
	return n, of
}

// variables returns the knobs of an arm that are set, in the usual order.
func variables(k finding.Knobs) [][2]string {
	var out [][2]string
	for i, v := range []string{k.GOMAXPROCS, k.GOGC, k.GOMEMLIMIT} {
		if v != "" {
			out = append(out, [2]string{knobNames[i], v})
		}
	}
	return out
}

// environment returns a setting to paste. It unsets variables that only the baseline has,
// if the format can.
func environment(a, base finding.Arm) *finding.Environment {
	e := &finding.Environment{}
	var set, gone []string
	var yaml strings.Builder
	for _, v := range variables(a.Knobs) {
		set = append(set, v[0]+"="+v[1])
		fmt.Fprintf(&yaml, "  - name: %s\n    value: %q\n", v[0], v[1])
	}
	now := map[string]bool{}
	for _, v := range variables(a.Knobs) {
		now[v[0]] = true
	}
	for _, v := range variables(base.Knobs) {
		if !now[v[0]] {
			gone = append(gone, v[0])
		}
	}
	if len(gone) > 0 {
		e.Shell = "unset " + strings.Join(gone, " ") + "\n"
		note := "# without " + strings.Join(gone, ", ") + "\n"
		e.Dockerfile, e.Kubernetes = note, note
	}
	if len(set) > 0 {
		e.Shell += "export " + strings.Join(set, " ") + "\n"
		e.Dockerfile += "ENV " + strings.Join(set, " ") + "\n"
		e.Kubernetes += "env:\n" + yaml.String()
	}
	if a.Burst != base.Burst {
		// cpu.max.burst, cpu.cfs_burst_us: Documentation/scheduler/sched-bwc.rst.
		note := fmt.Sprintf("# and in the cgroup: cpu.max.burst (v1: cpu.cfs_burst_us) = %d\n", a.Burst)
		e.Shell += note
		e.Dockerfile += note
		e.Kubernetes += note
	}
	return e
}
