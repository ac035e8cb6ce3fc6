// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// script maps settings, as settingText formats them, and metrics to factors.
type script map[string]map[string]float64

func (s script) factor(a finding.Arm, key string) float64 { return s[metric.SettingText(a)][key] }

// at puts arms under a quota.
func at(quota float64, arms ...Arm) []Arm {
	for i := range arms {
		arms[i].Quota = quota
	}
	return arms
}

// TestVerdicts checks the sentences that users read.
func TestVerdicts(t *testing.T) {
	base := arm("", "saturated", LabelDefault)
	one, eight := arm("1", "saturated"), arm("8", "saturated")
	cheap := script{"GOMAXPROCS=1": {metric.CPU: 0.88}, "GOMAXPROCS=8": {metric.CPU: 1.2, metric.RPS: 0.85}}
	trade := script{"GOMAXPROCS=1": {metric.CPU: 0.88, metric.RPS: 0.93}, "GOMAXPROCS=8": {metric.CPU: 1.2}}
	gc := base
	gc.Labels, gc.GOGC, gc.GOMEMLIMIT, gc.Burst = nil, "400", "124MiB", 50000
	split := base
	split.Labels, split.Replicas = nil, 5
	limiter, numcpu := base, base
	limiter.Labels, limiter.Workload, numcpu.Workload = nil, "pool/limiter", "pool/numcpu"
	for _, c := range []struct {
		name      string
		arms      []Arm
		rounds    int
		sd        float64
		script    script
		objective string
		against   func([]Arm, int) (int, bool)
		keep      bool
		best      int // -1 is none
		want      string
	}{
		{name: "one is better", arms: []Arm{base, one, eight}, script: cheap, best: 1,
			want: "GOMAXPROCS=1 costs 12 % (12 to 12 %) less CPU per request than the default, GOMAXPROCS=2, in 8 paired rounds; tails were not measured"},
		{name: "two labels, and another objective", arms: []Arm{arm("", "saturated", LabelDefault, LabelSnug), one},
			script: script{"GOMAXPROCS=1": {metric.RPS: 1.25}}, objective: "rps", best: 1,
			want: "GOMAXPROCS=1 serves 25 % (25 to 25 %) more than the default, GOMAXPROCS=2, in 8 paired rounds; tails were not measured; Go's default and snug's value are the same here (2)"},
		{name: "snug's is better", arms: []Arm{base, arm("1", "saturated", LabelSnug)}, script: cheap, best: 1,
			want: "snug's GOMAXPROCS=1 costs 12 % (12 to 12 %) less CPU per request than the default, GOMAXPROCS=2, in 8 paired rounds; tails were not measured"},
		{name: "nothing is", arms: []Arm{base, one, eight}, script: script{}, keep: true, best: -1,
			want: "keep the default (GOMAXPROCS=2): nothing measured beats it beyond noise (2 settings, 8 rounds)"},
		{name: "all are worse", arms: []Arm{base, eight}, script: cheap, keep: true, best: -1,
			want: "keep the default (GOMAXPROCS=2): nothing measured beats it beyond noise (1 setting, 8 rounds)"},
		{name: "noise", arms: []Arm{base, one}, script: script{"GOMAXPROCS=1": {metric.CPU: 0.99}}, sd: 0.05, keep: true, best: -1,
			want: "keep the default (GOMAXPROCS=2): nothing measured beats it beyond noise (1 setting, 8 rounds); to see 2 % takes about N rounds"},
		{name: "a trade", arms: []Arm{base, one, eight}, script: trade, keep: true, best: -1,
			want: "keep the default (GOMAXPROCS=2): GOMAXPROCS=1 costs 12 % (12 to 12 %) less CPU per request but serves 7 % less: a trade, not a win"},
		{name: "a trade under another load", arms: []Arm{base, one, arm("", "50%", LabelDefault), arm("1", "50%")}, keep: true, best: -1,
			script: script{"GOMAXPROCS=1": {metric.CPU: 0.88, metric.P99: 1.5}},
			want:   "keep the default (GOMAXPROCS=2): GOMAXPROCS=1 costs 12 % (12 to 12 %) less CPU per request at 50% load but has a 50 % higher P99 at 50% load: a trade, not a win"},
		{name: "several loads", arms: []Arm{base, one, arm("", "50%", LabelDefault), arm("1", "50%")}, best: 3, objective: "p99",
			script: script{"GOMAXPROCS=1": {metric.CPU: 0.99, metric.P99: 0.63}},
			want:   "GOMAXPROCS=1 has a 37 % (37 to 37 %) lower P99 at 50% load than the default, GOMAXPROCS=2, in 8 paired rounds"},
		{name: "several knobs", arms: []Arm{base, gc}, best: 1, script: script{metric.SettingText(gc.Arm): {metric.CPU: 0.8}},
			want: "GOGC=400 GOMEMLIMIT=124MiB burst 50 ms costs 20 % (20 to 20 %) less CPU per request than the default, GOMAXPROCS=2, in 8 paired rounds; tails were not measured"},
		{name: "several containers of one size", arms: []Arm{base, split}, keep: true, best: -1, script: script{"in 5 containers": {metric.CPU: 1.3}},
			want: "keep the default (GOMAXPROCS=2): nothing measured beats it beyond noise (1 setting, 8 rounds)"},
		{name: "the current setting", arms: []Arm{arm("8", "saturated", LabelCurrent), one}, script: cheap, best: 1,
			want: "GOMAXPROCS=1 costs 27 % (27 to 27 %) less CPU per request and serves 18 % (18 to 18 %) more than the current setting in 8 paired rounds; tails were not measured"},
		{name: "keep the current setting", arms: []Arm{arm("1", "saturated", LabelCurrent), eight}, script: cheap, keep: true, best: -1,
			want: "keep the current setting (GOMAXPROCS=1): nothing measured beats it beyond noise (1 setting, 8 rounds)"},
		{name: "too few rounds", arms: []Arm{base, one, eight}, rounds: 3, script: cheap, best: -1,
			want: "no verdict: 3 rounds cannot show a difference, however large; it takes at least 7"},
		{name: "too few rounds for so many arms", arms: []Arm{base, one, eight, arm("3", "saturated"), arm("4", "saturated")}, rounds: 7, script: cheap,
			best: -1,
			want: "no verdict: 7 rounds cannot show a difference, however large; it takes at least 8"},
		{name: "too few rounds in both containers", arms: append(at(0.5, base, one), at(1, base, one)...), rounds: 2, script: cheap, best: -1,
			want: "no verdict: 2 rounds cannot show a difference, however large; it takes at least 6"},
		{name: "too few rounds in one of them", arms: append(at(0.5, base, one, eight), at(1, base, one)...), rounds: 6, script: script{}, best: -1,
			want: "no verdict at 0.5 CPUs: 6 rounds cannot show a difference, however large; it takes at least 7; keep the default at 1 CPU: nothing measured beats it beyond noise"},
		{name: "much noise", arms: []Arm{base, one}, script: script{}, sd: 1, keep: true, best: -1,
			want: "keep the default (GOMAXPROCS=2): nothing measured beats it beyond noise (1 setting, 8 rounds); to see 2 % takes over 1000 rounds, which is not practical"},
		{name: "one arm", arms: []Arm{base}, script: cheap, best: -1,
			want: "no verdict: one setting alone, nothing to compare it with"},
		{name: "an objective that was not measured", arms: []Arm{base, one}, script: cheap, objective: "wall", best: -1,
			want: "no verdict: wall time was not measured side by side"},
		{name: "no rounds", arms: []Arm{base, one}, rounds: -1, script: cheap, best: -1,
			want: "no verdict: CPU per operation was not measured side by side"},
		{name: "two containers, one decided", arms: append(at(0.5, base, one), at(1, base, arm("4", "saturated"))...), script: cheap, best: 1,
			want: "at 0.5 CPUs GOMAXPROCS=1 costs 12 % (12 to 12 %) less CPU per request than the default; tails were not measured; keep the default at 1 CPU"},
		{name: "two containers, both kept", arms: append(at(0.5, base, eight), at(1, base, eight)...), script: cheap, keep: true, best: -1,
			want: "keep the default at 0.5 CPUs and at 1 CPU: nothing measured beats it beyond noise"},
		{name: "variants", arms: []Arm{numcpu, limiter}, script: script{}, best: -1,
			want: "no verdict: one setting alone, nothing to compare it with"},
		{name: "variants compared", arms: []Arm{numcpu, limiter}, script: script{}, against: BaselineOfVariants, keep: true, best: -1,
			want: "keep the default (GOMAXPROCS=2): nothing measured beats it beyond noise (1 setting, 8 rounds)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &Design{Arms: c.arms, Rounds: 8, Seed: 1, Against: c.against}
			if c.rounds != 0 {
				d.Rounds = max(0, c.rounds)
			}
			if c.objective == "" {
				c.objective = "cpu"
			}
			if c.sd == 0 {
				c.sd = 0.0001
			}
			cells := Cells(d, execute(t, d, service{seed: 1, sd: c.sd, factor: c.script.factor}))
			v := said(Judge(d, cells, Compare(d, cells), c.objective, 4), cells)
			text := v.Text
			if i := strings.Index(text, "about "); i > 0 && strings.Contains(c.want, "about N") {
				text = text[:i] + "about N rounds"
			}
			if text != c.want {
				t.Errorf("text\n%s\nwant\n%s", text, c.want)
			}
			best := -1
			if v.Best != nil {
				best = *v.Best
			}
			if v.Keep != c.keep || best != c.best {
				t.Errorf("keep %v, best %d, want %v, %d", v.Keep, best, c.keep, c.best)
			}
		})
	}
}

