// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// batch is `snug bench --workload xml`.
func batch() *finding.Bench {
	d := &finding.Bench{Head: finding.NewHead(finding.KindBench), Setup: fakeSetup()}
	d.Objective, d.Capacities, d.Window = "wall", nil, 4
	for i, v := range []struct {
		workload, gogc, limit string
		wall, cpu, gcs, stw   float64
		heap                  int64
	}{
		{"xml/single", "", "", 2.66, 2.93, 303, .0009, 8},
		{"xml/single", "1000", "", 2.26, 2.27, 19, .0004, 73},
		{"xml/single", "off", "124MiB", 2.23, 2.25, 6, .0003, 110},
		{"xml/pool", "", "", 1.46, 2.50, 99, .0052, 27},
		{"xml/pool", "1000", "", 1.23, 2.32, 8, .0011, 140},
		{"xml/pool", "off", "124MiB", 1.25, 2.31, 7, .0013, 113},
	} {
		arm := finding.Arm{Workload: v.workload, Quota: 1, Load: "batch", Knobs: finding.Knobs{GOGC: v.gogc, GOMEMLIMIT: v.limit}}
		var labels []string
		if v.gogc == "" {
			labels = []string{"default"}
		}
		c := fakeCell(arm, labels, 7, shape{2, 1 / v.wall, v.cpu / 6400, 0, 0, .4, v.gcs / v.wall, 0, 0, 0})
		c.RPS, c.Wall = nil, ptr(v.wall)
		for k := range c.Rounds {
			c.Rounds[k].Counts = map[string]int64{"items": 81500, "hits": 1630}
			c.Rounds[k].Wall, c.Rounds[k].RPS = ptr(v.wall*(1+.01*float64(k-3))), nil
		}
		c.Intervals["wall_seconds"] = finding.Interval{Low: v.wall * .97, High: v.wall * 1.03, Confidence: .984}
		c.STWMax, c.STWTotal, c.PeakHeap, c.Peak = ptr(v.stw), ptr(v.stw*v.gcs/7), ptr(v.heap<<20), ptr((v.heap+6)<<20)
		d.Cells = append(d.Cells, c)
		if v.gogc != "" {
			base := i / 3 * 3
			d.Comparisons = append(d.Comparisons, compare(i, base, "wall_seconds", finding.Better, v.wall / *d.Cells[base].Wall, .01, 0))
		}
	}
	d.Verdict.Text = "GOGC=1000 takes 15 % less wall time than the default [14, 17]"
	return d
}

