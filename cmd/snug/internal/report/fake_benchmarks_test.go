// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

// benchmarks is `snug bench -- ./codec.test -test.bench .`: two benchmarks, one of them with a
// unit of its own, and one without a result in a setting.
func benchmarks() *finding.Bench {
	d := &finding.Bench{Head: finding.NewHead(finding.KindBench), Setup: fakeSetup()}
	d.Command, d.Objective = []string{"./codec.test", "-test.bench", "."}, "ns/op"
	for i, procs := range []string{"", "1"} {
		c := finding.Cell{Labels: []string{}, Intervals: map[string]finding.Interval{}}
		c.Arm = finding.Arm{Workload: "command", Quota: 1, Load: "benchmark", Knobs: finding.Knobs{GOMAXPROCS: procs}}
		if i == 0 {
			c.Labels = []string{"default"}
		}
		c.Procs, c.Peak = ptr(2-i), ptr(int64(20<<20))
		c.Benchmarks = []finding.BenchFigure{{Benchmark: "Decode/size=1-2", Unit: "ns/op", Value: 1234.5}, {Benchmark: "Decode/size=1-2", Unit: "hits/op", Value: 3}}
		if i == 0 {
			c.Benchmarks = append(c.Benchmarks, finding.BenchFigure{Benchmark: "Encode", Unit: "ns/op", Value: 5.25e6})
		}
		for round := range 7 {
			c.Rounds = append(c.Rounds, finding.Run{Round: round, Window: 3, Ops: 1, Procs: c.Procs, Peak: c.Peak, Benchmarks: c.Benchmarks})
		}
		d.Cells = append(d.Cells, c)
	}
	mean := compare(1, 0, "benchmark.ns/op", finding.Better, .8, .05, 0)
	one := mean
	one.Benchmark = "Decode/size=1-2"
	own := compare(1, 0, "benchmark.hits/op", finding.Differs, 2, .05, 0)
	own.Benchmark = one.Benchmark
	d.Comparisons = []finding.Comparison{mean, one, own}
	d.Verdict.Text = "GOMAXPROCS=1 takes 20 % (16 to 24 %) less time per operation than the default"
	return d
}
