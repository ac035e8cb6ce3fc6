// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
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
func verdictOf(
	d *Design, cells []finding.Cell, cs []*container, objective string, unshown []finding.Unshown,
) finding.BenchVerdict {
	name, _ := MetricOf(objective)
	v := finding.BenchVerdict{Cannot: []string{}, Metric: name, Unshown: unshown}
	if n, of, _ := Uncounted(rawRuns(cells)); n == of && n > 0 {
		v.Code = finding.CodeUncounted
		return v
	}
	if len(cs) > 0 {
		for _, c := range cs {
			v.Judged = append(v.Judged, c.judged())
		}
		if v.Metric == "" {
			v.Metric = v.Judged[0].Metric
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
			if objective == None {
				v.Code = finding.CodeNotAsked
			}
		}
	}
	return v
}

// judged returns the verdict on a container.
func (c *container) judged() finding.Judged {
	name := c.order[0]
	for _, k := range c.order { // the first that was measured
		if c.pairs(k) > 0 {
			name = k
			break
		}
	}
	j := finding.Judged{
		Code: finding.Kept, Baseline: c.baseline, Loads: len(c.loads), Metric: name, Settings: c.compared(name),
		Fails:  c.fails,
		Rounds: c.pairs(name), Least: c.minRounds(name), Chance: c.chance(),
	}
	if w, by := c.winner(); w != nil {
		j.Code = finding.Won
		if c.replaced {
			j.Code = finding.Spared
		}
		c.better(&j, w, by)
		return j
	}
	t, by := c.trade()
	switch {
	case c.replaced:
		j.Code, j.Setting = finding.Spared, &c.baseline
		j.Others, j.Costs = c.others(nil), c.price()
	case c.fails != nil:
		j.Code = finding.NoneSpared
	case c.few(name):
		j.Code = finding.TooFew
	case t != nil:
		j.Code, j.Failing = finding.Traded, t.broken
		c.better(&j, t, by)
	default:
		j.Need, j.Margin = c.need(name)
		if s := c.failing(); s != nil {
			j.Failing = s.broken
		}
	}
	return j
}

// compared counts the settings that were compared with the baseline in a metric. Beside a
// setting that stands in, only those that do not fail count.
func (c *container) compared(name string) int {
	n := 0
	for _, s := range c.settings {
		if len(s.in(name)) > 0 && !(c.replaced && s.broken != nil) {
			n++
		}
	}
	return n
}

// chance reports whether so few failures of the planned baseline, and none of the setting
// in its place, are no more than chance explains. The p-value is multiplied by the number
// of settings that could have taken its place.
func (c *container) chance() bool {
	if !c.replaced || c.fails.Rounds == 0 {
		return false
	}
	p := stats.AllInOne(c.fails.Rounds, c.fails.Of, failuresOf(&c.cells[c.baseline]).rounds)
	return p*float64(max(1, len(c.settings))) > 1-confidence
}

// price returns in what the setting that stands in is worse than the planned baseline,
// under the loads under which both work.
func (c *container) price() []finding.Comparison {
	var out []finding.Comparison
	at := map[string]int{}
	for i := range c.cells {
		a := c.cells[i].Arm
		if a.Load = ""; a == c.base {
			at[c.cells[i].Load] = i
		}
	}
	for _, p := range c.planned {
		i, ok := at[c.cells[p].Load]
		if f := failuresOf(&c.cells[p]); !ok || f.lost() > 0 || f.ratio > errorMargin {
			continue
		}
		for _, m := range metrics {
			if !m.on(&c.cells[p]) {
				continue
			}
			r := stats.ComparePaired(pairs(c.cells[p], c.cells[i], m.Run))
			if stats.Judge(r, r.P*float64(len(c.planned)), m.margin, !m.More) == finding.Worse {
				out = append(out, finding.Comparison{
					Cell: i, Baseline: p, Metric: m.Key, Pairs: r.N, Ratio: r.Ratio, Low: &r.Interval.Low, High: &r.Interval.High,
					P: r.P, Adjusted: min(1, r.P*float64(len(c.planned))), Word: finding.Worse, Margin: m.margin,
				})
			}
		}
	}
	return out
}

// better records a setting, the metric that decides for it, and all others in which it is
// better or worse.
func (c *container) better(j *finding.Judged, s *setting, by string) {
	j.Metric, j.Setting, j.Gain = by, &s.cells[0], s.gain(by)
	j.Rounds, j.Least = c.pairs(by), c.minRounds(by)
	for _, name := range told {
		if p := s.gain(name); p != nil && name != by && s.wins(name) {
			j.Also = append(j.Also, *p)
		}
	}
	j.Costs = costs(s)
	if j.Code != finding.Traded {
		j.Others = c.others(s)
	}
}

// costs returns, for each metric in which a setting is worse, the largest difference.
func costs(s *setting) []finding.Comparison {
	var out []finding.Comparison
	seen := map[string]bool{}
	for _, p := range s.compared {
		if p.Word == finding.Worse && !seen[p.Metric] {
			seen[p.Metric] = true
			out = append(out, *s.largest(p.Metric, finding.Worse))
		}
	}
	return out
}

// told lists the metrics in which a gain is reported, in this order: one for each kind.
var told = []string{metric.RPS, metric.Wall, metric.P99, metric.CPU, metric.Peak}

// maxOthers bounds how many settings are named beside the one that wins.
const maxOthers = 2

// others returns the settings that win something else: in another metric they are better
// than the baseline, and shown to be better than the winner. Without a winner, the
// baseline is the one to beat.
func (c *container) others(winner *setting) []finding.Other {
	var out []finding.Other
	if !c.auto { // the objective decides alone
		return nil
	}
	for _, name := range told {
		var better []*setting
		for _, s := range c.settings {
			if s != winner && s.broken == nil && s.wins(name) {
				better = append(better, s)
			}
		}
		s := c.fewest(better, name)
		if s == nil || len(out) == maxOthers || winner != nil && !c.beats(s, winner, name, len(better)) ||
			slices.ContainsFunc(out, func(o finding.Other) bool { return o.Setting == s.cells[0] }) {
			continue
		}
		out = append(out, finding.Other{Setting: s.cells[0], Gain: *s.gain(name), Costs: costs(s)})
	}
	return out
}

// pairs returns the largest number of rounds compared in a metric.
func (c *container) pairs(name string) int {
	n := 0
	for _, s := range c.settings {
		for _, p := range s.in(name) {
			n = max(n, p.Pairs)
		}
	}
	return n
}

// few reports whether there are too few rounds to show any difference, however large.
func (c *container) few(name string) bool {
	n := c.pairs(name)
	return n > 0 && n < c.minRounds(name)
}

// minRounds returns how many rounds are needed to show any difference in a metric, under
// any of the loads.
func (c *container) minRounds(name string) int {
	n := 0
	for _, s := range c.settings {
		n += len(s.in(name))
	}
	return minRounds(max(1, n))
}

// need returns how many rounds would show a difference of the margin. 0: more rounds do
// not help, or no figure suggested a difference.
func (c *container) need(name string) (rounds int, margin float64) {
	for _, s := range c.settings {
		for _, p := range s.in(name) {
			if p.Word == finding.NotShown && p.NeedN != nil && *p.NeedN > p.Pairs {
				rounds, margin = max(rounds, *p.NeedN, c.minRounds(name)), p.Margin
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
