// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// container holds the settings measured in one container, and its baseline.
type container struct {
	base     finding.Arm // without its load
	baseline int         // index of one of its cells
	cells    []finding.Cell
	settings []*setting // in the order of the cells
	loads    map[string]bool
	order    []string         // metrics in which a setting may win, see kinds
	auto     bool             // the data say which metric decides
	waits    bool             // the baseline leaves CPU time unused under a closed loop
	fails    *finding.Failure // how the planned baseline fails; nil if no round of it failed
	replaced bool             // the baseline stands in for the planned one, see standing
	planned  []int            // cells of the planned baseline, if it is replaced
}

// setting is one setting in a container.
type setting struct {
	arm      finding.Arm           // without its load
	cells    []int                 // one for each load
	compared []*finding.Comparison // with the baseline
	broken   *finding.Failure      // how it fails; nil if it does not, or no more than the baseline
}

// containers groups cells and comparisons by the baseline that they are compared with.
// planned has the baselines of the design, and d those that work. It leaves out a
// container if the objective was not compared and nothing failed.
func containers(
	planned, d *Design, cells []finding.Cell, comparisons []finding.Comparison, objective string, machineCPUs int,
) []*container {
	var out []*container
	of := func(baseline int) *container {
		base := cells[baseline].Arm
		base.Load = ""
		for _, c := range out {
			if c.base == base {
				return c
			}
		}
		c := &container{base: base, baseline: baseline, cells: cells, loads: map[string]bool{}}
		out = append(out, c)
		return c
	}
	for i := range cells {
		b, ok := d.baseline(i)
		p, compared := planned.baseline(i)
		if !compared {
			p = i // a planned baseline
		}
		standIn := !ok && p != i // i is compared with nothing, because it stands in for p
		if standIn {
			b = i
		}
		if !ok && !standIn || len(valid(cells[i].Rounds)) == 0 || len(valid(cells[b].Rounds)) == 0 ||
			familyOf(planned.Arms[p]) != familyOf(planned.Arms[b]) && p != b {
			continue
		}
		c := of(b)
		c.loads[cells[i].Load] = true
		if p != b {
			c.replaced = true
			if !slices.Contains(c.planned, p) {
				c.planned = append(c.planned, p)
			}
		}
		if f := failuresOf(&cells[p]); c.fails == nil && f.lost() > 0 {
			c.fails = f.of(p)
		}
		if standIn {
			continue
		}
		s := c.setting(i)
		s.cells = append(s.cells, i)
		if c.fail(s, i, b); p == i && p != b && s.broken == nil {
			s.broken = failuresOf(&cells[p]).of(p) // the planned baseline, which fails under another load
		}
	}
	for _, c := range out {
		if c.replaced && c.fails == nil { // it fails operations only
			c.fails = failuresOf(&cells[c.planned[0]]).of(c.planned[0])
		}
	}
	for i := range comparisons {
		p := &comparisons[i]
		s := of(p.Baseline).setting(p.Cell)
		s.compared = append(s.compared, p)
	}
	return slices.DeleteFunc(out, func(c *container) bool {
		c.order = c.kinds(objective, machineCPUs)
		return len(c.order) == 0 || !c.replaced && c.fails == nil && !slices.ContainsFunc(c.settings, func(s *setting) bool {
			return s.broken != nil || slices.ContainsFunc(c.order, func(name string) bool { return len(s.in(name)) > 0 })
		})
	})
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

// in returns the comparisons of a setting in a metric, one for each load.
func (s *setting) in(name string) []*finding.Comparison {
	return slices.DeleteFunc(slices.Clone(s.compared),
		func(p *finding.Comparison) bool { return p.Metric != name || p.Benchmark != "" })
}

// largest returns the comparison in a metric with this word that is furthest from 1, over
// all loads and benchmarks; nil if there is none.
func (s *setting) largest(name, word string) *finding.Comparison {
	return furthest(s.compared, func(p *finding.Comparison) bool { return p.Metric == name && p.Word == word })
}

// furthest returns the comparison that is furthest from 1, of those that are meant; nil if
// none is.
func furthest(all []*finding.Comparison, meant func(*finding.Comparison) bool) *finding.Comparison {
	var found *finding.Comparison
	for _, p := range all {
		if meant(p) && (found == nil || math.Abs(math.Log(p.Ratio)) > math.Abs(math.Log(found.Ratio))) {
			found = p
		}
	}
	return found
}

// better reports whether a setting is shown to be better in a metric under some load. Its
// p-value is adjusted for the number of loads too (Bonferroni): a verdict looks at all of
// them. Of Go benchmarks only the geometric mean makes a setting better.
func (s *setting) better(name string) bool {
	all := s.in(name)
	return slices.ContainsFunc(all, func(p *finding.Comparison) bool {
		return p.Word == finding.Better && p.Adjusted*float64(len(all)) <= 1-confidence
	})
}

// wins reports whether a setting is better in a metric, and worse in it under no load and
// in no benchmark.
func (s *setting) wins(name string) bool {
	return s.better(name) && s.largest(name, finding.Worse) == nil
}

// blocked reports whether something keeps a setting from winning: it fails, or it is worse
// in a metric that counts. CPU per request is only a price for a setting that serves more,
// where the quota is not used up.
func (c *container) blocked(s *setting) bool {
	return s.broken != nil || slices.ContainsFunc(s.compared, func(p *finding.Comparison) bool {
		return p.Word == finding.Worse && c.blocks(p.Metric) && !(c.waits && p.Metric == metric.CPU && s.wins(metric.RPS))
	})
}

// winner returns the best of the settings that are better than the baseline, and the
// metric in which it is; nil if there is none.
func (c *container) winner() (*setting, string) {
	for _, name := range c.order {
		var better []*setting
		for _, s := range c.settings {
			if s.wins(name) && !c.blocked(s) {
				better = append(better, s)
			}
		}
		if w := c.fewest(better, name); w != nil {
			return w, name
		}
	}
	return nil, ""
}

// trade returns the best of the settings that are better than the baseline in a metric and
// blocked, and that metric; nil if there is none.
func (c *container) trade() (*setting, string) {
	for _, name := range c.order {
		var best *setting
		for _, s := range c.settings {
			if s.better(name) && c.blocked(s) && (best == nil || c.score(s, name) < c.score(best, name)) {
				best = s
			}
		}
		if best != nil {
			return best, name
		}
	}
	return nil, ""
}

// best returns the cell to recommend: the winner's or, if the planned baseline fails, that
// of the setting in its place. It is false if there is none.
func (c *container) best() (int, bool) {
	if w, name := c.winner(); w != nil {
		return w.gain(name).Cell, true
	}
	return c.baseline, c.replaced
}

// gain returns the comparison that shows most how much better a setting is in a metric; of
// Go benchmarks, their geometric mean.
func (s *setting) gain(name string) *finding.Comparison {
	return furthest(s.in(name), func(p *finding.Comparison) bool { return p.Word == finding.Better })
}

// score is the mean logarithm of a metric's ratio over loads; less is better.
func (c *container) score(s *setting, name string) float64 {
	sum, all := 0.0, s.in(name)
	for _, p := range all {
		sum += math.Log(p.Ratio)
	}
	if metric.MetricOf(name).More {
		sum = -sum
	}
	return sum / float64(len(all))
}
