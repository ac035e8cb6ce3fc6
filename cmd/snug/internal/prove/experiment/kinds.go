// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"cmp"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// Objectives that name no metric.
const (
	Auto = "auto" // the metrics follow the data, see kinds
	None = "none" // nothing is judged
)

// kinds returns the metrics in which a setting of the container may win, the most
// important first: that of the objective or, for auto, what the data call for.
//
// A batch, and Go benchmarks, are to end early. A service whose baseline leaves part of
// its quota unused under every closed loop waits for something else than CPU time:
// throughput comes first, and CPU per request is only a price. A service that uses up its
// quota serves more if a request costs less: CPU per request comes first, because it
// varies least between runs. Without a closed loop the tail comes first. Less memory alone
// wins nothing: it is named beside the rest.
func (c *container) kinds(objective string, machineCPUs int) []string {
	closed := c.loads["self"]
	c.waits = false
	for i := range c.cells {
		a := c.cells[i].Arm
		if a.Load = ""; a != c.base || !closedLoop(&c.cells[i]) || c.cells[i].Load == "self" {
			continue
		}
		unused := Waits(&c.cells[i], machineCPUs)
		c.waits = unused && (c.waits || !closed)
		closed = true
	}
	if name, ok := MetricOf(objective); ok {
		return []string{name}
	}
	c.auto = objective == Auto
	switch {
	case !c.auto:
		return nil
	case c.loads["batch"]:
		return []string{metric.Wall, metric.CPU}
	case c.loads[LoadBenchmark]:
		return []string{metric.BenchTime}
	case !closed:
		return []string{metric.P99, metric.CPU}
	case c.waits:
		return []string{metric.RPS, metric.P99, metric.CPU}
	}
	return []string{metric.CPU, metric.RPS, metric.P99}
}

// Waits reports whether a cell under a closed loop from outside left part of its quota
// unused, although the CPUs that the load generator did not take would have been enough for
// more: it waits for something else than CPU time.
func Waits(c *finding.Cell, machineCPUs int) bool {
	if !closedLoop(c) || c.Load == "self" {
		return false
	}
	could := float64(machineCPUs)
	if x, ok := medianOf(c, generatorCPUs); ok {
		could -= x
	}
	if c.Quota > 0 {
		could = min(could, c.Quota)
	}
	used, ok := medianOf(c, usedCPUs)
	return ok && used < busy*could
}

// blocks reports whether a setting that is worse in this metric cannot win. Memory is a
// price, unless it is the objective.
func (c *container) blocks(name string) bool {
	return Guarded(name) || slices.Contains(c.order[:min(1, len(c.order))], name)
}

// fewest returns, of settings that are all better than the baseline in a metric, the one
// that changes least and is not shown to be worse than the best of them. A knob that does
// not earn its place is so left out.
func (c *container) fewest(better []*setting, name string) *setting {
	if len(better) == 0 {
		return nil
	}
	better = slices.Clone(better)
	slices.SortStableFunc(better, func(a, b *setting) int { return cmp.Compare(c.score(a, name), c.score(b, name)) })
	chosen := better[0]
	for _, s := range better[1:] {
		if Changes(s.arm) < Changes(chosen.arm) && !c.beats(better[0], s, name, len(better)-1) {
			chosen = s
		}
	}
	return chosen
}

// beats reports whether a setting is shown to be better than another in a metric, in
// their own paired rounds: under one load at least, and worse under none. The p-value is
// multiplied by the number of comparisons (Bonferroni).
func (c *container) beats(a, b *setting, name string, comparisons int) bool {
	m := comparedIn(name)
	better := false
	for _, i := range a.cells {
		at := slices.IndexFunc(b.cells, func(k int) bool { return c.cells[k].Load == c.cells[i].Load })
		if at < 0 || !m.on(&c.cells[i]) {
			continue
		}
		p := stats.ComparePaired(pairs(c.cells[b.cells[at]], c.cells[i], m.Run))
		switch stats.Judge(p, p.P*float64(max(1, comparisons)), m.margin, !m.More) {
		case finding.Better:
			better = true
		case finding.Worse:
			return false
		}
	}
	return better
}

// comparedIn returns how settings are compared in a metric.
func comparedIn(name string) compared {
	for _, m := range metrics {
		if m.Key == name {
			return m
		}
	}
	return compared{metric.MetricOf(name), benchMargin, anyLoad}
}
