// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"fmt"
	"math"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// faster multiplies the CPU cost of GOMAXPROCS=1 by this factor.
func faster(factor float64) func(finding.Arm, string) float64 {
	return func(a finding.Arm, key string) float64 {
		if a.GOMAXPROCS == "1" && key == metric.CPU {
			return factor
		}
		return 1
	}
}

func find(cs []finding.Comparison, cell int, key string) *finding.Comparison {
	for i := range cs {
		if cs[i].Cell == cell && cs[i].Metric == key {
			return &cs[i]
		}
	}
	return nil
}

// TestSameAgainstSame: without a difference at most 5 % of experiments may find one.
// 2,000 with fixed seeds: a rate of 5 % stays at or below 116 false alarms with a
// probability of 95 %.
func TestSameAgainstSame(t *testing.T) {
	const experiments, maxAlarms = 2000, 116
	verdicts, words := 0, 0
	for seed := range uint64(experiments) {
		d := plain(7)
		d.Seed = seed
		cells := Cells(d, execute(t, d, service{seed: seed, sd: 0.03}))
		cs := Compare(d, cells)
		alarm := false
		for _, c := range cs {
			alarm = alarm || c.Metric == metric.CPU && (c.Word == finding.Better || c.Word == finding.Worse)
		}
		if alarm {
			words++
		}
		if v := Judge(d, cells, cs, "cpu", 4); !v.Keep || v.Best != nil {
			verdicts++
		}
	}
	t.Logf("of %d: %d false words, %d false verdicts", experiments, words, verdicts)
	if words > maxAlarms || verdicts > maxAlarms {
		t.Errorf("of %d: %d false words, %d false verdicts, want at most %d", experiments, words, verdicts, maxAlarms)
	}
}

// TestTenPercentIsFound in seven rounds with the noise of CPU per request.
func TestTenPercentIsFound(t *testing.T) {
	const experiments = 200
	found, covered := 0, 0
	for seed := range uint64(experiments) {
		d := plain(7)
		d.Seed = seed
		cells := Cells(d, execute(t, d, service{seed: seed, sd: 0.03, factor: faster(0.90)}))
		cs := Compare(d, cells)
		c := find(cs, 1, metric.CPU)
		if *c.Low <= 0.9 && *c.High >= 0.9 {
			covered++
		}
		if v := Judge(d, cells, cs, "cpu", 4); v.Best != nil && *v.Best == 1 {
			found++
		}
	}
	if found < experiments*8/10 {
		t.Errorf("found in %d of %d, want 80 %%", found, experiments)
	}
	if covered < experiments*94/100 {
		t.Errorf("the interval holds the truth in %d of %d", covered, experiments)
	}
	t.Logf("found in %d, covered in %d of %d", found, covered, experiments)
}

// TestHolmFamilies: p-values are adjusted over the arms of one metric, workload, quota
// and load, and over nothing else.
func TestHolmFamilies(t *testing.T) {
	d := &Design{Rounds: 7, Seed: 3}
	for _, load := range []string{"saturated", "50%"} {
		d.Arms = append(d.Arms, arm("", load, LabelDefault), arm("1", load), arm("4", load))
	}
	d.Arms = append(d.Arms, arm("8", "saturated"))
	slower := service{seed: 5, sd: 0.001, factor: func(a finding.Arm, _ string) float64 {
		if a.GOMAXPROCS == "" {
			return 1
		}
		return 1.5
	}}
	cs := Compare(d, Cells(d, execute(t, d, slower)))
	size := map[string]int{}
	for _, c := range cs {
		size[c.Metric+" "+d.Arms[c.Cell].Load]++
	}
	want := map[string]int{
		metric.CPU + " saturated": 3, metric.RPS + " saturated": 3, metric.Peak + " saturated": 3,
		metric.CPU + " 50%": 2, metric.P50 + " 50%": 2, metric.P99 + " 50%": 2, metric.Peak + " 50%": 2,
	}
	if fmt.Sprint(size) != fmt.Sprint(want) {
		t.Errorf("comparisons %v, want %v", size, want)
	}
	for _, c := range cs {
		// All differences have one sign: p is the minimum, 2^-6, and
		// the largest of a family of equal ones is its size times that.
		n := want[c.Metric+" "+d.Arms[c.Cell].Load]
		if c.Pairs != 7 || c.P != 1.0/64 || math.Abs(c.Adjusted-float64(n)/64) > 1e-12 {
			t.Errorf("%s of cell %d: %d pairs, p %g, adjusted %g, want %d/64", c.Metric, c.Cell, c.Pairs, c.P, c.Adjusted, n)
		}
		word := finding.Worse
		if c.Metric == metric.RPS {
			word = finding.Better
		}
		if c.Word != word || c.NeedN != nil {
			t.Errorf("%s of cell %d: %s", c.Metric, c.Cell, c.Word)
		}
	}
}

// TestWords: same, not shown with the rounds needed, and no word if a pair has no figure.
func TestWords(t *testing.T) {
	d := plain(7)
	words := func(s service, rounds int) (*finding.Comparison, []finding.Comparison) {
		d.Rounds = rounds
		cs := Compare(d, Cells(d, execute(t, d, s)))
		return find(cs, 1, metric.CPU), cs
	}
	if c, _ := words(service{sd: 0.001}, 7); c.Word != finding.Same || c.NeedN != nil {
		t.Errorf("%+v", c)
	}
	c, _ := words(service{sd: 0.2}, 7)
	if c.Word != finding.NotShown || c.NeedN == nil || *c.NeedN < 200 {
		t.Errorf("%+v", c)
	}
	if c, _ = words(service{sd: 0.001, factor: faster(0.5)}, 3); c.Word != finding.NotShown || c.Low != nil || c.NeedN != nil {
		t.Errorf("3 rounds: %+v", c)
	}
	if c, cs := words(service{sd: 0.001, factor: func(a finding.Arm, m string) float64 {
		if m == metric.CPU && a.GOMAXPROCS == "1" {
			return math.NaN()
		}
		return 1
	}}, 7); c != nil || find(cs, 2, metric.CPU) == nil {
		t.Errorf("a metric without figures: %+v", c)
	}
}

// TestPairsByRound: a round that does not count in one arm is left out in both.
func TestPairsByRound(t *testing.T) {
	d := plain(8)
	d.MaxTries = 1
	f := &fake{run: bad(service{sd: 0.001}, "late", "1 r3 t0", " r5 t0")}
	runs, err := Execute(t.Context(), d, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs := Compare(d, Cells(d, runs))
	if a, b := find(cs, 1, metric.CPU), find(cs, 2, metric.CPU); a.Pairs != 6 || b.Pairs != 7 {
		t.Errorf("%d and %d pairs, want 6 and 7", a.Pairs, b.Pairs)
	}
}
