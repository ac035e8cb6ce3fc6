// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
)

// String formats the arm for messages.
func (a Arm) String() string {
	parts := []string{a.Workload}
	if a.Quota > 0 {
		parts = append(parts, units.CPUs(a.Quota))
	}
	if a.Memory > 0 {
		parts = append(parts, plan.Bytes(a.Memory))
	}
	parts = append(parts, metric.SettingText(a.Arm), a.Load)
	if a.Rate > 0 && !strings.HasSuffix(a.Load, "/s") {
		parts = append(parts, strconv.FormatFloat(a.Rate, 'g', 6, 64)+"/s")
	}
	return strings.Join(parts, ", ")
}

// verdictOf returns the verdict on each container and on all of them.
func verdictOf(d *Design, cells []finding.Cell, cs []*container, objective string, unshown []finding.Unshown) finding.BenchVerdict {
	name, _ := metricOf(objective)
	v := finding.BenchVerdict{Cannot: []string{}, Metric: name, Unshown: unshown}
	if n, of, _ := Uncounted(rawRuns(cells)); n == of && n > 0 {
		v.Code = finding.CodeUncounted
		return v
	}
	if len(cs) > 0 {
		for _, c := range cs {
			v.Judged = append(v.Judged, c.judged())
		}
		risks(&v, cs)
		return v
	}
	if v.Law = stallTest(cells); v.Law != nil {
		v.Code = finding.CodeLaw
		return v
	}
	v.Code = finding.CodeAlone
	for i := range d.Arms {
		if _, ok := d.baseline(i); ok {
			v.Code = finding.CodeNotCompared
		}
	}
	return v
}

// judged returns the verdict on a container.
func (c *container) judged() finding.Judged {
	j := finding.Judged{
		Code: finding.Kept, Baseline: c.baseline, Loads: len(c.loads), Fails: c.fails,
		Rounds: c.maxPairs, Least: c.minRounds(),
	}
	if w := c.winner(); w != nil {
		j.Code = finding.Won
		if w.spared != nil {
			j.Code, j.Fails = finding.Spared, w.spared
		}
		c.better(&j, w)
		return j
	}
	switch t := c.trade(); {
	case c.fails != nil:
		j.Code = finding.NoneSpared
	case c.few():
		j.Code = finding.TooFew
	case t != nil:
		j.Code, j.Failing = finding.Traded, t.broken
		c.better(&j, t)
	default:
		j.Need, j.Margin = c.need()
		if s := c.failing(); s != nil {
			j.Failing = s.broken
		}
	}
	return j
}

// better records a setting, and the metrics in which it is better and worse.
func (c *container) better(j *finding.Judged, s *setting) {
	j.Setting = &s.cells[0]
	j.Gain = c.headline(s)
	for _, p := range s.worse {
		j.Costs = append(j.Costs, *p)
	}
}

// few reports whether there are too few rounds to show any difference, however large.
func (c *container) few() bool { return c.maxPairs > 0 && c.maxPairs < c.minRounds() }

// minRounds returns how many rounds are needed to show any difference.
func (c *container) minRounds() int {
	largest := 1
	for _, n := range c.family {
		largest = max(largest, n)
	}
	return minRounds(largest)
}

// need returns how many rounds would show a difference of the margin. 0: more rounds do
// not help, or no figure suggested a difference.
func (c *container) need() (rounds int, margin float64) {
	for _, s := range c.settings {
		for _, p := range s.objective {
			if p.Word == finding.NotShown && p.NeedN != nil && *p.NeedN > p.Pairs {
				rounds, margin = max(rounds, *p.NeedN, c.minRounds()), p.Margin
			}
		}
	}
	return rounds, margin
}

// failing returns the first setting that fails, or nil.
func (c *container) failing() *setting {
	for _, s := range c.settings {
		if s.broken != nil {
			return s
		}
	}
	return nil
}
