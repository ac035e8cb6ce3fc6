// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// compared is a metric in which arms are compared.
type compared struct {
	*metric.Metric
	margin float64 // differences up to this share do not count
	// on reports whether, under the cell's load, the figure describes the program.
	on func(*finding.Cell) bool
}

// metrics lists the compared metrics, in the order of the comparisons. Throughput is
// compared in closed loops only: in an open loop it is the offered load. Latencies are
// compared in open loops and in workloads that drive themselves. In a closed loop,
// saturating or of users, latency measures the queue at the callers (Little: callers over
// throughput), and waiting callers send less while the service stalls. A load command is a
// closed loop unless it says that it is open, also at a rate.
var metrics = []compared{
	{metric.MetricOf(metric.CPU), 0.02, anyLoad},
	{metric.MetricOf(metric.RPS), 0.03, closedLoop},
	{metric.MetricOf(metric.Wall), 0.02, anyLoad},
	{metric.MetricOf(metric.P50), 0.05, Tails},
	{metric.MetricOf(metric.P99), 0.10, Tails},
	{metric.MetricOf(metric.Peak), 0.05, anyLoad},
}

func anyLoad(*finding.Cell) bool { return true }

func closedLoop(c *finding.Cell) bool {
	return !OpenLoop(c.Arm) && c.Loop() != finding.LoopOpen && c.Load != "batch" && c.Load != LoadBenchmark
}

// Tails reports whether the latencies of a cell describe the service.
func Tails(c *finding.Cell) bool { return openLoop(c) || c.Load == "self" }

// openLoop reports whether the requests of a cell arrived without waiting for answers.
func openLoop(c *finding.Cell) bool {
	if loop := c.Loop(); loop != "" {
		return loop == finding.LoopOpen
	}
	return OpenLoop(c.Arm)
}

// OpenLoop reports whether an arm's load arrives without waiting for answers: a share of
// capacity or a rate.
func OpenLoop(a finding.Arm) bool {
	return strings.HasSuffix(a.Load, "%") || strings.HasSuffix(a.Load, "/s")
}

// power is the probability with which the recommended number of rounds shows a
// difference.
const power = 0.8

// Compare compares each arm with its baseline (if that fails, with the setting in its
// place, see standing), in each metric that both have, by the
// ratio of the rounds in which both count. The index of an arm is that of its cell.
// P-values are adjusted by Holm over the arms that share a metric and a baseline: those
// of one workload, quota and load. Go benchmarks are compared one by one, and by their
// geometric mean, see benchmarks.
//
// Compare leaves out a round in which either run does not count; this is independent of
// the results. It also leaves out a round in which either run was OOM-killed, had no
// result or lacks the figure; this depends on the results. So a comparison covers the
// rounds in which both settings worked, and Judge judges separately how often they did
// not. A metric with a figure of 0 in any round is not compared, nor is the P99 of an
// open loop with fewer than 1000 requests a run.
func Compare(d *Design, cells []finding.Cell) []finding.Comparison {
	return CompareAsPlanned(d.standing(cells), cells)
}

// CompareAsPlanned is Compare with the baselines of the design, even if they fail.
func CompareAsPlanned(d *Design, cells []finding.Cell) []finding.Comparison {
	var c comparing
	for _, m := range metrics {
		for i := range cells {
			b, ok := d.baseline(i)
			if !ok || !m.on(&cells[i]) || m.Key == metric.P99 && fewRequests(d.Arms[i], cells[i]) {
				continue
			}
			c.add(i, b, m, "", stats.ComparePaired(pairs(cells[b], cells[i], m.Run)))
		}
	}
	c.benchmarks(d, cells)
	return c.judged()
}

// comparing collects comparisons and their families.
type comparing struct {
	all      []finding.Comparison
	metrics  []compared     // of all
	paired   []stats.Paired // of all
	families map[claim][]int
}

// claim is what the comparisons of a family have in common: their arms are tried for the
// same thing.
type claim struct {
	metric, benchmark string
	baseline          int
}

// add adds the comparison of a cell with its baseline, unless they have no pairs.
func (c *comparing) add(cell, baseline int, m compared, benchmark string, p stats.Paired) {
	if p.N == 0 {
		return
	}
	one := finding.Comparison{
		Cell: cell, Baseline: baseline, Metric: m.Key, Benchmark: benchmark, Pairs: p.N, Ratio: p.Ratio, P: p.P,
		Margin: m.margin,
	}
	if p.HasInterval {
		one.Low, one.High = &p.Interval.Low, &p.Interval.High
	}
	if c.families == nil {
		c.families = map[claim][]int{}
	}
	family := claim{m.Key, benchmark, baseline}
	c.families[family] = append(c.families[family], len(c.all))
	c.all, c.metrics, c.paired = append(c.all, one), append(c.metrics, m), append(c.paired, p)
}

// judged adjusts the p-values, and returns the comparisons with their words.
func (c *comparing) judged() []finding.Comparison {
	for _, family := range c.families {
		ps := make([]float64, len(family))
		for k, i := range family {
			ps[k] = c.all[i].P
		}
		for k, adjusted := range stats.Holm(ps) {
			i := family[k]
			one, m := &c.all[i], c.metrics[i]
			one.Adjusted = adjusted
			one.Word = stats.Judge(c.paired[i], adjusted, m.margin, !m.More)
			switch {
			case one.Word == finding.NotShown:
				one.NeedN = need(c.paired[i], m.margin, len(family))
			case one.Word != finding.Same && !m.Directed():
				one.Word = finding.Differs
			}
		}
	}
	if c.all == nil {
		return []finding.Comparison{}
	}
	return c.all
}

// pairs returns the figures of the rounds that count and have the figure in both cells.
func pairs(base, arm finding.Cell, of func(*finding.Run) *float64) (b, a []float64, level float64) {
	figure := func(r finding.Run) *float64 {
		if killed(r) || empty(r) {
			return nil
		}
		return of(&r)
	}
	rounds := map[int]float64{}
	for _, r := range valid(base.Rounds) {
		if v := figure(r); v != nil {
			rounds[r.Round] = *v
		}
	}
	for _, r := range valid(arm.Rounds) {
		if v := figure(r); v != nil {
			if o, ok := rounds[r.Round]; ok {
				b, a = append(b, o), append(a, *v)
			}
		}
	}
	return b, a, confidence
}

// need returns how many rounds would show a difference of the margin. It is nil with
// fewer rounds than the interval of a median needs, because their spread may be anything.
// It is also nil if there were that many rounds already: the difference then lies near
// the margin, and no number of rounds is sure to tell on which side.
func need(p stats.Paired, margin float64, family int) *int {
	n := stats.NeedN(p.SD, margin, power, 1-confidence)
	if n == 0 || p.N < stats.NeedForMedian(confidence) {
		return nil
	}
	n = max(n, stats.MinPairs(1-confidence, family))
	if n <= p.N {
		return nil
	}
	return &n
}
