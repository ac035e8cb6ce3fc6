// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// Replay is an [experiment.Runner] that draws its runs, with replacement, from a recorded
// sweep of all settings, so that one sweep serves for hundreds of searches.
//
// The arms of a round get runs of one recorded round, which keeps them paired. If a
// setting has no run that counts in that round, another of its runs is used.
type Replay struct {
	seed   uint64
	rounds []int
	runs   map[finding.Arm]map[int]finding.Run
}

// NewReplay returns a Replay of the runs of a sweep that count, without their histograms.
func NewReplay(b *finding.Bench, seed uint64) (*Replay, error) {
	r := &Replay{seed: seed, runs: map[finding.Arm]map[int]finding.Run{}}
	for _, c := range b.Cells {
		runs := map[int]finding.Run{}
		for _, run := range c.Rounds {
			if _, again := runs[run.Round]; run.Invalid != "" || again {
				continue
			}
			run.Arm, run.Latency, run.Took = c.Arm, nil, 1
			runs[run.Round] = run
			if !slices.Contains(r.rounds, run.Round) {
				r.rounds = append(r.rounds, run.Round)
			}
		}
		if len(runs) == 0 {
			return nil, fmt.Errorf("no run that counts in the sweep, %s", metric.SettingText(c.Arm))
		}
		r.runs[c.Arm] = runs
	}
	if len(r.rounds) == 0 {
		return nil, fmt.Errorf("no cells in the sweep")
	}
	slices.Sort(r.rounds)
	return r, nil
}

// Run draws a run of the trial's arm. It fails if the arm was not recorded.
func (r *Replay) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	if err := ctx.Err(); err != nil {
		return finding.Run{}, err
	}
	runs, ok := r.runs[t.Arm]
	if !ok {
		return finding.Run{}, fmt.Errorf("not in the sweep, %s", metric.SettingText(t.Arm))
	}
	// All arms of a round have its seed, and draw alike.
	random := rand.New(rand.NewPCG(r.seed, t.Seed^uint64(t.Try)<<56))
	for {
		if run, ok := runs[r.rounds[random.IntN(len(r.rounds))]]; ok {
			return run, nil
		}
	}
}

// family reports whether two arms differ in knobs and burst only.
func family(a, b finding.Arm) bool {
	a.Knobs, a.Burst, b.Knobs, b.Burst = finding.Knobs{}, 0, finding.Knobs{}, 0
	return a == b
}

// Sweep returns the input of a search over the settings that a sweep recorded for the
// workload, limits and load of base. The caller sets objective, constraints, budget and
// seed.
func Sweep(b *finding.Bench, base finding.Arm) (Input, error) {
	in := Input{CPUs: max(1, b.Machine.CPUs), Base: experiment.Arm{Arm: base, Labels: []string{experiment.LabelDefault}}}
	recorded := map[finding.Arm]bool{}
	v := &in.Values
	for _, c := range b.Cells {
		if !family(c.Arm, base) {
			continue
		}
		recorded[c.Arm] = true
		v.GOMAXPROCS = append(v.GOMAXPROCS, c.GOMAXPROCS)
		v.GOGC = append(v.GOGC, c.GOGC)
		v.GOMEMLIMIT = append(v.GOMEMLIMIT, c.GOMEMLIMIT)
		if c.Arm == base && c.Offered != nil {
			in.Base.Rate = *c.Offered
		}
	}
	if !recorded[base] {
		return Input{}, fmt.Errorf("the baseline is not in the sweep, %s of %s", metric.SettingText(base), base.Workload)
	}
	v.GOMAXPROCS, v.GOGC, v.GOMEMLIMIT = unique(v.GOMAXPROCS), unique(v.GOGC), unique(v.GOMEMLIMIT)
	in.Only = func(a finding.Arm) bool { return recorded[a] }
	return in, nil
}

// Regret returns by how much the objective of a setting is worse than that of the best
// setting of a sweep that meets the constraints, by the medians of all recorded runs: 0
// for the best, 0.03 for 3 %. It is +Inf if the setting breaks a constraint and another
// does not. It returns an error if the setting is not in the sweep, or no setting meets
// the constraints.
func Regret(b *finding.Bench, base, chosen finding.Arm, o Objective, constraints []Constraint) (float64, error) {
	s := search{in: Input{Objective: o, Constraints: constraints, Base: experiment.Arm{Arm: base}}}
	s.judge = judge{objective: o, candidates: []finding.Arm{base}}
	s.tune = &finding.Tune{}
	all := map[finding.Arm][]finding.Run{}
	for _, c := range b.Cells {
		if !family(c.Arm, base) {
			continue
		}
		for _, r := range c.Rounds {
			r.Arm = c.Arm
			all[c.Arm] = append(all[c.Arm], r)
		}
	}
	s.runs = all[base]
	s.judge.errors = s.errors()
	s.judge.constraints = append(s.limits(base.Memory), constraints...)
	if all[chosen] == nil {
		return 0, fmt.Errorf("not in the sweep, %s", metric.SettingText(chosen))
	}
	best, own := math.Inf(1), math.Inf(1)
	for arm, runs := range all {
		if score, ok := s.judge.truth(runs); ok {
			best = min(best, score)
			if arm == chosen {
				own = score
			}
		}
	}
	if math.IsInf(best, 1) {
		return 0, fmt.Errorf("no setting of the sweep holds the constraints")
	}
	return math.Exp(own-best) - 1, nil
}

// truth returns the median score of a setting with many runs; false if it fails or a
// median breaks a constraint.
func (j *judge) truth(runs []finding.Run) (float64, bool) {
	if j.failure(runs) != "" {
		return 0, false
	}
	median := func(read func(*finding.Run) (float64, bool)) float64 {
		var x []float64
		for i := range runs {
			if v, ok := read(&runs[i]); ok && runs[i].Invalid == "" {
				x = append(x, v)
			}
		}
		return stats.Median(x)
	}
	for _, c := range j.constraints {
		v := median(func(r *finding.Run) (float64, bool) { return or(c.Run(r), 0), c.Run(r) != nil })
		if !math.IsNaN(v) && !c.holds(v) {
			return 0, false
		}
	}
	score := median(j.objective.log)
	return score, !math.IsNaN(score)
}
