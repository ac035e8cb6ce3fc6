// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

// metricOf is the metric that an objective is judged by: cpu, rps, wall, p50, p99
// or memory. It is false for any other word.
func metricOf(objective string) (name string, ok bool) {
	name, ok = map[string]string{
		"cpu": metricCPU, "rps": metricRPS, "wall": metricWall,
		"p50": metricP50, "p99": metricP99, "memory": metricPeak,
	}[objective]
	return name, ok
}

// guarded are the metrics that a better setting must not be worse in. P50 is among
// them because a queue behind too few Ps shows there first: with one P of a
// 1-CPU quota half of all requests wait, and the tail need not be longer.
var guarded = map[string]bool{metricCPU: true, metricRPS: true, metricWall: true, metricP50: true, metricP99: true}

// errorMargin is how much the share of failed operations may rise.
const errorMargin = 0.001

// Judge answers what to set. A setting, that is knobs and burst under whatever
// loads they were measured, is better than the baseline's when the objective is
// better under some load, and neither it nor a guarded metric (CPU, throughput, P50,
// P99, wall time, failed operations, OOM kills) is worse under any. Of several,
// the best is the one with the least ratio of the objective, averaged over loads.
//
// Containers (workload, quota and memory limit) are judged one by one. Best is
// set when just one of them has a better setting, to the first cell of it in
// which the objective is better; Keep when none has. Where the objective was not
// measured beside a baseline neither is set, and the text says so.
//
// machineCPUs is how many CPUs programs could use, for what could not be shown.
func Judge(d *Design, cells []finding.Cell, comparisons []finding.Comparison, objective string, machineCPUs int) finding.BenchVerdict {
	v := finding.BenchVerdict{Cannot: cannot(cells, machineCPUs)}
	cs := containers(cells, comparisons, objective)
	better := 0
	for _, c := range cs {
		if w := c.winner(); w != nil {
			better++
			v.Best = &c.headline(w).Cell
		}
	}
	if better != 1 {
		v.Best = nil
	}
	v.Keep = better == 0 && len(cs) > 0
	v.Text = verdictText(d, cells, cs, objective)
	return v
}

// Worse reports whether the setting labelled current, or default where there is
// none, is worse than another: whether one that was measured is better than it,
// as Judge means it. The text is one line, whichever it is.
func Worse(d *Design, cells []finding.Cell, objective string) (bool, string) {
	label := LabelDefault
	for _, a := range d.Arms {
		if a.Is(LabelCurrent) {
			label = LabelCurrent
		}
	}
	root := func(i int) int {
		if b, ok := d.baseline(i); ok {
			return b
		}
		return i
	}
	beside := *d
	beside.Against = func(arms []Arm, i int) (int, bool) {
		for j, a := range arms {
			if a.Is(label) && root(j) == root(i) {
				return j, j != i
			}
		}
		return 0, false
	}
	cs := containers(cells, Compare(&beside, cells), objective)
	worse := false
	for _, c := range cs {
		worse = worse || c.winner() != nil
	}
	return worse, verdictText(&beside, cells, cs, objective)
}

// container is the settings that were measured in one container, beside its
// baseline.
type container struct {
	base      finding.Arm // without its load
	cells     []finding.Cell
	metric    string
	settings  []*setting // in the order of the cells
	loads     map[string]bool
	mostPairs int // of any of the objective's comparisons
}

// setting is one of them.
type setting struct {
	arm       finding.Arm           // without its load
	objective []*finding.Comparison // one for each load
	worse     []*finding.Comparison // what it is worse in
	broken    string                // failed operations or OOM kills, in words; "" when no more than the baseline's
}

// containers sorts comparisons. It leaves out containers in which the objective
// was not compared.
func containers(cells []finding.Cell, comparisons []finding.Comparison, objective string) []*container {
	name, _ := metricOf(objective)
	var out []*container
	for i := range comparisons {
		p := &comparisons[i]
		base := cells[p.Baseline].Arm
		base.Load = ""
		var c *container
		for _, o := range out {
			if o.base == base {
				c = o
			}
		}
		if c == nil {
			c = &container{base: base, cells: cells, metric: name, loads: map[string]bool{}}
			out = append(out, c)
		}
		c.add(p)
	}
	measured := out[:0]
	for _, c := range out {
		for _, s := range c.settings {
			if len(s.objective) > 0 {
				measured = append(measured, c)
				break
			}
		}
	}
	return measured
}

func (c *container) add(p *finding.Comparison) {
	cell, base := &c.cells[p.Cell], &c.cells[p.Baseline]
	c.loads[cell.Load] = true
	arm := cell.Arm
	arm.Load = ""
	var s *setting
	for _, o := range c.settings {
		if o.arm == arm {
			s = o
		}
	}
	if s == nil {
		s = &setting{arm: arm}
		c.settings = append(c.settings, s)
	}
	if p.Metric == c.metric {
		s.objective = append(s.objective, p)
		c.mostPairs = max(c.mostPairs, p.Pairs)
	}
	if p.Word == finding.Worse && (guarded[p.Metric] || p.Metric == c.metric) {
		s.worse = append(s.worse, p)
	}
	if or(cell.OOMKills) > or(base.OOMKills) {
		s.broken = "is killed for want of memory"
	} else if s.broken == "" && or(cell.ErrorRate) > or(base.ErrorRate)+errorMargin {
		s.broken = "fails " + percent(*cell.ErrorRate) + " of its " + operation(cell.Arm) + "s"
	}
}

// winner is the best of the settings that are better than the baseline, or nil.
func (c *container) winner() *setting {
	return c.best(func(s *setting) bool { return len(s.worse) == 0 && s.broken == "" })
}

// trade is the best of those that are better in the objective and worse in
// something else, or nil.
func (c *container) trade() *setting {
	return c.best(func(s *setting) bool { return len(s.worse) > 0 || s.broken != "" })
}

func (c *container) best(among func(*setting) bool) *setting {
	var best *setting
	least := math.Inf(1)
	for _, s := range c.settings {
		if c.headline(s) == nil || !among(s) {
			continue
		}
		if r := c.score(s); r < least {
			best, least = s, r
		}
	}
	return best
}

// headline is the first comparison in which the setting's objective is better.
func (c *container) headline(s *setting) *finding.Comparison {
	for _, p := range s.objective {
		if p.Word == finding.Better {
			return p
		}
	}
	return nil
}

// score is the mean logarithm of the objective's ratio over loads; less is better.
func (c *container) score(s *setting) float64 {
	sum := 0.0
	for _, p := range s.objective {
		sum += math.Log(p.Ratio)
	}
	for _, m := range metrics {
		if m.name == c.metric && m.higher {
			sum = -sum
		}
	}
	return sum / float64(len(s.objective))
}
