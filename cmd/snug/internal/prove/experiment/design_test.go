// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"reflect"
	"testing"
)

// TestShuffleIsBalanced: over many rounds each arm is equally often in each position, and
// equally often after each other arm.
// schedule returns the runs of all rounds in order, without repetitions.
func schedule(d *Design) (trials []Trial) {
	for round := range d.Rounds {
		trials = append(trials, d.round(round)...)
	}
	return trials
}

func TestShuffleIsBalanced(t *testing.T) {
	const rounds = 3000
	d := plain(rounds)
	d.Arms = append(d.Arms, arm("24", "saturated"))
	n := len(d.Arms)
	at := map[string][]float64{}
	follows := map[string]float64{}
	trials := schedule(d)
	if len(trials) != rounds*n {
		t.Fatalf("%d trials, want %d", len(trials), rounds*n)
	}
	for i, tr := range trials {
		if tr.Round != i/n || tr.Order != i%n {
			t.Fatalf("trial %d is round %d, order %d", i, tr.Round, tr.Order)
		}
		name := tr.Arm.GOMAXPROCS
		if at[name] == nil {
			at[name] = make([]float64, n)
		}
		at[name][tr.Order]++
		if tr.Order > 0 {
			follows[trials[i-1].Arm.GOMAXPROCS+" "+name]++
		}
	}
	// Chi-squared with 9 and 11 degrees of freedom: 27.9 and 31.3 are the 0.999
	// quantiles. The seed is fixed.
	chi := 0.0
	for _, counts := range at {
		for _, c := range counts {
			chi += (c - rounds/float64(n)) * (c - rounds/float64(n)) / (rounds / float64(n))
		}
	}
	if chi > 27.9 {
		t.Errorf("positions are not balanced: chi-squared %.1f, %v", chi, at)
	}
	chi = 0
	expected := rounds * float64(n-1) / float64(n*(n-1))
	for _, c := range follows {
		chi += (c - expected) * (c - expected) / expected
	}
	if len(follows) != n*(n-1) || chi > 31.3 {
		t.Errorf("neighbours are not balanced: chi-squared %.1f, %v", chi, follows)
	}
}

func TestScheduleIsTheSeeds(t *testing.T) {
	a, b, c := plain(20), plain(20), plain(20)
	c.Seed++
	if !reflect.DeepEqual(schedule(a), schedule(b)) {
		t.Error("the same seed gives another schedule")
	}
	if reflect.DeepEqual(schedule(a), schedule(c)) {
		t.Error("another seed gives the same schedule")
	}
	longer := plain(21)
	if !reflect.DeepEqual(schedule(longer)[:20*3], schedule(a)) {
		t.Error("a round's order depends on how many rounds there are")
	}
	seeds := map[uint64]int{}
	for _, tr := range schedule(a) {
		if tr.Seed >= 1<<53 {
			t.Errorf("seed %d is not exact in a JSON reader with doubles", tr.Seed)
		}
		if r, ok := seeds[tr.Seed]; ok && r != tr.Round {
			t.Errorf("rounds %d and %d have the same arrivals", r, tr.Round)
		}
		seeds[tr.Seed] = tr.Round
	}
	if len(seeds) != 20 {
		t.Errorf("%d seeds of arrivals in 20 rounds", len(seeds))
	}
}

func TestScheduleKeepsRates(t *testing.T) {
	d := &Design{Arms: []Arm{arm("", "50%"), arm("", "saturated")}, Rounds: 1}
	d.Arms[0].Rate = 793
	for _, tr := range schedule(d) {
		want := 0.0
		if tr.Arm.Load == "50%" {
			want = 793
		}
		if tr.Rate != want {
			t.Errorf("%s: rate %g, want %g", tr.Arm.Load, tr.Rate, want)
		}
	}
}

// variant returns an arm of another workload.
func variant(workload, procs string, labels ...string) Arm {
	a := arm(procs, "saturated", labels...)
	a.Workload = workload
	return a
}

