// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// container holds the settings measured in one container, and its baseline.
type container struct {
	base     finding.Arm // without its load
	baseline int         // index of one of its cells
	cells    []finding.Cell
	metric   string
	settings []*setting // in the order of the cells
	loads    map[string]bool
	maxPairs int              // maximum over the objective's comparisons
	family   map[int]int      // number of those comparisons, by baseline: one for each load
	fails    *finding.Failure // how the baseline fails; nil if no round of it failed
}

// setting is one setting in a container.
type setting struct {
	arm       finding.Arm           // without its load
	cells     []int                 // one for each load
	objective []*finding.Comparison // one for each load that has the metric
	guarded   []*finding.Comparison // comparisons of the objective and the guarded metrics
	worse     []*finding.Comparison // those of guarded in which it is worse
	broken    *finding.Failure      // how it fails; nil if it does not, or no more than the baseline
	spared    *finding.Failure      // how the baseline fails where this setting does not
	sparedAt  int                   // cell of spared
}

// containers groups cells and comparisons. It leaves out a container if the objective was
// not compared and nothing failed.
func containers(d *Design, cells []finding.Cell, comparisons []finding.Comparison, objective string) []*container {
	name, ok := metricOf(objective)
	if !ok {
		return nil
	}
	var out []*container
	of := func(baseline int) *container {
		base := cells[baseline].Arm
		base.Load = ""
		for _, c := range out {
			if c.base == base {
				return c
			}
		}
		c := &container{base: base, baseline: baseline, cells: cells, metric: name, loads: map[string]bool{}, family: map[int]int{}}
		out = append(out, c)
		return c
	}
	measured := func(i int) (b int, ok bool) {
		if b, ok = d.baseline(i); !ok {
			return 0, false
		}
		return b, len(valid(cells[i].Rounds)) > 0 && len(valid(cells[b].Rounds)) > 0
	}
	for i := range cells {
		if b, ok := measured(i); ok {
			c := of(b)
			c.loads[cells[i].Load] = true
			s := c.setting(i)
			s.cells = append(s.cells, i)
		}
	}
	for i := range cells {
		if b, ok := measured(i); ok {
			c := of(b)
			c.fail(c.setting(i), i, b)
		}
	}
	for i := range comparisons {
		c := of(comparisons[i].Baseline)
		c.add(&comparisons[i])
	}
	kept := out[:0]
	for _, c := range out {
		for _, s := range c.settings {
			if len(s.objective) > 0 || s.broken != nil || s.spared != nil {
				kept = append(kept, c)
				break
			}
		}
	}
	return kept
}

// setting returns the setting of a cell, and adds it if it is new.
func (c *container) setting(cell int) *setting {
	arm := c.cells[cell].Arm
	arm.Load = ""
	for _, s := range c.settings {
		if s.arm == arm {
			return s
		}
	}
	s := &setting{arm: arm}
	c.settings = append(c.settings, s)
	return s
}

func (c *container) add(p *finding.Comparison) {
	s := c.setting(p.Cell)
	if p.Metric == c.metric && p.Benchmark == "" {
		s.objective = append(s.objective, p)
		c.maxPairs = max(c.maxPairs, p.Pairs)
		c.family[p.Baseline]++
	}
	if !guarded[p.Metric] && p.Metric != c.metric {
		return
	}
	s.guarded = append(s.guarded, p)
	if p.Word == finding.Worse {
		s.worse = append(s.worse, p)
	}
}

// winner returns the best of the settings that are better than the baseline, or nil. A
// setting that works where the baseline fails beats any other.
func (c *container) winner() *setting {
	for _, cost := range []bool{false, true} {
		var best *setting
		lowest := math.Inf(1)
		for _, s := range c.settings {
			if s.spared == nil || s.broken != nil || len(s.worse) > 0 != cost {
				continue
			}
			if x := c.median(s); best == nil || x < lowest {
				best, lowest = s, x
			}
		}
		if best != nil {
			return best
		}
	}
	return c.best(func(s *setting) bool { return len(s.worse) == 0 && s.broken == nil })
}

// trade returns the best of the settings that are better in the objective and worse in
// something else, or nil.
func (c *container) trade() *setting {
	return c.best(func(s *setting) bool { return len(s.worse) > 0 || s.broken != nil })
}

func (c *container) best(among func(*setting) bool) *setting {
	var best *setting
	lowest := math.Inf(1)
	for _, s := range c.settings {
		if c.headline(s) == nil || !among(s) {
			continue
		}
		if r := c.score(s); r < lowest {
			best, lowest = s, r
		}
	}
	return best
}

// headline returns the first comparison in which the setting's objective is better.
func (c *container) headline(s *setting) *finding.Comparison {
	for _, p := range s.objective {
		if p.Word == finding.Better {
			return p
		}
	}
	return nil
}

// cell returns the cell in which a setting is better.
func (c *container) cell(s *setting) int {
	if s.spared != nil {
		return s.sparedAt
	}
	return c.headline(s).Cell
}

// score is the mean logarithm of the objective's ratio over loads; less is better.
func (c *container) score(s *setting) float64 {
	sum := 0.0
	for _, p := range s.objective {
		sum += math.Log(p.Ratio)
	}
	return c.sign() * sum / float64(len(s.objective))
}

// median returns the mean logarithm of the objective itself over loads, for settings that
// cannot be compared with the baseline; less is better. +Inf is unknown.
func (c *container) median(s *setting) float64 {
	sum := 0.0
	for _, i := range s.cells {
		v := metric.MetricOf(c.metric).Of(&c.cells[i])
		if v == nil {
			return math.Inf(1)
		}
		sum += math.Log(*v)
	}
	return c.sign() * sum / float64(len(s.cells))
}

// sign returns the factor that makes less of the objective better.
func (c *container) sign() float64 {
	if metric.MetricOf(c.metric).More {
		return -1
	}
	return 1
}
