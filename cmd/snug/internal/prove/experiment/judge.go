// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// metricOf is the metric that an objective is judged by: cpu, rps, wall, p50, p99
// or memory. It is false for any other word.
func metricOf(objective string) (name string, ok bool) {
	name, ok = map[string]string{
		"cpu": metric.CPU, "rps": metric.RPS, "wall": metric.Wall,
		"p50": metric.P50, "p99": metric.P99, "memory": metric.Peak,
	}[objective]
	return name, ok
}

// guarded are the metrics that a better setting must not be worse in. P50 is among
// them because a queue behind too few Ps shows there first: with one P of a
// 1-CPU quota half of all requests wait, and the tail need not be longer.
var guarded = map[string]bool{metric.CPU: true, metric.RPS: true, metric.Wall: true, metric.P50: true, metric.P99: true}

// errorMargin is how much the share of failed operations may rise.
const errorMargin = 0.001

// Judge answers what to set. A setting, that is knobs and burst under whatever
// loads they were measured, is better than the baseline's when the objective is
// better under some load, and neither it nor a guarded metric (CPU, throughput, P50,
// P99, wall time, failed operations, OOM kills) is worse under any. Of several,
// the best is the one with the least ratio of the objective, averaged over loads.
//
// The words of comparisons are kept to 5 % of false alarms for each metric and
// load. A verdict looks at several loads and containers and asks for no more: a
// word wants its whole interval beyond the margin, and where nothing differs 500
// simulated experiments of three loads had 4 false verdicts (TestNoFalseVerdicts).
//
// Where the baseline fails in some rounds, killed for want of memory or without
// any result, or fails more of its operations, a setting that does not, in as
// many rounds, is better whatever its figures are. A setting that fails itself
// never is.
//
// Containers (workload, quota and memory limit) are judged one by one. Best is
// set when just one of them has a better setting, to the first cell of it in
// which the objective is better, or the baseline fails; Keep when none has. Where
// the objective was not measured beside a baseline neither is set, nor where there
// are too few rounds for any difference to show, nor where a baseline fails and
// nothing is spared, and the text says so.
//
// machineCPUs is how many CPUs programs could use, for what could not be shown.
func Judge(d *Design, cells []finding.Cell, comparisons []finding.Comparison, objective string, machineCPUs int) finding.BenchVerdict {
	cs := containers(d, cells, comparisons, objective)
	unshown := slices.Concat(uncounted(cells), cannot(cells, machineCPUs), loads(d, cells, machineCPUs))
	v := verdictOf(d, cells, cs, objective, unshown)
	better, undecided := 0, 0
	for _, c := range cs {
		if w := c.winner(); w != nil {
			better++
			v.Best = new(c.cell(w))
		} else if c.fails != nil || c.few() {
			undecided++
		}
	}
	if better != 1 {
		v.Best = nil
	}
	v.Keep = better+undecided == 0 && len(cs) > 0
	return v
}

// Worse reports whether the setting labelled current, or default where there is
// none, is worse than another of the same workload: whether one that was measured
// is better than it, as Judge means it, a setting that is spared where this one
// fails included, with the verdict on it.
func Worse(d *Design, cells []finding.Cell, objective string) (bool, finding.BenchVerdict) {
	label := LabelDefault
	for _, a := range d.Arms {
		if a.Is(LabelCurrent) {
			label = LabelCurrent
		}
	}
	beside := *d
	beside.Against = func(arms []Arm, i int) (int, bool) {
		for j, a := range arms {
			if a.Is(label) && familyOf(a) == familyOf(arms[i]) {
				return j, j != i
			}
		}
		return 0, false
	}
	cs := containers(&beside, cells, Compare(&beside, cells), objective)
	worse := false
	for _, c := range cs {
		worse = worse || c.winner() != nil
	}
	return worse, verdictOf(&beside, cells, cs, objective, uncounted(cells))
}
