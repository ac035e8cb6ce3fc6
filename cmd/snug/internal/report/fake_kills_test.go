// SPDX-License-Identifier: Apache-2.0

package report

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

// killed is `snug bench` of a batch with OOM kills under some settings, with its own
// variables and reported figures.
func killed() *finding.Bench {
	d := &finding.Bench{Head: finding.NewHead(finding.KindBench), Setup: fakeSetup()}
	d.Objective, d.Capacities, d.Command = "wall", nil, []string{"./cache", "--fill", "60%"}
	d.Metrics = []string{"ops_per_second", "late_p99_seconds", "peak_rss_bytes", "gc_share", "shed"}
	for _, v := range []struct {
		env, limit string
		killed     int
		interval   finding.Interval
		reported   map[string]float64
	}{
		{"", "", 7, finding.Interval{Low: .5904, High: 1, Confidence: .95}, nil},
		{"MODE=small\x00PARTS=cache,dictionary", "200MiB", 2, finding.Interval{Low: .0367, High: .7096, Confidence: .95},
			map[string]float64{"ops_per_second": 4012.4, "late_p99_seconds": .0123, "peak_rss_bytes": 241 << 20, "gc_share": .31, "not_asked": 5}},
		{"MODE=small\x00PARTS=cache,dictionary,index", "200MiB", 0, finding.Interval{Low: 0, High: .4096, Confidence: .95},
			map[string]float64{"ops_per_second": 3990, "late_p99_seconds": .251, "peak_rss_bytes": 212 << 20, "gc_share": .44, "shed": 12}},
	} {
		arm := finding.Arm{Workload: "command", Quota: .5, Memory: 256 << 20, Load: "batch", Knobs: finding.Knobs{GOMEMLIMIT: v.limit, Vars: finding.Vars(v.env)}}
		var labels []string
		if v.env == "" {
			labels = []string{"default"}
		}
		c := fakeCell(arm, labels, 7, shape{2, 1, .4, 0, 0, .1, 2, 0, 0, 0})
		c.RPS, c.Wall, c.Peak = nil, ptr(12.5), ptr(int64(256<<20))
		c.ErrorRate = ptr(float64(v.killed) / 7)
		c.Killed, c.Reported = &finding.Killed{Rounds: v.killed, Of: 7, Ratio: v.interval}, v.reported
		for k := range c.Rounds {
			r := &c.Rounds[k]
			r.Wall, r.RPS, r.Reported = ptr(12.5), nil, v.reported
			if k < v.killed {
				r.OOMKills, r.Exit, r.Wall, r.Reported = ptr(uint64(1)), "OOM-killed", nil, nil
			}
		}
		if v.killed == 7 {
			c.Wall, c.CPUPerOp = nil, nil
		}
		d.Cells = append(d.Cells, c)
	}
	d.Verdict.Text = "the default is OOM-killed in 7 of 7 rounds; MODE=small PARTS=cache,dictionary,index GOMEMLIMIT=200MiB is not"
	return d
}
