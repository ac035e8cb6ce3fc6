// SPDX-License-Identifier: Apache-2.0

package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	// pessimist is the 95 % quantile of the normal distribution, for one-sided bounds.
	pessimist = 1.645
	// achieved is the share of the offered load that a setting must serve, and inFlight
	// the requests per run that may be under way when the window closes.
	achieved, inFlight = 0.995, 3
)

// judge ranks candidates by the runs so far.
type judge struct {
	candidates  []Candidate
	sizes       [knobs]int // levels by knob
	objective   Objective
	constraints []Constraint // the user's and those of limits
	// guarded: by its estimate, a candidate must not serve less than the baseline, candidate 0,
	// beyond the margin. Whether it does is decided by the pairs of the confirmation.
	guarded bool
	errors  float64 // error ratio of the baseline
}

// standing is what the runs say about one candidate.
type standing struct {
	cell     int
	score    float64 // of the objective, on the logarithmic scale; less is better
	measured bool    // false: only predicted
	// failed: it was OOM-killed, finished nothing in a run, had more errors than the
	// baseline, did not serve the offered load, or had no run that counts.
	failed string
	excess float64 // beyond the bounds of the constraints, on the logarithmic scale; 0 is within
}

func (s standing) feasible() bool { return s.failed == "" && s.excess == 0 }

// rank orders all candidates, the best first: those that meet every constraint by the
// objective, then the others by how far they miss, last those that failed. The bound of a
// constraint applies to the estimate plus z standard errors: 0 in the screen, where a
// single run of a setting could bound nothing, and [pessimist] later.
//
// It also returns the model of the objective.
func (j *judge) rank(runs []finding.Run, z float64) ([]standing, surface) {
	cells := j.byCell(runs)
	s := j.fit(cells, j.objective.figure)
	out := make([]standing, len(j.candidates))
	for i := range out {
		out[i] = standing{cell: i, score: s.mean[i], measured: len(cells[i]) > 0, failed: j.failure(cells[i])}
	}
	for _, c := range j.constraints {
		j.bound(out, cells, c, z)
	}
	if j.guarded {
		m, _ := figureOf("rps")
		served := j.fit(cells, m).mean
		for i := range out {
			if less := served[i] - served[0] - math.Log1p(margins["rps"]); less > 0 {
				out[i].excess += less
			}
		}
	}
	slices.SortStableFunc(out, func(a, b standing) int {
		return cmp.Or(
			boolCompare(a.failed != "", b.failed != ""),
			cmp.Compare(a.excess, b.excess),
			cmp.Compare(a.score, b.score))
	})
	return out, s
}

func boolCompare(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// byCell groups runs by candidate. It keeps runs that do not count, see failure.
func (j *judge) byCell(runs []finding.Run) [][]finding.Run {
	at := map[finding.Arm]int{}
	for i, c := range j.candidates {
		at[c.Arm] = i
	}
	cells := make([][]finding.Run, len(j.candidates))
	for _, r := range runs {
		if i, ok := at[r.Arm]; ok {
			cells[i] = append(cells[i], r)
		}
	}
	return cells
}

// fit models a metric of all candidates. It leaves out runs without the metric, or with
// 0.
func (j *judge) fit(cells [][]finding.Run, m figure) surface {
	var obs []observation
	for i, runs := range cells {
		for k := range runs {
			if runs[k].Invalid != "" {
				continue
			}
			if y, ok := m.log(&runs[k]); ok {
				obs = append(obs, observation{i, runs[k].Round, y})
			}
		}
	}
	return fit(j.candidates, j.sizes, obs)
}

// failure returns the code of the reason why a setting cannot win, whatever its
// objective; "" if there is no reason, for example because it was not measured.
func (j *judge) failure(runs []finding.Run) string {
	var ops, errors int64
	var offered, missing float64
	valid := 0
	for _, r := range runs {
		if killed(&r) {
			return finding.BrokeMemory
		}
		if r.Invalid == "" && empty(&r) {
			return finding.BrokeNothing
		}
		if r.Invalid != "" {
			continue
		}
		valid++
		ops, errors = ops+r.Ops, errors+r.Errors
		if experiment.OpenLoop(r.Arm) && r.Offered != nil && r.RPS != nil {
			offered += *r.Offered * r.Window
			missing += max(0, (*r.Offered-*r.RPS)*r.Window-inFlight)
		}
	}
	n := float64(ops + errors)
	switch {
	case len(runs) > 0 && valid == 0:
		return finding.BrokeRuns
	case float64(errors) > j.errors*n+3*math.Sqrt(j.errors*n):
		return finding.BrokeErrors // three standard deviations: the baseline itself has this by chance
	case missing > (1-achieved)*offered:
		return finding.BrokeLoad
	case valid > 0 && !slices.ContainsFunc(runs, j.scored):
		return finding.BrokeNothing
	}
	return ""
}

func (j *judge) scored(r finding.Run) bool {
	_, ok := j.objective.log(&r)
	return ok && r.Invalid == ""
}

// bound adds to the standings by how much they exceed a constraint.
func (j *judge) bound(out []standing, cells [][]finding.Run, c Constraint, z float64) {
	if c.share() {
		// Most values are 0 and have no logarithm, so the worst run decides. Nothing
		// is known of settings without runs.
		for i := range out {
			for _, r := range cells[i] {
				if v := c.Run(&r); v != nil && r.Invalid == "" && !c.holds(*v) {
					out[i].excess = max(out[i].excess, math.Log1p(*v-c.bound))
				}
			}
		}
		return
	}
	s := j.fit(cells, c.figure)
	limit := math.Log(c.bound)
	if c.More {
		limit = -limit
	}
	for i := range out {
		worst := s.mean[i] + z*s.sd[i]
		switch over := worst - limit; {
		case math.IsNaN(over) || c.holds(c.value(worst)):
		default:
			// A little even if the value equals a strict bound.
			out[i].excess += max(over, 1e-9)
		}
	}
}

// broken returns what the runs of a setting break; nil if it meets everything. With
// doubt the less favourable end of the median's interval counts, otherwise the more
// favourable one; with too few runs for an interval, the ends of the range.
func (j *judge) broken(runs []finding.Run, doubt bool) *finding.Broken {
	if why := j.failure(runs); why != "" && (doubt || why != finding.BrokeErrors) {
		return &finding.Broken{Code: why}
	}
	for _, con := range j.constraints {
		var x []float64
		for i := range runs {
			if v := con.Run(&runs[i]); v != nil && runs[i].Invalid == "" {
				x = append(x, *v)
			}
		}
		if len(x) == 0 {
			if doubt {
				return &finding.Broken{Code: finding.BrokeBound, Bound: con.String()}
			}
			continue
		}
		iv, ok := stats.MedianInterval(x, 0.95)
		if !ok || con.share() && doubt {
			iv.Low, iv.High = slices.Min(x), slices.Max(x)
		}
		v := iv.Low
		if !con.More == doubt {
			v = iv.High
		}
		if !con.holds(v) {
			return &finding.Broken{Code: finding.BrokeBound, Bound: con.String()}
		}
	}
	return nil
}

// Breaks returns what a run under load breaks, whatever its other figures: an OOM kill, failed or unserved requests, or
// one of the bounds; nil = nothing.
func Breaks(run *finding.Run, bounds []Constraint) *finding.Broken {
	served, _ := figureOf("rps")
	j := &judge{objective: Objective{served}, constraints: bounds}
	return j.broken([]finding.Run{*run}, true)
}