// TestWorse checks what `snug bench --check` reports.
func TestWorse(t *testing.T) {
	base := arm("", "saturated", LabelDefault)
	s := script{"GOMAXPROCS=1": {metric.CPU: 0.88}, "GOMAXPROCS=8": {metric.CPU: 1.2}}
	for _, c := range []struct {
		name  string
		arms  []Arm
		worse bool
		want  string
	}{
		{"the default is, when there is no other", []Arm{base, arm("1", "saturated")}, true,
			"GOMAXPROCS=1 costs 12 % (12 to 12 %) less CPU per request than the default, GOMAXPROCS=2, in 8 paired rounds; tails were not measured"},
		{"the default is the best", []Arm{base, arm("8", "saturated")}, false,
			"keep the default (GOMAXPROCS=2): nothing measured beats it beyond noise (1 setting, 8 rounds)"},
		{"the default is better than the current one", []Arm{base, arm("8", "saturated", LabelCurrent)}, true,
			"Go's default costs 17 % (17 to 17 %) less CPU per request than the current setting in 8 paired rounds; tails were not measured"},
		{"the current one is the best", []Arm{base, arm("1", "saturated", LabelCurrent), arm("8", "saturated")}, false,
			"keep the current setting (GOMAXPROCS=1): nothing measured beats it beyond noise (2 settings, 8 rounds)"},
		{"variants are other programs", []Arm{variant("pool/numcpu", "8", LabelDefault), variant("pool/limiter", "1", LabelDefault)}, false,
			"no verdict: one setting alone, nothing to compare it with"},
		{"but each has its own default", []Arm{variant("pool/numcpu", "8", LabelDefault), variant("pool/limiter", "8", LabelDefault), variant("pool/limiter", "1")}, true,
			"GOMAXPROCS=1 costs 27 % (27 to 27 %) less CPU per operation than the default in 8 paired rounds; tails were not measured"},
		{"no comparison", []Arm{base}, false, "no verdict: one setting alone, nothing to compare it with"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &Design{Arms: c.arms, Rounds: 8, Seed: 1, Against: BaselineOfVariants}
			cells := Cells(d, execute(t, d, service{sd: 0.0001, factor: s.factor}))
			worse, v := Worse(d, cells, "cpu", 4)
			if text := said(v, cells).Text; worse != c.worse || text != c.want {
				t.Errorf("%v, %s\nwant %v, %s", worse, text, c.worse, c.want)
			}
		})
	}
}

