// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// set returns an arm of the http workload with all three knobs.
func set(procs, gogc, limit string, labels ...string) Arm {
	a := arm(procs, "saturated", labels...)
	a.GOGC, a.GOMEMLIMIT = gogc, limit
	return a
}

// TestAuto: the data choose the metric, a knob that does not earn its place is left out,
// and what a default that is killed is replaced by is compared with the other survivors.
func TestAuto(t *testing.T) {
	base := arm("", "saturated", LabelDefault)
	snug := set("", "", "230MiB", LabelSnug)
	small, pinned := set("", "50", "230MiB"), set("1", "50", "230MiB")
	memory := []Arm{base, snug, small, pinned}
	dies := func(a finding.Arm) bool { return a.GOMEMLIMIT == "" }
	name := func(a Arm) string { return metric.SettingText(a.Arm) }
	for _, c := range []struct {
		name   string
		arms   []Arm
		script script
		used   float64 // CPUs of 1
		dies   func(finding.Arm) bool
		load   string
		best   int
		want   string
	}{
		{name: "a quota that is not used up: throughput", arms: []Arm{base, arm("1", "saturated"), arm("4", "saturated"), arm("16", "saturated")}, used: 0.54, best: 3,
			script: script{"GOMAXPROCS=1": {metric.RPS: 0.53}, "GOMAXPROCS=4": {metric.RPS: 1.18, metric.CPU: 0.9}, "GOMAXPROCS=16": {metric.RPS: 1.36, metric.CPU: 1.05}},
			want: "GOMAXPROCS=16 serves 36 % (36 to 36 %) more than the default, GOMAXPROCS=2, in 8 paired rounds, but costs 5 % more CPU per request; " +
				"GOMAXPROCS=4 costs 10 % (10 to 10 %) less CPU per request; tails were not measured"},
		{name: "a quota that is: the largest of each kind", arms: []Arm{base, arm("1", "saturated"), arm("8", "saturated")}, used: 1, best: 1,
			script: script{"GOMAXPROCS=1": {metric.CPU: 0.62, metric.RPS: 1.6, metric.Peak: 1.2}, "GOMAXPROCS=8": {metric.CPU: 2}},
			want: "GOMAXPROCS=1 costs 38 % (38 to 38 %) less CPU per request and serves 60 % (60 to 60 %) more than the default, GOMAXPROCS=2, in 8 paired rounds, " +
				"but needs 20 % more memory; tails were not measured"},
		{name: "a batch: time, and its price", arms: []Arm{base, set("", "400", "")}, load: "batch", best: 1,
			script: script{"GOGC=400": {metric.Wall: 0.71, metric.Peak: 2.08}},
			want:   "GOGC=400 takes 29 % (29 to 29 %) less time than the default, GOMAXPROCS=2, in 8 paired rounds, but needs 108 % more memory"},
		{name: "a default that is killed: snug's own is enough", arms: memory, dies: dies, used: 1, best: 1,
			script: script{name(small): {metric.CPU: 1.01}, name(pinned): {metric.CPU: 0.99}},
			want:   "the default is OOM-killed in 8 of 8 rounds; snug's GOMEMLIMIT=230MiB is not, and nothing else that lives beats it beyond noise (2 settings, 8 rounds)"},
		{name: "a knob that earns its place, and one that does not", arms: memory, dies: dies, used: 1, best: 2,
			script: script{name(small): {metric.CPU: 0.80}, name(pinned): {metric.CPU: 0.79}},
			want: "the default is OOM-killed in 8 of 8 rounds; snug's GOMEMLIMIT=230MiB is not, and GOGC=50 GOMEMLIMIT=230MiB costs 20 % (20 to 20 %) less CPU per request " +
				"than that in 8 paired rounds; tails were not measured"},
		{name: "all are killed", arms: memory, dies: func(finding.Arm) bool { return true }, best: -1,
			want: "no verdict: the default is OOM-killed in 8 of 8 rounds, and no other setting is shown to be spared"},
		{name: "snug's too: the simplest that lives", arms: memory, dies: func(a finding.Arm) bool { return a.GOGC == "" }, used: 1, best: 2,
			script: script{name(pinned): {metric.CPU: 1.3}},
			want:   "the default is OOM-killed in 8 of 8 rounds; GOGC=50 GOMEMLIMIT=230MiB is not, and nothing else that lives beats it beyond noise (1 setting, 8 rounds)"},
		{name: "one knob in place of two", arms: []Arm{base, set("1", "400", ""), set("", "400", ""), arm("1", "saturated")}, used: 1, best: 2,
			script: script{"GOMAXPROCS=1 GOGC=400": {metric.CPU: 0.70}, "GOGC=400": {metric.CPU: 0.705}, "GOMAXPROCS=1": {metric.CPU: 0.70}},
			want:   "GOGC=400 costs 30 % (29 to 30 %) less CPU per request than the default, GOMAXPROCS=2, in 8 paired rounds; tails were not measured"},
	} {
		t.Run(c.name, func(t *testing.T) {
			arms := slices.Clone(c.arms)
			for i := range arms {
				if c.load != "" {
					arms[i].Load = c.load
				}
			}
			d := &Design{Arms: arms, Rounds: 8, Seed: 1}
			s := service{sd: 0.0001, factor: c.script.factor}
			v, best := judged(t, d, func(tr Trial) finding.Run {
				r := s.run(tr)
				r.CPU = new(c.used * r.Window)
				if c.load == "batch" {
					r.Wall, r.RPS, r.P50, r.P99 = new(10*max(c.script.factor(tr.Arm, metric.Wall), 0.0)), nil, nil, nil
					if *r.Wall == 0 {
						r.Wall = new(10.0)
					}
				}
				if c.dies != nil && c.dies(tr.Arm) {
					kill(&r)
				}
				return r
			})
			if v.Text != c.want || best != c.best {
				t.Errorf("best %d, %s\nwant %d, %s", best, v.Text, c.best, c.want)
			}
		})
	}
}

// TestNoObjective: nothing is judged.
func TestNoObjective(t *testing.T) {
	d := plain(3)
	cells := Cells(d, execute(t, d, service{sd: 0.01}))
	v := said(Judge(d, cells, Compare(d, cells), None, 4), cells)
	if want := "measured without a verdict, as --objective none asks"; v.Text != want || v.Keep || v.Best != nil {
		t.Errorf("%+v, want %s", v, want)
	}
}
