// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// The documents of these tests have the shapes of results from a machine with two
// CPUs; nothing in them was measured.

var began = time.Date(2026, 11, 3, 9, 30, 0, 0, time.UTC)

func ptr[T any](v T) *T { return &v }

type shape struct {
	procs            int
	rps, cpu         float64
	p50, p99         float64 // 0: not measured
	throttled, gc    float64
	law, median, max float64
}

// fakeCell returns a cell with rounds around a shape.
func fakeCell(arm finding.Arm, labels []string, rounds int, s shape) finding.Cell {
	r := rand.New(rand.NewPCG(uint64(s.procs), uint64(s.rps)))
	c := finding.Cell{Arm: arm, Labels: labels, Procs: ptr(s.procs), Intervals: map[string]finding.Interval{}}
	// Rounded, so that the golden files do not depend on a processor's arithmetic.
	vary := func(x, sd float64) float64 { return units.RoundTo(x*math.Exp(sd*r.NormFloat64()), 4) }
	values := map[string][]float64{}
	keep := func(key string, p *float64) *float64 {
		values[key] = append(values[key], *p)
		return p
	}
	for i := range rounds {
		run := finding.Run{Round: i, Order: r.IntN(4), Seed: 40 + uint64(i), Started: began.Add(time.Duration(i) * 12 * time.Second), Window: 2,
			Ops: int64(2 * s.rps), RPS: keep("rps", ptr(vary(s.rps, .012))), CPUPerOp: keep("cpu_seconds_per_op", ptr(vary(s.cpu, .015))),
			Periods: ptr(uint64(20)), ThrottledPeriods: ptr(uint64(20 * s.throttled)), Procs: ptr(s.procs),
			Generator: &finding.Generator{LatenessP99: new(vary(210e-6, .2)), LatenessMax: new(vary(900e-6, .2)), CPU: new(.3), Policy: "SCHED_FIFO"},
			Noise:     finding.Noise{OtherCPUs: ptr(vary(.2, .5))},
			Confined:  finding.Confinement{Way: "root-v1", Group: "/snug-1/r", QuotaMicros: int64(arm.Quota * 1e5), PeriodMicros: 1e5, Policy: "SCHED_OTHER"}}
		if s.p99 > 0 {
			run.P50, run.P99 = keep("p50_seconds", ptr(vary(s.p50, .1))), keep("p99_seconds", ptr(vary(s.p99, .35)))
			run.STW = keep("stw_total_seconds", ptr(units.RoundTo(s.gc*40e-6*float64(s.procs*s.procs*(i+1)), 4)))
			run.STWMax = ptr(units.RoundTo(*run.STW/s.gc, 4))
		}
		c.Rounds = append(c.Rounds, run)
	}
	for key, v := range values {
		slices.Sort(v)
		if rounds >= 6 {
			c.Intervals[key] = finding.Interval{Low: v[0], High: v[len(v)-1], Confidence: 1 - 2*math.Pow(.5, float64(rounds))}
		}
	}
	middle := func(key string) *float64 {
		if v := values[key]; len(v) > 0 {
			return ptr(v[len(v)/2])
		}
		return nil
	}
	c.RPS, c.CPUPerOp, c.P50, c.P99 = middle("rps"), middle("cpu_seconds_per_op"), middle("p50_seconds"), middle("p99_seconds")
	c.Throttled, c.GCPerSec, c.Peak = ptr(s.throttled), ptr(s.gc), ptr(int64(24<<20))
	if s.p99 > 0 {
		c.STWTotal, c.STWMax = middle("stw_total_seconds"), c.Rounds[rounds-1].STWMax
		c.P999 = ptr(s.p99 * 1.7)
		c.Latency = fakeLatency(s.p50, s.p99, 60000)
	}
	if s.median > 0 || s.law > 0 {
		c.Stall = fakeStall(arm.Quota, s)
	}
	return c
}

// fakeLatency returns a distribution with that median and P99.
func fakeLatency(p50, p99, n float64) *finding.Histogram {
	h := &finding.Histogram{}
	sigma := math.Log(p99/p50) / 2.326
	last := 0.0
	for x := p50 / 20; x < p99*60; x *= 1.12 {
		cum := math.Round(n * .5 * math.Erfc(-math.Log(x/p50)/sigma/math.Sqrt2))
		if cum > last {
			h.Seconds, h.Counts = append(h.Seconds, x), append(h.Counts, int64(cum-last))
			last = cum
		}
	}
	return h
}