// searched is `snug tune`.
func searched() *finding.Tune {
	d := &finding.Tune{Head: finding.NewHead(finding.KindTune), Setup: fakeSetup(), Budget: 600}
	d.Seconds, d.Command = 588, []string{"./orders", "--listen", ":8080"}
	d.Constraints = []string{"p99 <= 50ms", "rss <= 400MiB"}
	d.Space = []finding.Factor{{Knob: "GOMAXPROCS", Values: []string{"", "1", "2", "4"}}, {Knob: "GOGC", Values: []string{"", "200", "400", "800"}},
		{Knob: "GOMEMLIMIT", Values: []string{"", "360MiB"}}}
	d.Pruned = []finding.Pruned{{What: "GOGC=off without GOMEMLIMIT", Why: "the heap would grow to the limit: 749 MiB of 512 MiB"},
		{What: "GOMEMLIMIT=100MiB", Why: "below 1.3 times the live heap of 92 MiB, the collector would run all the time"},
		{What: "GOGC=50 with GOMEMLIMIT=409MiB", Why: "the predicted peak of 150 MiB stays below it: the same as without"},
		{What: "GOGC=unset, 50 with GOMEMLIMIT=483183820B", Why: "the predicted peak of 193 MiB stays below it: the same as without"}}
	arm := func(p, g, m string) finding.Arm {
		return finding.Arm{Workload: "command", Quota: 1, Memory: 512 << 20, Load: "80%", Knobs: finding.Knobs{GOMAXPROCS: p, GOGC: g, GOMEMLIMIT: m}}
	}
	cell := func(i int, p, g, m string, rounds int) finding.Cell {
		procs := map[string]int{"": 2, "1": 1, "2": 2, "4": 4}[p]
		gc := map[string]float64{"": 1, "200": .95, "400": .92, "800": .91}[g]
		cpu := 690e-6 * gc * map[string]float64{"": 1, "1": .9, "2": 1, "4": 1.09}[p] * (1 + .01*math.Sin(float64(7*i)))
		p99 := .030 * map[string]float64{"": 1, "1": 1.05, "2": 1, "4": 1.6}[p] * (1 + .2*math.Sin(float64(3*i)))
		var labels []string
		if p+g+m == "" {
			labels = []string{"default"}
		}
		c := fakeCell(arm(p, g, m), labels, rounds, shape{procs, 1262, cpu, .0018, p99, .1, 4 * gc, 0, 0, 0})
		c.Peak = ptr(int64(float64(int64(120)<<20) * (1 + 2.5*(1-gc)*10/3)))
		c.Offered = ptr(1262.0)
		return c
	}
	for _, p := range d.Space[0].Values {
		for _, g := range d.Space[1].Values {
			for _, m := range d.Space[2].Values {
				d.Cells = append(d.Cells, cell(len(d.Cells), p, g, m, 3+len(d.Cells)%4))
			}
		}
	}
	d.Baseline = cell(0, "", "", "", 6)
	d.Stages = []finding.Stage{{Name: "baseline", Runs: 6, Seconds: 36}, {Name: "screen", Runs: 48, Seconds: 290, Kept: []int{13, 12, 15, 14, 11, 10, 9, 8}},
		{Name: "halve 8", Runs: 16, Seconds: 96, Kept: []int{13, 12, 15, 14}}, {Name: "halve 4", Runs: 8, Seconds: 48, Kept: []int{13, 12}},
		{Name: "confirm", Runs: 20, Seconds: 118, Kept: []int{13}}}
	d.Front = []int{8, 10, 12, 14}
	winner, base := cell(13, "1", "400", "360MiB", 10), cell(0, "", "", "", 10)
	winner.Labels = []string{"winner"}
	d.Confirm = &finding.Confirm{Winner: winner, Default: base, Comparisons: []finding.Comparison{
		compare(0, 1, "cpu_seconds_per_op", finding.Better, .83, .012, 0), compare(0, 1, "p99_seconds", finding.NotShown, 1.08, .3, 40),
		compare(0, 1, "rps", finding.Same, 1.001, .004, 0), compare(0, 1, "memory_peak_bytes", finding.Worse, 1.35, .01, 0)}}
	d.Repeated = 1
	late := winner.Rounds[2]
	late.Invalid, winner.Rounds[2].Try = "noisy neighbours: 0.80 CPUs busy with other things, 0.11 in the median run", 1
	d.Confirm.Winner.Rounds = append(winner.Rounds, late)
	best := 13
	d.Verdict = finding.BenchVerdict{Best: &best, Text: "GOMAXPROCS=1 GOGC=400 GOMEMLIMIT=360MiB uses 17 % less CPU per request than the default [16, 18]", Cannot: cannot[1:]}
	d.Environment = &finding.Environment{
		Shell:      "export GOMAXPROCS=1 GOGC=400 GOMEMLIMIT=360MiB",
		Dockerfile: "ENV GOMAXPROCS=1 GOGC=400 GOMEMLIMIT=360MiB",
		Kubernetes: "env:\n- name: GOMAXPROCS\n  value: \"1\"\n- name: GOGC\n  value: \"400\"\n- name: GOMEMLIMIT\n  value: 360MiB\n"}
	d.Warnings = []finding.Warning{{Code: "tune-trade", Text: "memory_peak_bytes is worse with it: +35 %"}}
	d.Next = "snug run -- ./orders --listen :8080"
	return d
}
