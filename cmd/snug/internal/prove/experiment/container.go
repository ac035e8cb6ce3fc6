// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// container is the settings that were measured in one container, beside its
// baseline.
type container struct {
	base      finding.Arm // without its load
	baseline  int         // a cell of it
	cells     []finding.Cell
	metric    string
	settings  []*setting // in the order of the cells
	loads     map[string]bool
	mostPairs int              // of any of the objective's comparisons
	family    map[int]int      // how many of those there are, by baseline: one for each load
	fails     *finding.Failure // how the baseline does; nil when no round of it failed
}

// setting is one of a container.
type setting struct {
	arm       finding.Arm           // without its load
	cells     []int                 // one for each load
	objective []*finding.Comparison // one for each load that has it
	guarded   []*finding.Comparison // what it must not be worse in, the objective among them
	worse     []*finding.Comparison // those of guarded that it is worse in
	broken    *finding.Failure      // how it fails; nil when it does not, or no more than the baseline
	spared    *finding.Failure      // how the baseline fails where this one does not
	sparedAt  int                   // cell of that
}

// containers sorts cells and comparisons. It leaves out containers in which
// neither the objective was compared nor anything failed.
func containers(d *Design, cells []finding.Cell, comparisons []finding.Comparison, objective string) []*container {
	name, _ := metricOf(objective)
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

// setting is that of a cell.
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
	if p.Metric == c.metric {
		s.objective = append(s.objective, p)
		c.mostPairs = max(c.mostPairs, p.Pairs)
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

// winner is the best of the settings that are better than the baseline, or nil.
// One that is spared where the baseline fails is better than any other.
func (c *container) winner() *setting {
	for _, cost := range []bool{false, true} {
		var best *setting
		least := math.Inf(1)
		for _, s := range c.settings {
			if s.spared == nil || s.broken != nil || len(s.worse) > 0 != cost {
				continue
			}
			if x := c.median(s); best == nil || x < least {
				best, least = s, x
			}
		}
		if best != nil {
			return best
		}
	}
	return c.best(func(s *setting) bool { return len(s.worse) == 0 && s.broken == nil })
}

// trade is the best of those that are better in the objective and worse in
// something else, or nil.
func (c *container) trade() *setting {
	return c.best(func(s *setting) bool { return len(s.worse) > 0 || s.broken != nil })
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

// cell is the one in which a setting is better.
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

// median is the mean logarithm of the objective itself over loads, for settings
// that cannot be compared with the baseline; less is better. +Inf: not measured.
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

// sign turns the objective so that less is better.
func (c *container) sign() float64 {
	if metric.MetricOf(c.metric).More {
		return -1
	}
	return 1
}
