// SPDX-License-Identifier: Apache-2.0

package search

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// achieved is the share of the offered load that a setting must serve, and inFlight
// the requests per run that may be under way when the window closes.
const (
	achieved = 0.995
	inFlight = 3
)

// judge ranks candidates by the runs so far.
type judge struct {
	candidates  []finding.Arm
	objective   Objective
	constraints []Constraint // the user's and those of limits
	// guarded: a candidate must not serve less than the baseline beyond the margin.
	guarded bool
	errors  float64 // error ratio of the baseline
}

// standing is what the runs say about one candidate.
type standing struct {
	cell   int
	score  float64 // of the objective against the baseline, on the logarithmic scale; less is better
	failed string  // code of the reason why it cannot win, see failure
	excess float64 // beyond the bounds of the constraints, on the logarithmic scale; 0 is within
}

func (s standing) feasible() bool { return s.failed == "" && s.excess == 0 }

// rank orders candidates that were measured in the same rounds, the best first: those that
// meet every constraint by the objective, then the others by how far they miss, last those
// that failed. ref is the setting to beat, which they are compared with.
func (j *judge) rank(runs []finding.Run, field []int, ref int) []standing {
	cells := j.byCell(runs)
	score, rounds := j.scores(cells, field, ref, j.objective.figure)
	var served map[int]float64
	if j.guarded && rounds > 1 { // one round is too noisy for this
		m, _ := figureOf("rps")
		served, _ = j.scores(cells, field, ref, m)
	}
	out := make([]standing, len(field))
	for i, c := range field {
		s := standing{cell: c, score: math.Inf(1), failed: j.failure(cells[c])}
		if own, ok := score[c]; ok {
			s.score = own - score[ref]
		}
		if less := served[c] - served[ref]; less > math.Log1p(margins["rps"]) {
			s.score = max(s.score, less)
		}
		for _, con := range j.constraints {
			s.excess += con.excess(cells[c])
		}
		out[i] = s
	}
	slices.SortStableFunc(out, func(a, b standing) int {
		if (a.failed != "") != (b.failed != "") {
			return cmp.Compare(len(a.failed), len(b.failed))
		}
		return cmp.Or(cmp.Compare(a.excess, b.excess), cmp.Compare(a.score, b.score))
	})
	return out
}

// scores compares candidates in a metric with the setting to beat or, if that has none, with the one
// that has most: the mean logarithm of the ratio in the rounds that both have, less being better. It
// also returns in how many rounds they were compared at most.
func (j *judge) scores(cells [][]finding.Run, field []int, ref int, m figure) (score map[int]float64, rounds int) {
	n := func(c int) int { return len(differences(cells[c], cells[c], m)) }
	if n(ref) == 0 {
		ref = slices.MaxFunc(field, func(a, b int) int { return cmp.Compare(n(a), n(b)) })
	}
	score = map[int]float64{}
	for _, c := range field {
		if d := differences(cells[ref], cells[c], m); len(d) > 0 {
			score[c], rounds = mean(d), max(rounds, len(d))
		}
	}
	return score, rounds
}

// differences returns by how much runs differ from those of a base in the same rounds, on the
// logarithmic scale; below 0 is better.
func differences(base, runs []finding.Run, m figure) (d []float64) {
	of := func(runs []finding.Run) map[int]float64 {
		x := map[int]float64{}
		for i := range runs {
			if _, seen := x[runs[i].Round]; !seen && runs[i].Invalid == "" {
				if y, ok := m.log(&runs[i]); ok {
					x[runs[i].Round] = y
				}
			}
		}
		return x
	}
	own, other := of(runs), of(base)
	for _, round := range slices.Sorted(maps.Keys(own)) { // in order: a sum of floats depends on it
		if y, ok := other[round]; ok {
			d = append(d, own[round]-y)
		}
	}
	return d
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}

// squares returns the sum of the squared deviations from the mean.
func squares(x []float64) (sum float64) {
	m := mean(x)
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	return sum
}

