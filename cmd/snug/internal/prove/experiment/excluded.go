// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"cmp"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// risks records in which metrics a winner could still be worse: those with the bad end of
// an interval beyond the margin, at most the two worst, measured in margins. "not shown"
// is not "not worse". It also records if a service's latencies were not measured because
// it had no open loop.
func risks(v *finding.BenchVerdict, cs []*container) {
	type risk struct {
		finding.Risk
		size float64 // in margins
	}
	worst := map[string]risk{}
	for i, c := range cs {
		w, _ := c.winner()
		if w == nil {
			continue
		}
		v.NoTails = v.NoTails || !c.tails()
		for _, p := range w.compared {
			if p.Word != finding.NotShown || !c.blocks(p.Metric) {
				continue
			}
			if p.Low == nil || p.High == nil {
				v.FewRounds = true
				continue
			}
			bad, sign := *p.High, 1.0
			if metric.MetricOf(p.Metric).More {
				bad, sign = *p.Low, -1
			}
			if size := sign * math.Log(bad) / math.Log1p(p.Margin); size > max(1, worst[p.Metric].size) {
				worst[p.Metric] = risk{finding.Risk{Judged: i, Comparison: *p}, size}
			}
		}
	}
	var all []risk
	for _, m := range append(metrics[:len(metrics):len(metrics)], compared{Metric: metric.MetricOf(metric.BenchTime)}) {
		if r, ok := worst[m.Key]; ok {
			all = append(all, r)
		}
	}
	slices.SortStableFunc(all, func(a, b risk) int { return cmp.Compare(b.size, a.size) })
	for _, r := range all[:min(2, len(all))] {
		v.Risks = append(v.Risks, r.Risk)
	}
}

// tails reports whether latencies were measured, or do not exist: a batch has none.
func (c *container) tails() bool {
	closed, open := false, false
	for i := range c.cells {
		one := &c.cells[i]
		if !c.loads[one.Load] {
			continue
		}
		open = open || Tails(one)
		closed = closed || closedLoop(one) || one.Loop() == finding.LoopClosed
	}
	return open || !closed
}
