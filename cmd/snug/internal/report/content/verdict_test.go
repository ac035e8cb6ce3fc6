// SPDX-License-Identifier: Apache-2.0

package content

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// two is a default and another setting of a service.
func two() []finding.Cell {
	cells := []finding.Cell{
		{Arm: finding.Arm{Workload: "http", Quota: 1, Load: "50%"}, Labels: []string{labelDefault}, Procs: new(2)},
		{Arm: finding.Arm{Workload: "http", Quota: 1, Load: "50%"}},
	}
	cells[1].GOMAXPROCS = "1"
	return cells
}

// TestSayOperations: what a load command counts, at a number of users too, need not be requests.
func TestSayOperations(t *testing.T) {
	cpu := &finding.Comparison{Cell: 1, Metric: metric.CPU, Ratio: 0.88}
	cells := two()
	for i := range cells {
		cells[i].Workload, cells[i].Load, cells[i].Rounds = "command", "8 users", []finding.Run{{Loop: finding.LoopClosed}}
	}
	for _, c := range []struct {
		j    finding.Judged
		want string
	}{
		{finding.Judged{Code: finding.Won, Setting: new(1), Gain: cpu}, "GOMAXPROCS=1 costs 12 % less CPU per operation than the default"},
		{finding.Judged{Code: finding.NoneSpared, Fails: &finding.Failure{Code: finding.FailsOperations, Of: 7, Ratio: 0.05}}, "the default fails 5 % of its operations"},
	} {
		v := finding.BenchVerdict{Metric: metric.CPU, Judged: []finding.Judged{c.j}}
		if Say(&v, cells); !strings.Contains(v.Text, c.want) {
			t.Errorf("%q, want %q", v.Text, c.want)
		}
	}
}

// TestSay: every code has its sentence, which stays the same when a document is saved and
// read again.
func TestSay(t *testing.T) {
	cpu := &finding.Comparison{Cell: 1, Metric: metric.CPU, Ratio: 0.88, Low: new(0.86), High: new(0.92)}
	tail := finding.Comparison{Cell: 1, Metric: metric.P99, Ratio: 1.5, Low: new(1.2), High: new(1.8)}
	killed := &finding.Failure{Cell: 0, Code: finding.FailsMemory, Rounds: 3, Of: 7}
	one := func(j finding.Judged) finding.BenchVerdict {
		return finding.BenchVerdict{Metric: metric.CPU, Judged: []finding.Judged{j}}
	}
	risky := one(finding.Judged{Code: finding.Won, Setting: new(1), Gain: cpu})
	risky.Risks, risky.NoTails = []finding.Risk{{Comparison: tail}}, true
	for _, c := range []struct {
		name string
		v    finding.BenchVerdict
		want string
	}{
		{"a winner", risky, "GOMAXPROCS=1 costs 12 % (8 to 14 %) less CPU per request than the default, GOMAXPROCS=2; " +
			"P99 could be up to 80 % higher, tails were not measured"},
		{"under one of several loads", one(finding.Judged{Code: finding.Won, Loads: 2, Setting: new(1), Gain: cpu}),
			"GOMAXPROCS=1 costs 12 % (8 to 14 %) less CPU per request at 50% load than the default, GOMAXPROCS=2"},
		{"one that is spared", one(finding.Judged{Code: finding.Spared, Baseline: 1, Setting: new(1), Fails: killed, Costs: []finding.Comparison{tail}}),
			"the default is OOM-killed in 3 of 7 rounds; GOMAXPROCS=1 is not, but has a 50 % higher P99"},
		{"a trade", one(finding.Judged{Code: finding.Traded, Setting: new(1), Gain: cpu, Costs: []finding.Comparison{tail}}),
			"keep the default (GOMAXPROCS=2): GOMAXPROCS=1 costs 12 % (8 to 14 %) less CPU per request but has a 50 % higher P99: a trade, not a win"},
		{"nothing better", one(finding.Judged{Code: finding.Kept, Need: 40, Margin: 0.02}),
			"keep the default (GOMAXPROCS=2): nothing measured beats it beyond noise; to see 2 % takes about 40 rounds"},
		{"all fail", one(finding.Judged{Code: finding.NoneSpared, Fails: &finding.Failure{Code: finding.FailsOperations, Of: 7, Ratio: 0.0005}}),
			"no verdict: the default fails <0.1 % of its requests, and no other setting is shown to be spared"},
		{"few rounds", one(finding.Judged{Code: finding.TooFew, Rounds: 3, Least: 7}),
			"no verdict: 3 rounds cannot show a difference, however large; it takes at least 7"},
		{"no pairs", finding.BenchVerdict{Code: finding.CodeNotCompared, Metric: metric.RPS}, "no verdict: throughput was not measured side by side"},
	} {
		cells := two()
		data, err := json.Marshal(c.v)
		if err != nil {
			t.Fatal(err)
		}
		var read finding.BenchVerdict
		if err := json.Unmarshal(data, &read); err != nil {
			t.Fatal(err)
		}
		for _, v := range []*finding.BenchVerdict{&c.v, &read} {
			if Say(v, cells); v.Text != c.want {
				t.Errorf("%s:\n%s\nwant\n%s", c.name, v.Text, c.want)
			}
		}
	}
}