// byCell groups runs by candidate. It keeps runs that do not count, see failure.
func (j *judge) byCell(runs []finding.Run) [][]finding.Run {
	at := map[finding.Arm]int{}
	for i, a := range j.candidates {
		at[a] = i
	}
	cells := make([][]finding.Run, len(j.candidates))
	for _, r := range runs {
		if i, ok := at[r.Arm]; ok {
			cells[i] = append(cells[i], r)
		}
	}
	return cells
}

// lost counts the runs that count, and those of them that were OOM-killed or finished nothing.
func lost(runs []finding.Run) (n, of int) {
	for i := range runs {
		if runs[i].Invalid == "" {
			of++
			if killed(&runs[i]) || empty(&runs[i]) {
				n++
			}
		}
	}
	return n, of
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

// values returns the bounded metric of the runs that count and have it.
func (c Constraint) values(runs []finding.Run) (x []float64) {
	for i := range runs {
		if v := c.Run(&runs[i]); v != nil && runs[i].Invalid == "" {
			x = append(x, *v)
		}
	}
	return x
}

// excess returns by how much runs exceed the bound, on the logarithmic scale: their mean and, of three
// or more, 1.645 standard errors, the one-sided bound of 95 %. Of a share, which is 0 in most runs,
// and of memory, of which too much is fatal once, the worst run decides.
func (c Constraint) excess(runs []finding.Run) float64 {
	x := c.values(runs)
	if len(x) == 0 {
		return 0
	}
	v := slices.Max(x)
	switch n := float64(len(x)); {
	case c.share():
		if c.holds(v) {
			return 0
		}
		return max(math.Log1p(v-c.bound), 1e-9)
	case c.Unit != metric.Bytes:
		for i := range x {
			x[i] = math.Log(x[i])
		}
		v = mean(x)
		if n >= 3 {
			v -= c.sign() * pessimist * math.Sqrt(squares(x)/(n-1)/n)
		}
		v = math.Exp(v)
	}
	if c.holds(v) {
		return 0
	}
	return max(math.Abs(math.Log(v/c.bound)), 1e-9) // a little even if the value equals a strict bound
}

// sign is 1 if more is better, else -1.
func (c Constraint) sign() float64 {
	if c.More {
		return 1
	}
	return -1
}

// broken returns what the runs of a setting break; nil if it meets everything. With
// doubt the less favourable end of the median's interval counts, otherwise the more
// favourable one; with too few runs for an interval, the ends of the range.
func (j *judge) broken(runs []finding.Run, doubt bool) *finding.Broken {
	if why := j.failure(runs); why != "" && doubt {
		return &finding.Broken{Code: why}
	}
	for _, con := range j.constraints {
		x := con.values(runs)
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

// limits returns the constraints that always apply: under a memory limit a tenth of it
// stays free. The peak of a cgroup counts page cache, which the kernel reclaims before it
// kills. If the baseline's peak exceeds the bound because of that, the bound applies to
// the resident memory instead. Where only snug's plan survives, a setting may use as much
// as that does.
func (s *search) limits(memory int64) []Constraint {
	if memory <= 0 {
		return nil
	}
	bound := peakShare * float64(memory)
	name := "peak"
	if peak := s.medianOf(func(r *finding.Run) *float64 { return metric.Float(r.Peak) }); peak == nil || *peak > bound {
		name = "rss"
		rss := s.medianOf(func(r *finding.Run) *float64 { return metric.Float(r.MaxRSS) })
		if peak != nil && (rss == nil || *rss > bound) {
			name = "peak"
		}
	}
	m, _ := figureOf(name)
	if s.ref != 0 { // where the default fails, what snug's plan uses is the measure
		for _, r := range s.judge.byCell(s.runs)[s.ref] {
			if v := m.Run(&r); v != nil && r.Invalid == "" {
				bound = min(max(bound, 1.02**v), float64(memory))
			}
		}
	}
	return []Constraint{{m, false, bound, name + "<=" + units.Bytes(int64(bound))}}
}
