// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"fmt"
	"math"
	"slices"
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

// verdictText is the verdict in one line.
func verdictText(d *Design, cells []finding.Cell, cs []*container, objective string) string {
	lost := uncountedText(cells)
	if n, of, _ := Uncounted(rawRuns(cells)); n == of && n > 0 {
		return "no verdict: " + lost
	}
	if len(cs) == 0 {
		if text := lawText(cells); text != "" {
			return text
		}
		name, _ := metricOf(objective)
		for i := range d.Arms {
			if _, ok := d.baseline(i); ok {
				text := "no verdict: " + metric.Called(name) + " was not measured side by side"
				if lost != "" {
					text += "; " + lost
				}
				return text
			}
		}
		return "no verdict: one setting alone, nothing to compare it with"
	}
	if len(cs) == 1 {
		c := cs[0]
		text := c.keep() + ": " + c.why()
		if w := c.winner(); w != nil {
			text = c.claim(w, true) + notExcluded(cs)
		} else if c.fails != "" {
			text = "no verdict: " + c.noneSpared()
		} else if c.few() {
			text = "no verdict: " + c.tooFew()
		}
		return text + c.sameValue()
	}
	var won, failing, kept []string
	var few []*container
	trades := 0
	for _, c := range cs {
		if w := c.winner(); w != nil {
			won = append(won, where(c, cs)+" "+c.claim(w, false))
			continue
		}
		if c.fails != "" {
			failing = append(failing, "no verdict "+where(c, cs)+": "+c.noneSpared())
			continue
		}
		if c.few() {
			few = append(few, c)
			continue
		}
		kept = append(kept, where(c, cs))
		if c.trade() != nil {
			trades++
		}
	}
	if len(few) == len(cs) {
		return "no verdict: " + few[0].tooFew()
	}
	for _, c := range few {
		failing = append(failing, "no verdict "+where(c, cs)+": "+c.tooFew())
	}
	if len(won) > 0 {
		won[len(won)-1] += notExcluded(cs)
	}
	says := append(won, failing...)
	if len(kept) > 0 {
		text := "keep the " + cs[0].baseName() + " " + units.List(kept)
		switch {
		case trades > 0:
			text += ": nothing measured beats it without a cost"
		case len(won) == 0:
			text += ": nothing measured beats it beyond noise"
		}
		says = append(says, text)
	}
	return strings.Join(says, "; ")
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

// claim is what a setting is better in: GOMAXPROCS=1 costs 12 % (8 to 14 %) less
// CPU per request than the default, GOMAXPROCS=2. Of one that is spared where the
// baseline fails it is that, and what it costs.
func (c *container) claim(s *setting, procs bool) string {
	p := c.headline(s)
	if s.spared != "" {
		not := " does not"
		if strings.HasPrefix(s.spared, "is ") {
			not = " is not"
		}
		text := "the " + c.baseName() + " " + s.spared + "; " + c.settingName(s) + not
		if len(s.worse) > 0 {
			text += ", but " + c.phrase(s.worse[0], false)
		} else if p != nil {
			text += ", and " + c.phrase(p, true)
		}
		return text
	}
	text := c.settingName(s) + " " + c.phrase(p, true) + " than the " + c.baseName()
	if n := c.cells[p.Baseline].Procs; procs && n != nil && c.base.GOMAXPROCS == "" {
		text += ", GOMAXPROCS=" + strconv.Itoa(*n)
	}
	return text
}

// noneSpared is why there is no verdict where the baseline fails.
func (c *container) noneSpared() string {
	return "the " + c.baseName() + " " + c.fails + ", and no other setting is shown to be spared"
}

// tooFew is why there is no verdict where no difference could show.
func (c *container) tooFew() string {
	return fmt.Sprintf("%s cannot show a difference, however large; %d are the least", units.Plural(c.mostPairs, "round"), c.least())
}

// manyRounds is from where on nobody would do so many.
const manyRounds = 1000

// why is the reason to keep the baseline.
func (c *container) why() string {
	if s := c.trade(); s != nil {
		p := c.headline(s)
		but := s.broken
		if but == "" {
			but = c.phrase(s.worse[0], false)
		}
		return c.settingName(s) + " " + c.phrase(p, true) + " but " + but + ": a trade, not a win"
	}
	need, margin := 0, 0.0
	for _, s := range c.settings {
		for _, p := range s.objective {
			if p.Word == finding.NotShown && p.NeedN != nil && *p.NeedN > p.Pairs {
				need, margin = max(need, *p.NeedN, c.least()), p.Margin
			}
		}
	}
	text := "nothing measured beats it beyond noise"
	if s := c.failing(); s != nil {
		text = c.settingName(s) + " " + s.broken + ", and " + text
	}
	switch {
	case need > manyRounds:
		text += fmt.Sprintf("; to see %s takes over %d rounds, not in practice", units.About(margin), manyRounds)
	case need > 0:
		text += fmt.Sprintf("; to see %s takes about %d rounds", units.About(margin), need)
	}
	return text
}

// failing is the first setting that fails, or nil.
func (c *container) failing() *setting {
	for _, s := range c.settings {
		if s.broken != "" {
			return s
		}
	}
	return nil
}

// keep is: keep the default (GOMAXPROCS=2).
func (c *container) keep() string {
	text := "keep the " + c.baseName()
	base := c.baseCell()
	if n := base.Procs; n != nil && c.base.GOMAXPROCS == "" {
		return text + " (GOMAXPROCS=" + strconv.Itoa(*n) + ")"
	}
	if s := metric.SettingText(c.base); s != metric.GoDefault {
		text += " (" + s + ")"
	}
	return text
}

// sameValue says that one row is both, where it is.
func (c *container) sameValue() string {
	base := c.baseCell()
	if !slices.Contains(base.Labels, LabelDefault) || !slices.Contains(base.Labels, LabelSnug) {
		return ""
	}
	text := "; Go's default and snug's value are the same here"
	if base.Procs != nil {
		text += fmt.Sprintf(" (%d)", *base.Procs)
	}
	return text
}

func (c *container) baseCell() *finding.Cell { return &c.cells[c.baseline] }

func (c *container) baseName() string { return baseName(c.baseCell()) }

// baseName is what a baseline is called.
func baseName(c *finding.Cell) string {
	for _, l := range []string{LabelDefault, LabelCurrent} {
		if slices.Contains(c.Labels, l) {
			if l == LabelCurrent {
				return "current setting"
			}
			return "default"
		}
	}
	return "baseline"
}

// settingName names a setting beside its baseline.
func (c *container) settingName(s *setting) string {
	name := metric.SettingText(s.arm)
	if s.arm.Workload != c.base.Workload {
		name = s.arm.Workload + " with " + name
	}
	if slices.Contains(c.cells[s.cells[0]].Labels, LabelSnug) {
		name = "snug's " + name
	}
	return name
}

// where is where a container differs from others: at 0.5 CPUs.
func where(c *container, all []*container) string {
	var workload, quota, memory bool
	for _, o := range all {
		workload = workload || o.base.Workload != c.base.Workload
		quota = quota || o.base.Quota != c.base.Quota
		memory = memory || o.base.Memory != c.base.Memory
	}
	var parts []string
	if workload {
		parts = append(parts, "for "+c.base.Workload)
	}
	if quota {
		parts = append(parts, "at "+units.CPUs(c.base.Quota))
	}
	if memory && c.base.Memory > 0 {
		parts = append(parts, "with "+plan.Bytes(c.base.Memory))
	} else if memory {
		parts = append(parts, "without a memory limit")
	}
	return strings.Join(parts, " ")
}

// phrase is a comparison in words: costs 12 % (8 to 14 %) less CPU per request,
// and where there are several loads, under which.
func (c *container) phrase(p *finding.Comparison, interval bool) string {
	arm := c.cells[p.Cell].Arm
	size := change(p.Ratio)
	if interval && p.Low != nil && p.High != nil {
		a, b := math.Abs(*p.Low-1), math.Abs(*p.High-1)
		size += fmt.Sprintf(" (%s to %s)", strings.TrimSuffix(units.About(min(a, b)), " %"), units.About(max(a, b)))
	}
	less, lower := " more", " higher"
	if p.Ratio < 1 {
		less, lower = " less", " lower"
	}
	text := "needs " + size + less + " memory"
	switch p.Metric {
	case metric.CPU:
		text = "costs " + size + less + " CPU per " + metric.Operation(arm)
	case metric.RPS:
		text = "serves " + size + less
	case metric.Wall:
		text = "takes " + size + less + " time"
	case metric.P50:
		text = "has a " + size + lower + " P50"
	case metric.P99:
		text = "has a " + size + lower + " P99"
	}
	if len(c.loads) > 1 {
		text += " " + under(arm.Load)
	}
	return text
}

// under is a load in words.
func under(load string) string {
	switch {
	case strings.HasSuffix(load, "users"):
		return "with " + load
	case strings.HasSuffix(load, "%"):
		return "at " + load + " load"
	case strings.HasSuffix(load, "/s"):
		return "at " + load
	}
	return "when " + load
}