// TestSayOld: a verdict of an older version has sentences and no data; they stay.
func TestSayOld(t *testing.T) {
	old := finding.BenchVerdict{Keep: true, Text: "keep the default", Cannot: []string{"tails"}}
	Say(&old, nil)
	SayTune(&finding.Tune{Verdict: old})
	if old.Text != "keep the default" || !slices.Equal(old.Cannot, []string{"tails"}) {
		t.Errorf("%+v", old)
	}
}

func TestPrice(t *testing.T) {
	worse := func(key string, ratio float64) finding.Comparison {
		return finding.Comparison{Metric: key, Ratio: ratio, Word: finding.Worse}
	}
	for _, c := range []struct {
		name string
		all  []finding.Comparison
		want string
	}{
		{"nothing", nil, ""},
		{"the objective itself", []finding.Comparison{worse(metric.CPU, 1.05)}, ""},
		{"memory", []finding.Comparison{worse(metric.Peak, 2.386)}, ", for 139 % more memory"},
		{"everything", []finding.Comparison{worse(metric.RPS, 0.951), worse(metric.P50, 1.073), worse(metric.P99, 1.25), worse(metric.Wall, 1.2)},
			", for 4.9 % less throughput, a 7.3 % higher P50, a 25 % higher P99 and 20 % more wall time"},
	} {
		d := &finding.Tune{Verdict: finding.BenchVerdict{Metric: metric.CPU}}
		if got := (searchWords{d, &finding.Judged{Costs: c.all}}).price(); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestSearchSaid: every code of a search has its sentence.
func TestSearchSaid(t *testing.T) {
	gain := &finding.Comparison{Metric: metric.CPU, Ratio: 0.89, Low: new(0.87), High: new(0.91)}
	killed := &finding.Failure{Code: finding.FailsMemory, Rounds: 3, Of: 10}
	for want, j := range map[string]finding.Judged{
		"keep the default: there is nothing else to try":                            {Code: finding.NothingElse},
		"keep the default: nothing that was tried holds p99<20ms, rss<=400MiB":      {Code: finding.NoneHolds, Bounds: []string{"p99<20ms", "rss<=400MiB"}},
		"keep the default: nothing that was tried holds without failures":           {Code: finding.NoneHolds},
		"keep the default: nothing that was tried does better in CPU per operation": {Code: finding.NoneBetter},
		"set GOMAXPROCS=1: CPU per operation -11 % (95 % interval -13 to -9.0 %)":   {Code: finding.Won, Setting: new(1), Gain: gain},
		"keep the default: GOMAXPROCS=1 led the search, but on fresh runs: p99<20ms is not certain to hold": {
			Code: finding.LeaderBroke, Setting: new(1), Broken: &finding.Broken{Code: finding.BrokeBound, Bound: "p99<20ms"}},
		"keep the default: GOMAXPROCS=1 led the search, and on fresh runs no gain beyond 2 % was shown (CPU per operation could not be compared)": {
			Code: finding.NoGain, Setting: new(1), Margin: 0.02},
		"set GOMAXPROCS=1: the default is OOM-killed in 3 of 10 runs, this setting in none; CPU per operation -11 % (95 % interval -13 to -9.0 %)": {
			Code: finding.Spared, Setting: new(1), Gain: gain, Fails: killed},
		"set GOMAXPROCS=1: CPU per operation -11 % (95 % interval -13 to -9.0 %), and it holds where the default does not: did not serve the offered load": {
			Code: finding.Won, Setting: new(1), Gain: gain, Broken: &finding.Broken{Code: finding.BrokeLoad}},
		"no setting to recommend: the default is OOM-killed in 3 of 10 runs, and there is nothing else to try": {Code: finding.NothingElse, Fails: killed},
	} {
		d := &finding.Tune{Cells: two(), Verdict: finding.BenchVerdict{Metric: metric.CPU, Judged: []finding.Judged{j}}}
		if SayTune(d); d.Verdict.Text != want {
			t.Errorf("%s\nwant\n%s", d.Verdict.Text, want)
		}
	}
}
