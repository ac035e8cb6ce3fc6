// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"math/rand/v2"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// ramping is `snug bench --users 30..100/2m`.
func ramping() *finding.Bench {
	d := &finding.Bench{Head: finding.NewHead(finding.KindBench), Setup: fakeSetup()}
	d.Rounds, d.Window, d.Seconds = 3, 120, 731
	for k, label := range []string{"default", ""} {
		arm := finding.Arm{Workload: "http", Quota: 1, Load: "30..100 users in 2m"}
		labels := []string{label}
		procs := 2
		if k > 0 {
			arm.GOMAXPROCS, labels, procs = "8", nil, 8
		}
		c := fakeCell(arm, labels, 3, shape{procs, 1600 - float64(170*k), 619e-6 + 90e-6*float64(k), .012, .09, .9, 4, 0, 0, 0})
		c.P95 = ptr(*c.P99 * .7)
		for i := range c.Rounds {
			c.Rounds[i].Timeline = fakeTimeline(k, i)
		}
		d.Cells = append(d.Cells, c)
	}
	for _, m := range []string{"rps", "cpu_seconds_per_op"} {
		d.Comparisons = append(d.Comparisons, compare(1, 0, m, finding.NotShown, map[string]float64{"rps": .89, "cpu_seconds_per_op": 1.14}[m], .02, 0))
	}
	for i := range d.Comparisons {
		d.Comparisons[i].Pairs = 3
	}
	d.Verdict = finding.BenchVerdict{Text: "no verdict: 3 rounds cannot show a difference, however large; it takes at least 6", Cannot: cannot[:1]}
	d.Next = "snug bench --url http://127.0.0.1:8080/ -- COMMAND"
	return d
}

// fakeTimeline is a course of 120 s in one round of a setting.
func fakeTimeline(setting, round int) *finding.Timeline {
	r := rand.New(rand.NewPCG(uint64(setting), uint64(round)))
	t := &finding.Timeline{Step: 1}
	for i := range 120 {
		users := 30 + 70*(float64(i)+.5)/120
		rps := math.Round((1600 - 170*float64(setting)) * (1 + .04*r.NormFloat64()))
		t.Users, t.RPS, t.Errors = append(t.Users, users), append(t.RPS, rps), append(t.Errors, 0)
		t.P50, t.P95 = append(t.P50, ptr(users/rps*.7)), append(t.P95, ptr(users/rps*(3+float64(2*setting))))
		t.Throttled, t.CPU = append(t.Throttled, ptr(math.Round(10*min(1, .8+.1*float64(setting)+.1*r.Float64()))/10)), append(t.CPU, ptr(.99))
		t.GCs, t.GCCPU = append(t.GCs, ptr(uint64(4+r.IntN(3)+3*setting))), append(t.GCCPU, ptr(.04+.05*float64(setting)))
		t.Resident = append(t.Resident, ptr(int64(24+i/10)<<20))
	}
	return t
}
