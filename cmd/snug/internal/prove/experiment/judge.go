// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// MetricOf returns the metric of an objective: cpu, rps, wall, p50, p99, memory or
// ns/op. It returns false for any other word.
func MetricOf(objective string) (name string, ok bool) {
	name, ok = map[string]string{
		"cpu": metric.CPU, "rps": metric.RPS, "wall": metric.Wall,
		"p50": metric.P50, "p99": metric.P99, "memory": metric.Peak, "ns/op": metric.BenchTime,
	}[objective]
	return name, ok
}

// Guarded reports whether a better setting must not be worse in a metric. P50 is one because
// it shows a queue behind too few Ps first: with one P under a 1-CPU quota half of all
// requests wait, and the tail need not be longer.
func Guarded(name string) bool {
	switch name {
	case metric.CPU, metric.RPS, metric.Wall, metric.P50, metric.P99:
		return true
	}
	return false
}

// errorMargin is how much the share of failed operations may rise.
const errorMargin = 0.001

// Judge decides what to set. A setting is knobs and burst, under all measured loads.
//
// The settings of a container (workload, quota and memory limit) are compared with its
// baseline: the default or, if that fails, a setting that works (see standing). A setting
// is better if a metric of the objective is shown to be better under some load, and
// neither that metric nor a guarded one (CPU, throughput, P50, P99, wall time, failed
// operations, OOM kills) is shown to be worse under any. The objective names one metric,
// or is [Auto]: then the data say which metric comes first (see kinds), and a metric
// decides if none before it does.
//
// Of several better settings, the one with the best ratio, averaged over loads, wins,
// unless one that changes less is not shown to be worse than it. Settings that beat the
// winner in another metric are named beside it, with their price. With [None] nothing is
// judged.
//
// Words of comparisons keep to 5 % of false alarms for each metric and load. A verdict
// looks at several metrics, loads and containers without a further correction: a word
// needs its whole interval beyond the margin. TestNoFalseVerdicts simulates 500
// experiments of three loads without any difference.
//
// Of Go benchmarks the objective is the geometric mean of all; a setting that is worse in
// any one of them does not win.
//
// Containers are judged separately. Best is set if exactly one of them has a setting to
// recommend: to a cell of it. Keep is set if none has. Neither is set if the objective was
// not measured beside a baseline, if there are too few rounds to show any difference, or
// if a baseline fails and all other settings may too, or may by chance; the text says so.
//
// machineCPUs is how many CPUs programs could use; it limits what can be shown.
func Judge(
	d *Design, cells []finding.Cell, comparisons []finding.Comparison, objective string, machineCPUs int,
) finding.BenchVerdict {
	works := d.standing(cells)
	cs := containers(d, works, cells, comparisons, objective, machineCPUs)
	unshown := slices.Concat(uncounted(cells), cannot(cells, machineCPUs), loads(works, cells, machineCPUs))
	v := verdictOf(works, cells, cs, objective, unshown)
	better, undecided := 0, 0
	for _, c := range cs {
		if best, ok := c.best(); ok && !c.chance() {
			better++
			v.Best = &best
		} else if c.fails != nil || c.few(c.judged().Metric) {
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
func Worse(d *Design, cells []finding.Cell, objective string, machineCPUs int) (bool, finding.BenchVerdict) {
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
	works := beside.standing(cells)
	cs := containers(&beside, works, cells, Compare(&beside, cells), objective, machineCPUs)
	worse := false
	for _, c := range cs {
		_, better := c.best()
		worse = worse || better
	}
	return worse, verdictOf(works, cells, cs, objective, uncounted(cells))
}
