// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// metricOf returns the metric of an objective: cpu, rps, wall, p50, p99, memory or
// ns/op. It returns false for any other word.
func metricOf(objective string) (name string, ok bool) {
	name, ok = map[string]string{
		"cpu": metric.CPU, "rps": metric.RPS, "wall": metric.Wall,
		"p50": metric.P50, "p99": metric.P99, "memory": metric.Peak, "ns/op": metric.BenchTime,
	}[objective]
	return name, ok
}

// guarded lists the metrics in which a better setting must not be worse. P50 is one of
// them because it shows a queue behind too few Ps first: with one P under a 1-CPU quota
// half of all requests wait, and the tail need not be longer.
var guarded = map[string]bool{metric.CPU: true, metric.RPS: true, metric.Wall: true, metric.P50: true, metric.P99: true}

// errorMargin is how much the share of failed operations may rise.
const errorMargin = 0.001

// Judge decides what to set. A setting is knobs and burst, under all measured loads. It
// is better than the baseline if the objective is better under some load, and neither the
// objective nor a guarded metric (CPU, throughput, P50, P99, wall time, failed
// operations, OOM kills) is worse under any. The best of several has the smallest ratio
// of the objective, averaged over loads.
//
// Words of comparisons keep to 5 % of false alarms for each metric and load. A verdict
// looks at several loads and containers without a further correction: a word needs its
// whole interval beyond the margin, and 500 simulated experiments of three loads without
// any difference had 4 false verdicts (TestNoFalseVerdicts).
//
// If the baseline fails in some rounds (OOM-killed, or without a result) or fails more of
// its operations, a setting that does not, in at least as many rounds, is better whatever
// its figures. A setting that fails is never better.
//
// Of Go benchmarks the objective is the geometric mean of all; a setting that is worse in
// any one of them does not win.
//
// Containers (workload, quota and memory limit) are judged separately. Best is set if
// exactly one of them has a better setting: to its first cell in which the objective is
// better or the baseline fails. Keep is set if none has. Neither is set if the objective
// was not measured beside a baseline, if there are too few rounds to show any difference,
// or if a baseline fails and no setting is spared; the text says so.
//
// machineCPUs is how many CPUs programs could use; it limits what can be shown.
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

// Worse reports whether the setting labelled current, or default if there is none, is
// worse than another setting of the same workload: whether a measured one is better as
// Judge defines it, such as one that works where this one fails. It also returns that
// verdict.
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