func TestBaseline(t *testing.T) {
	quota := func(q float64, a Arm) Arm { a.Quota = q; return a }
	burst := func(a Arm) Arm { a.Burst = 50000; return a }
	const none = -1
	for _, c := range []struct {
		name    string
		arms    []Arm
		against func([]Arm, int) (int, bool)
		want    []int
	}{
		{"the default, wherever it stands",
			[]Arm{arm("1", "saturated"), arm("", "saturated", LabelDefault), arm("8", "saturated")}, nil, []int{1, none, 1}},
		{"the default before the current setting",
			[]Arm{arm("4", "saturated", LabelCurrent), arm("", "saturated", LabelDefault)}, nil, []int{1, none}},
		{"the current setting without a default",
			[]Arm{arm("1", "saturated"), arm("4", "saturated", LabelCurrent)}, nil, []int{1, none}},
		{"the first without labels",
			[]Arm{arm("1", "saturated"), arm("4", "saturated")}, nil, []int{none, 0}},
		{"loads are not compared with each other",
			[]Arm{arm("", "saturated", LabelDefault), arm("", "50%", LabelDefault), arm("1", "50%"), arm("1", "80%")}, nil,
			[]int{none, none, 1, none}},
		{"nor quotas",
			[]Arm{arm("", "saturated", LabelDefault), quota(0.5, arm("1", "saturated"))}, nil, []int{none, none}},
		{"but bursts are",
			[]Arm{arm("", "saturated", LabelDefault), burst(arm("", "saturated", LabelDefault))}, nil, []int{none, 0}},
		{"variants each have their own",
			[]Arm{variant("pool/numcpu", "", LabelDefault), variant("pool/numcpu", "1"), variant("pool/limiter", "", LabelDefault)}, nil,
			[]int{none, 0, none}},
		{"unless they are to be compared",
			[]Arm{variant("pool/numcpu", "", LabelDefault), variant("pool/numcpu", "1"), variant("pool/limiter", "", LabelDefault)},
			BaselineOfVariants, []int{none, 0, 0}},
		{"and then only their defaults",
			[]Arm{variant("xml/single", "", LabelDefault), variant("xml/single", "1"), variant("xml/pool", "1"), variant("xml/pool", "", LabelDefault),
				variant("xml/fanout", "", LabelDefault), variant("xml/fanout", "1")},
			BaselineOfVariants, []int{none, 0, 3, 0, 0, 4}},
		{"and these only with the same setting",
			[]Arm{variant("pool/numcpu", "2"), variant("pool/numcpu", "1"), variant("pool/limiter", "1"), variant("pool/limiter", "2"), variant("pool/gomaxprocs", "2")},
			BaselineOfVariants, []int{none, 0, none, 2, 0}},
		{"variants of other work never",
			[]Arm{variant("http", "", LabelDefault), variant("http/gc", "", LabelDefault), variant("http/gc", "1"),
				variant("fib", "", LabelDefault), variant("fib/unbounded", "", LabelDefault)},
			BaselineOfVariants, []int{none, none, 1, none, none}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &Design{Arms: c.arms, Against: c.against}
			for i, want := range c.want {
				if got, ok := d.baseline(i); ok != (want != none) || ok && got != want {
					t.Errorf("arm %d: %d, %v, want %d", i, got, ok, want)
				}
			}
		})
	}
}

// TestMinRounds: the smallest p-value of n pairs is 2^(1-n). Holm multiplies it by the
// number of comparisons under one load, and a verdict by the number of loads.
func TestMinRounds(t *testing.T) {
	for arms := 1; arms < 12; arms++ {
		d := &Design{}
		for i := range arms {
			d.Arms = append(d.Arms, arm(string(rune('a'+i)), "saturated"), arm(string(rune('a'+i)), "50%"))
		}
		want := 6
		for float64(2*(arms-1))*math.Pow(2, float64(1-want)) > 0.05 {
			want++
		}
		if got := d.MinRounds(); got != want {
			t.Errorf("%d arms: %d rounds, want %d", arms, got, want)
		}
	}
}