func fakeStall(q float64, s shape) *finding.Stall {
	st := &finding.Stall{Threads: min(s.procs, 2), Quota: q, Period: .1, Law: s.law, Span: 2.5}
	if s.median == 0 {
		return st
	}
	st.Median, st.Max = ptr(s.median), ptr(s.max)
	r := rand.New(rand.NewPCG(9, uint64(s.procs)))
	for k := range 25 {
		length := s.median + .003*r.NormFloat64()
		if k == 11 {
			length = s.max
		}
		st.Gaps = append(st.Gaps, [2]float64{.037 + .1*float64(k+1) - length, length})
	}
	if s.procs > 2 {
		for k := range 25 {
			st.Gaps = append(st.Gaps, [2]float64{.037 + .1*float64(k) + .02, .004})
		}
		slices.SortFunc(st.Gaps, func(a, b [2]float64) int { return int(1e6 * (a[0] - b[0])) })
	}
	st.Gaps = slices.DeleteFunc(st.Gaps, func(g [2]float64) bool { return g[0]+g[1] > st.Span })
	return st
}

func fakeSetup() finding.Setup {
	return finding.Setup{Version: "v0.1.0", Started: began, Seconds: 58.4, Seed: 7, Rounds: 7, WarmUp: 1, Window: 2, Complete: true,
		Objective: "cpu", Capacities: []finding.Capacity{{Workload: "http", Quota: 1, RPS: 1586}},
		Machine: finding.Machine{OS: "linux", Arch: "amd64", Kernel: "6.18.44", CPUs: 2, CPUModel: "AMD EPYC 7B13", Memory: 8 << 30,
			Go: "go1.26.8", CgroupWay: "root-v1", Generator: "SCHED_FIFO"}}
}

func compare(cell, base int, metric, word string, ratio, spread float64, need int) finding.Comparison {
	c := finding.Comparison{Cell: cell, Baseline: base, Metric: metric, Pairs: 7, Ratio: ratio, Low: ptr(ratio * (1 - spread)),
		High: ptr(ratio * (1 + spread)), P: .0156, Adjusted: .0312, Word: word, Margin: .02}
	if need > 0 {
		c.NeedN, c.P, c.Adjusted = ptr(need), .3, .6
	}
	return c
}

var cannot = []string{
	"2 CPUs here: stalls of N>2 threads cannot be shown; the law T(1-q/N) says 88 ms for N=8 at a quota of 1 CPU",
	"7 rounds cannot show a difference in P99 of less than half again as much",
}

// quick is `snug bench`.
func quick() *finding.Bench {
	arm := func(p string) finding.Arm {
		return finding.Arm{Workload: "http", Quota: 1, Load: "saturated", Knobs: finding.Knobs{GOMAXPROCS: p}}
	}
	d := &finding.Bench{Head: finding.NewHead(finding.KindBench), Setup: fakeSetup()}
	d.Cells = []finding.Cell{
		fakeCell(arm(""), []string{"default", "snug"}, 7, shape{2, 1630, 619e-6, 0, 0, .98, 4.2, .05, .0512, .0553}),
		fakeCell(arm("1"), nil, 7, shape{1, 1573, 581e-6, 0, 0, 0, 4.0, 0, 0, 0}),
		fakeCell(arm("8"), nil, 7, shape{8, 1429, 705e-6, 0, 0, .98, 5.4, .05, .0519, .0763}),
	}
	d.Cells[1].Stall = &finding.Stall{Threads: 1, Quota: 1, Period: .1, Span: 2.5}
	d.Repeated, d.Excluded = 0, 1
	d.Cells[2].Rounds[3].Invalid = "the load generator was late: 1.7 ms at the 99th percentile"
	d.Comparisons = []finding.Comparison{
		compare(1, 0, "rps", finding.Worse, .965, .006, 0), compare(2, 0, "rps", finding.Worse, .877, .008, 0),
		compare(1, 0, "cpu_seconds_per_op", finding.Better, .939, .011, 0), compare(2, 0, "cpu_seconds_per_op", finding.Worse, 1.139, .013, 0),
	}
	d.Verdict = finding.BenchVerdict{Keep: true, Text: "keep the default (GOMAXPROCS=2): 1 uses 6.1 % less CPU per request and serves 3.5 % fewer; Go's default and snug's value are the same here (2)", Cannot: cannot}
	d.Next = "snug bench --full"
	return d
}