func TestCannot(t *testing.T) {
	arms := []Arm{
		arm("", "saturated", LabelDefault), arm("8", "saturated"), arm("24", "50%"),
		at(1.5, arm("1", "80%"))[0], at(2, arm("1", "saturated"))[0],
	}
	cells := func(arms ...Arm) []finding.Cell { return Cells(&Design{Arms: arms}, nil) }
	for _, c := range []struct {
		name  string
		cells []finding.Cell
		cpus  int
		want  []string
	}{
		{"two CPUs, only saturated", cells(arms[:2]...), 2, []string{
			"2 CPUs here: stalls of N>2 threads cannot be shown; the law T(1-q/N) says 88 ms for N=8 at a quota of 1 CPU",
			"tail latency was not measured here, use --full",
		}},
		{"two CPUs, everything", cells(arms...), 2, []string{
			"2 CPUs here: stalls of N>2 threads cannot be shown; the law T(1-q/N) says 88 ms for N=8 and 96 ms for N=24 at a quota of 1 CPU",
			"2 CPUs here: a quota of 2 CPUs cannot throttle",
			"2 CPUs here: with 1.5 CPUs the load generator has no CPU of its own, and latencies include its waits",
		}},
		{"users", cells(arm("", "30 users"), arm("", "saturated")), 2, []string{
			"users wait for an answer before the next request, so few requests meet a stall: " +
				"latencies of a closed loop hide it (coordinated omission), --load 80% shows it",
		}},
		{"a large machine", cells(arms...), 64, nil},
		{"a workload that drives itself has tails", cells(arm("1", "self")), 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := sentences(cannot(c.cells, c.cpus), c.cells); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
				t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}
