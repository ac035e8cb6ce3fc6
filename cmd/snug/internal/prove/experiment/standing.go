// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// standing returns the design with baselines that work. A baseline that fails under some
// load (OOM-killed, without a result, or with failed operations) cannot say which of the
// others is best. So in its container another setting takes its place, if one does not
// fail where it does: snug's own or, if that fails too, the one that changes least. If
// all fail, the baseline stays.
//
// A failure is the only result that it depends on. Figures play no part.
func (d *Design) standing(cells []finding.Cell) *Design {
	instead := map[int]int{} // planned baseline to the one in its place
	for i := range d.Arms {
		b, ok := d.baseline(i)
		if !ok {
			continue
		}
		if _, done := instead[b]; !done {
			instead[b] = d.substitute(cells, b)
		}
	}
	works := *d
	works.Against = func(_ []Arm, i int) (int, bool) {
		b, ok := d.baseline(i)
		if !ok { // a planned baseline: it is compared with the one in its place
			b = i
		}
		if other, replaced := instead[b]; replaced && other != b {
			// A stand-in stands for its own program only.
			return other, other != i && familyOf(d.Arms[other]) == familyOf(d.Arms[i])
		}
		return b, b != i
	}
	return &works
}

// substitute returns the cell to compare with instead of a planned baseline, at the same
// load; the baseline itself if it works or nothing else does.
func (d *Design) substitute(cells []finding.Cell, baseline int) int {
	base := d.setting(cells, baseline)
	best := baseline
	for i := range d.Arms {
		if i == baseline || familyOf(d.Arms[i]) != familyOf(d.Arms[baseline]) || !spared(cells, base, d.setting(cells, i)) {
			continue
		}
		if best == baseline || simpler(d.Arms[i], d.Arms[best]) {
			best = i
		}
	}
	return best
}

// setting returns the cells of an arm's setting, under all loads.
func (d *Design) setting(cells []finding.Cell, arm int) []int {
	var out []int
	want := d.Arms[arm].Arm
	for i := range cells {
		if a := d.Arms[i].Arm; len(valid(cells[i].Rounds)) > 0 {
			if a.Load = want.Load; a == want {
				out = append(out, i)
			}
		}
	}
	return out
}

// spared reports whether a setting works under every load under which the baseline was
// measured, and the baseline fails under one of them. It needs more than half as many
// rounds.
func spared(cells []finding.Cell, base, setting []int) bool {
	fails := false
	for _, b := range base {
		i := slices.IndexFunc(setting, func(i int) bool { return cells[i].Load == cells[b].Load })
		if i < 0 {
			return false
		}
		own, other := failuresOf(&cells[setting[i]]), failuresOf(&cells[b])
		if own.lost() > 0 || 2*own.rounds <= other.rounds {
			return false
		}
		switch {
		case other.lost() > 0:
			fails = true
		case moreErrors(&cells[b], &cells[setting[i]]):
			fails = true
		case moreErrors(&cells[setting[i]], &cells[b]):
			return false
		}
	}
	return fails
}

// moreErrors reports whether a cell fails more of its operations than another.
func moreErrors(c, other *finding.Cell) bool {
	return or(c.ErrorRate) > or(other.ErrorRate)+errorMargin && more(c, other, metric.MetricOf(metric.Errors), 0)
}

// more reports whether a share, unknown being 0, is larger in a cell than in another: beyond a margin
// on average, and in paired rounds so consistently that chance is no explanation.
func more(c, other *finding.Cell, m *metric.Metric, margin float64) bool {
	ratios := map[int]float64{}
	for _, r := range valid(other.Rounds) {
		ratios[r.Round] = or(m.Run(&r))
	}
	var more []float64
	sum := 0.0
	for _, r := range valid(c.Rounds) {
		if x, ok := ratios[r.Round]; ok {
			more = append(more, or(m.Run(&r))-x)
			sum += more[len(more)-1]
		}
	}
	return len(more) > 0 && sum > margin*float64(len(more)) && stats.SignedRank(more) <= 1-confidence
}

// throttledMargin is how much the share of throttled periods may rise.
const throttledMargin = 0.05

// Raised returns in which of these a setting is worse than another, whatever the load: failed operations,
// P99, throttled periods.
func Raised(base, c *finding.Cell) (out []string) {
	if moreErrors(c, base) {
		out = append(out, metric.Errors)
	}
	tail := comparedIn(metric.P99)
	if p := stats.ComparePaired(pairs(*base, *c, tail.Run)); stats.Judge(p, p.P, tail.margin, true) == finding.Worse {
		out = append(out, metric.P99)
	}
	if more(c, base, metric.MetricOf(metric.Throttled), throttledMargin) {
		out = append(out, metric.Throttled)
	}
	return out
}

// simpler reports whether setting a should stand in before b: snug's own first, then the
// one that changes less.
func simpler(a, b Arm) bool {
	if a.Is(LabelSnug) != b.Is(LabelSnug) {
		return a.Is(LabelSnug)
	}
	return Changes(a.Arm) < Changes(b.Arm)
}

// Changes weighs what a setting changes, to choose between settings of which none is
// shown to be better: 2 for each knob, and 1 more for GOMAXPROCS. A set GOMAXPROCS keeps
// Go from following the quota, so leaving it unset beats any other single knob.
func Changes(a finding.Arm) int {
	n := 2 * len(a.Vars.List())
	for _, set := range []bool{a.GOMAXPROCS != "", a.GOGC != "", a.GOMEMLIMIT != "", a.Burst > 0, a.Replicas > 1} {
		if set {
			n += 2
		}
	}
	if a.GOMAXPROCS != "" {
		n++
	}
	return n
}
