// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// notExcluded is what winners could be worse in for all that was shown: the bad
// ends of intervals that lie beyond the margin, the worst two metrics, measured in
// margins. "not shown" is not "not worse". Where latencies of a service were not
// measured, because it was never under an open loop, it says that as well; "" when
// there is nothing of it to say.
func notExcluded(cs []*container) string {
	type risk struct {
		text string
		size float64 // in margins
	}
	worst := map[string]risk{}
	tails, few := true, false
	for _, c := range cs {
		w := c.winner()
		if w == nil {
			continue
		}
		tails = tails && c.tails()
		for _, p := range w.guarded {
			if p.Word != finding.NotShown {
				continue
			}
			if p.Low == nil || p.High == nil {
				few = true
				continue
			}
			bad, how, sign := *p.High, "higher", 1.0
			if metric.MetricOf(p.Metric).More {
				bad, how, sign = *p.Low, "lower", -1
			}
			r := risk{c.noun(p) + " could be up to " + change(bad) + " " + how, sign * math.Log(bad) / math.Log1p(p.Margin)}
			if r.size <= 1 {
				continue
			}
			if len(c.loads) > 1 {
				r.text += " " + under(c.cells[p.Cell].Load)
			}
			if len(cs) > 1 {
				r.text += " " + where(c, cs)
			}
			if r.size > worst[p.Metric].size {
				worst[p.Metric] = r
			}
		}
	}
	var risks []risk
	for _, m := range metrics {
		if r, ok := worst[m.Key]; ok {
			risks = append(risks, r)
		}
	}
	slices.SortStableFunc(risks, func(a, b risk) int {
		switch {
		case a.size > b.size:
			return -1
		case a.size < b.size:
			return 1
		}
		return 0
	})
	var texts []string
	if few {
		texts = append(texts, "too few rounds to show what it costs")
	}
	for _, r := range risks[:min(2, len(risks))] {
		texts = append(texts, r.text)
	}
	if !tails {
		texts = append(texts, "tails were not measured")
	}
	if len(texts) == 0 {
		return ""
	}
	return "; " + strings.Join(texts, ", ")
}

// tails reports whether latencies were measured, or there are none to measure: a
// batch has none.
func (c *container) tails() bool {
	closed, open := false, false
	for i := range c.cells {
		arm := c.cells[i].Arm
		if !c.loads[arm.Load] {
			continue
		}
		open = open || tails(arm)
		closed = closed || closedLoop(arm)
	}
	return open || !closed
}

// noun is what a comparison is of.
func (c *container) noun(p *finding.Comparison) string {
	switch p.Metric {
	case metric.CPU:
		return "CPU per " + metric.Operation(c.cells[p.Cell].Arm)
	case metric.RPS:
		return "throughput"
	case metric.Wall:
		return "wall time"
	case metric.P50:
		return "P50"
	case metric.P99:
		return "P99"
	}
	return "memory"
}
