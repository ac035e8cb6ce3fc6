// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// measured holds the noise of CPU per request, throughput, P50 and P99 between runs of 4
// s on a machine with neighbours.
var measured = map[string]float64{metric.CPU: 0.03, metric.RPS: 0.026, metric.P50: 0.12, metric.P99: 0.40, metric.Peak: 0.02}

// TestNoFalseVerdicts of bench --full without any difference: at most 5 % of 500
// experiments with fixed seeds. Families are those of one load. The verdict looks at
// three loads, and needs no wider family, because a word needs the whole interval beyond
// the margin.
func TestNoFalseVerdicts(t *testing.T) {
	const experiments = 500
	wrong := map[string]int{}
	for seed := range uint64(experiments) {
		d := full(8, seed)
		cells := Cells(d, execute(t, d, service{seed: seed, sd: 0.03, sds: measured}))
		cs := Compare(d, cells)
		for _, objective := range []string{"cpu", "p99", "rps", Auto} {
			if v := Judge(d, cells, cs, objective, 64); !v.Keep {
				wrong[objective]++
			}
		}
	}
	t.Logf("false verdicts of %d: %v", experiments, wrong)
	for objective, n := range wrong {
		if n > experiments/20 {
			t.Errorf("%d false verdicts of %d for %s", n, experiments, objective)
		}
	}
}

// TestNoFalseAdvice of --objective auto, where chance has most room: eight settings, noise of
// 30 % under three loads, and settings that fail now and then, all alike.
func TestNoFalseAdvice(t *testing.T) {
	const experiments = 200
	noisy := map[string]float64{metric.CPU: 0.3, metric.RPS: 0.3, metric.P50: 0.3, metric.P99: 0.6, metric.Peak: 0.3}
	for _, c := range []struct {
		name  string
		loads []string
		sds   map[string]float64
		spoil func(Trial, *rand.Rand, *finding.Run)
	}{
		{"noise, a quota that is not used up", []string{"saturated", "50%", "80%"}, noisy, func(_ Trial, _ *rand.Rand, r *finding.Run) { r.CPU = new(0.4 * r.Window) }},
		{"killed in 5 % of runs", []string{"saturated"}, measured, func(_ Trial, random *rand.Rand, r *finding.Run) {
			if random.Float64() < 0.05 {
				kill(r)
			}
		}},
		{"errors in bursts", []string{"saturated"}, measured, func(_ Trial, random *rand.Rand, r *finding.Run) {
			if random.Float64() < 0.3 {
				r.Errors = int64(random.ExpFloat64() * 20)
			}
		}},
	} {
		wrong := 0
		for seed := range uint64(experiments) {
			d := &Design{Seed: seed}
			for _, load := range c.loads {
				d.Arms = append(d.Arms, arm("", load, LabelDefault))
				for _, procs := range []string{"1", "2", "3", "4", "6", "8", "16"} {
					d.Arms = append(d.Arms, arm(procs, load))
				}
			}
			d.Rounds = d.MinRounds()
			s := service{seed: seed, sd: 0.03, sds: c.sds}
			runs, err := Execute(t.Context(), d, &fake{run: func(tr Trial) finding.Run {
				r := s.run(tr)
				c.spoil(tr, random(seed+99, tr), &r)
				return r
			}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			cells := Cells(d, runs)
			if v := Judge(d, cells, Compare(d, cells), Auto, 64); v.Best != nil {
				wrong++
			}
		}
		t.Logf("%s: %d of %d", c.name, wrong, experiments)
		if wrong > experiments/20+3 { // fixed seeds: 19, 0 and 4 of 400 in a longer run
			t.Errorf("%s: false advice in %d of %d", c.name, wrong, experiments)
		}
	}
}

// TestNotExcluded: not shown is not the same as not worse.
func TestNotExcluded(t *testing.T) {
	d := full(8, 1)
	cheap := service{seed: 3, sd: 0.0001, factor: faster(0.8), sds: map[string]float64{metric.P99: 0.4}}
	cells := Cells(d, execute(t, d, cheap))
	v := said(Judge(d, cells, Compare(d, cells), "cpu", 64), cells)
	var high float64
	load := ""
	for _, i := range []int{4, 7} {
		if p := find(Compare(d, cells), i, metric.P99); p.Word == finding.NotShown && *p.High > high {
			high, load = *p.High, cells[i].Load
		}
	}
	want := "than the default, GOMAXPROCS=2, in 8 paired rounds; P99 could be up to " + units.About(high-1) + " higher at " + load + " load"
	if high < 1.1 || !strings.HasSuffix(v.Text, want) {
		t.Errorf("%s\nwant %s", v.Text, want)
	}
	// A higher figure is better: the low end counts. Two metrics are enough.
	cheap.sds = map[string]float64{metric.P99: 0.4, metric.RPS: 0.2, metric.P50: 0.4}
	cells = Cells(d, execute(t, d, cheap))
	v = said(Judge(d, cells, Compare(d, cells), "cpu", 64), cells)
	if n := strings.Count(v.Text, "could be up to"); n != 2 || !strings.Contains(v.Text, "throughput could be up to") || !strings.Contains(v.Text, "lower when saturated") {
		t.Errorf("%d metrics: %s", n, v.Text)
	}
	// Nothing is open where every interval is within the margin.
	cheap.sds = nil
	cells = Cells(d, execute(t, d, cheap))
	if v = said(Judge(d, cells, Compare(d, cells), "cpu", 64), cells); strings.Contains(v.Text, "could be") || strings.Contains(v.Text, "tails") {
		t.Error(v.Text)
	}
}