// full is `snug bench --full --cpus 0.5,1`.
func full() *finding.Bench {
	d := &finding.Bench{Head: finding.NewHead(finding.KindBench), Setup: fakeSetup()}
	d.Seconds, d.Window = 872, 4
	type row struct {
		quota float64
		load  string
		rate  float64
		s     [4]shape
	}
	for _, r := range []row{
		{1, "saturated", 0, [4]shape{{2, 1630, 619e-6, .0131, .073, .98, 4.2, .05, .0512, .0553}, {1, 1573, 581e-6, 610e-6, .251, 0, 4, 0, 0, 0},
			{8, 1429, 705e-6, .0091, .172, .98, 5.4, .05, .0519, .0763}, {24, 1345, 744e-6, .0062, .154, .99, 21.2, .05, .052, .083}}},
		{1, "50%", 793, [4]shape{{2, 793, 855e-6, .00143, .0103, 0, 2.1, .05, .0512, .0553}, {1, 793, 751e-6, .0014, .0082, 0, 2, 0, 0, 0},
			{8, 793, 891e-6, .00137, .0093, 0, 2.4, .05, .0519, .0763}, {24, 792, 926e-6, .00139, .0116, 0, 9.6, .05, .052, .083}}},
		{1, "80%", 1262, [4]shape{{2, 1262, 698e-6, .00185, .0297, .07, 3.3, .05, .0512, .0553}, {1, 1261, 625e-6, .00323, .0292, 0, 3.2, 0, 0, 0},
			{8, 1262, 757e-6, .00199, .0287, .52, 4.1, .05, .0519, .0763}, {24, 1262, 786e-6, .00416, .0755, .88, 16.3, .05, .052, .083}}},
		{.5, "saturated", 0, [4]shape{{2, 811, 631e-6, .0161, .119, .99, 2.2, .075, .076, .08}, {1, 846, 599e-6, 630e-6, .38, .98, 2.2, .05, .0512, .056},
			{8, 715, 716e-6, .0114, .3, .99, 2.7, .075, .083, .188}, {24, 673, 757e-6, .0064, .299, .99, 10.4, .075, .09, .292}}},
	} {
		base := len(d.Cells)
		for k, s := range r.s {
			labels := [][]string{{"default"}, {"snug"}, nil, nil}[k]
			arm := finding.Arm{Workload: "http", Quota: r.quota, Load: r.load}
			if k > 0 {
				arm.GOMAXPROCS = []string{"", "1", "8", "24"}[k]
			}
			c := fakeCell(arm, labels, 7, s)
			if r.rate > 0 {
				c.Offered = ptr(r.rate)
			}
			d.Cells = append(d.Cells, c)
			if k == 0 {
				continue
			}
			for _, m := range []string{"rps", "cpu_seconds_per_op", "p99_seconds"} {
				v := metric.MetricOf(m)
				ratio := *v.Of(&c) / *v.Of(&d.Cells[base])
				word, need, spread := finding.Better, 0, .01
				switch {
				case m == "p99_seconds" && ratio < 2 && ratio > .5:
					word, need, spread = finding.NotShown, 16+k, .4
				case math.Abs(ratio-1) < .02:
					word = finding.Same
				case (ratio > 1) != v.More:
					word = finding.Worse
				}
				d.Comparisons = append(d.Comparisons, compare(len(d.Cells)-1, base, m, word, ratio, spread, need))
			}
		}
	}
	best := 1
	d.Verdict = finding.BenchVerdict{Best: &best, Text: "GOMAXPROCS=1 (snug) uses 10 % less CPU per request than the default at 80 % load [9, 11]", Cannot: cannot}
	d.Next = "snug run -- yourservice"
	return d
}

// rising is `snug bench --users`.
func rising() *finding.Bench {
	d := &finding.Bench{Head: finding.NewHead(finding.KindBench), Setup: fakeSetup()}
	d.Complete, d.NoLimit, d.Machine.CgroupWay = false, true, "none"
	for i, n := range []string{"30 users", "50 users", "100 users"} {
		for k, label := range []string{"default", "snug"} {
			arm := finding.Arm{Workload: "http", Load: n}
			if k > 0 {
				arm.GOMAXPROCS = "1"
			}
			c := fakeCell(arm, []string{label}, 4, shape{2 - k, 1600 - float64(40*k), 600e-6, .012 * float64(i+1), .07 * float64(i+1), 0, 4, 0, 0, 0})
			c.P95 = ptr(*c.P99 * .7)
			c.Throttled = nil
			for k := range c.Rounds {
				c.Rounds[k].Unfinished = int64(30 + 10*i)
			}
			d.Cells = append(d.Cells, c)
		}
		d.Comparisons = append(d.Comparisons, compare(2*i+1, 2*i, "p95_seconds", finding.NotShown, 1.1, .3, 25))
	}
	d.Request = &finding.Request{Method: "POST", Headers: []string{"Authorization", "Content-Type"},
		BodySHA256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", Timeout: 5, Connections: 64}
	d.Verdict.Text = "no difference shown between default and snug"
	d.Unknown = []finding.Gap{{Field: "throttled_ratio", File: "cpu.stat", Why: "no quota was made"}}
	d.Warnings = []finding.Warning{{Code: "no-cgroup", Text: "no cgroup could be made here"}}
	return d
}
