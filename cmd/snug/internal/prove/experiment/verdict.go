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

// String is the arm in words, for messages.
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

// verdictOf is what was decided, of all containers and of each.
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

// judged is what was decided of a container.
func (c *container) judged() finding.Judged {
	j := finding.Judged{
		Code: finding.Kept, Baseline: c.baseline, Loads: len(c.loads), Fails: c.fails,
		Rounds: c.mostPairs, Least: c.least(),
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

// better notes a setting, and what it is better and worse in.
func (c *container) better(j *finding.Judged, s *setting) {
	j.Setting = &s.cells[0]
	j.Gain = c.headline(s)
	for _, p := range s.worse {
		j.Costs = append(j.Costs, *p)
	}
}

// few reports whether no difference, however large, can decide in so few rounds.
func (c *container) few() bool { return c.mostPairs > 0 && c.mostPairs < c.least() }

// least is how many rounds one can.
func (c *container) least() int {
	most := 1
	for _, n := range c.family {
		most = max(most, n)
	}
	return leastRounds(most)
}

// need is how many rounds would show a difference of the margin; 0: more do not help, or
// none was to be seen.
func (c *container) need() (rounds int, margin float64) {
	for _, s := range c.settings {
		for _, p := range s.objective {
			if p.Word == finding.NotShown && p.NeedN != nil && *p.NeedN > p.Pairs {
				rounds, margin = max(rounds, *p.NeedN, c.least()), p.Margin
			}
		}
	}
	return rounds, margin
}

// failing is the first setting that fails, or nil.
func (c *container) failing() *setting {
	for _, s := range c.settings {
		if s.broken != nil {
			return s
		}
	}
	return nil
}
