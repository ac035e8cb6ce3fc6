// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestHolm(t *testing.T) {
	for _, c := range []struct {
		name    string
		p, want []float64
	}{
		{"none", nil, nil},
		{"one", []float64{0.04}, []float64{0.04}},
		// The worked example of the encyclopaedias, in which H3 and H2 fail at
		// 0.05: R's p.adjust(c(.01, .04, .03, .005), "holm").
		{"worked example", []float64{0.01, 0.04, 0.03, 0.005}, []float64{0.03, 0.06, 0.06, 0.02}},
		{"ties", []float64{0.02, 0.02, 0.02}, []float64{0.06, 0.06, 0.06}},
		{"at most 1", []float64{0.9, 0.5, 1}, []float64{1, 1, 1}},
		{"smallest p of seven rounds, three arms", []float64{2.0 / 128, 1, 1}, []float64{6.0 / 128, 1, 1}},
		{"not made", []float64{0.01, nan, 0.04}, []float64{0.02, nan, 0.04}},
		{"infinite", []float64{inf, 0.01}, []float64{1, 0.02}},
	} {
		before := slices.Clone(c.p)
		if got := Holm(c.p); !slices.EqualFunc(got, c.want, equal) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if !slices.EqualFunc(before, c.p, equal) {
			t.Errorf("%s: the argument was changed", c.name)
		}
	}
}

func FuzzHolm(f *testing.F) {
	f.Add([]byte{1, 2, 3})
	f.Add([]byte{0, 128, 250, 251, 255})
	f.Fuzz(func(t *testing.T, raw []byte) {
		p := fuzzValues(raw)
		adjusted := Holm(p)
		if len(adjusted) != len(p) {
			t.Fatalf("%d of %d", len(adjusted), len(p))
		}
		for i, a := range adjusted {
			if math.IsNaN(p[i]) != math.IsNaN(a) || !math.IsNaN(a) && !(a >= 0 && a <= 1 && a >= min(p[i], 1)) {
				t.Fatalf("%v adjusted to %v", p[i], a)
			}
			for j := range p {
				if p[i] < p[j] && a > adjusted[j] {
					t.Fatalf("order of %v lost in %v", p, adjusted)
				}
			}
		}
	})
}

func TestComparePaired(t *testing.T) {
	base := []float64{10, 20, 30, 40, 50, 60, 70}
	arm := []float64{11, 22, 33, 44, 55, 66, 77}
	p := ComparePaired(base, arm, 0.95)
	if p.N != 7 || !near(p.Ratio, 1.1, 1e-12) || !p.HasInterval || !near(p.Interval.Low, 1.1, 1e-12) ||
		!near(p.Interval.High, 1.1, 1e-12) || p.P != 2.0/128 || !(p.SD < 1e-12) {
		t.Errorf("%+v", p)
	}
	if p.Interval.Confidence != 1-6.0/128 {
		t.Errorf("confidence %v", p.Interval.Confidence)
	}

	arm = []float64{12, 19, 37, 41, 44, 69, 93}
	there, back := ComparePaired(base, arm, 0.95), ComparePaired(arm, base, 0.95)
	if there.P != back.P || there.SD != back.SD || !equal(there.Ratio, 1/back.Ratio) ||
		!equal(there.Interval.Low, 1/back.Interval.High) || !equal(there.Interval.High, 1/back.Interval.Low) {
		t.Errorf("swapped: %+v, %+v", there, back)
	}
	if want := deviation([]float64{math.Log(1.2), math.Log(0.95), math.Log(37. / 30), math.Log(41. / 40), math.Log(0.88), math.Log(1.15), math.Log(93. / 70)}); !equal(there.SD, want) {
		t.Errorf("SD %v, want %v", there.SD, want)
	}
	if p := ComparePaired(base[:5], arm[:5], 0.95); p.HasInterval || p.N != 5 || math.IsNaN(p.Ratio) {
		t.Errorf("five pairs: %+v", p)
	}
	if p := ComparePaired(base[:1], arm[:1], 0.95); p.N != 1 || p.P != 1 || !math.IsNaN(p.SD) || !equal(p.Ratio, 1.2) {
		t.Errorf("one pair: %+v", p)
	}
}

func TestComparePairedWithoutRatio(t *testing.T) {
	for name, bad := range map[string]float64{"zero": 0, "negative": -1, "not measured": nan, "infinite": inf} {
		good := []float64{1, 2, 3, 4, 5, 6, 7}
		with := slices.Clone(good)
		with[3] = bad
		for _, p := range []Paired{ComparePaired(good, with, 0.95), ComparePaired(with, good, 0.95)} {
			if p.N != 0 || !math.IsNaN(p.Ratio) || !math.IsNaN(p.SD) || p.P != 1 || p.HasInterval {
				t.Errorf("%s: %+v", name, p)
			}
			if w := Judge(p, p.P, 0.02, true); w != "not shown" {
				t.Errorf("%s: %s", name, w)
			}
		}
	}
	if p := ComparePaired(nil, nil, 0.95); p.N != 0 || p.P != 1 {
		t.Errorf("no rounds: %+v", p)
	}
	defer func() {
		if recover() == nil {
			t.Error("samples of different length were paired")
		}
	}()
	ComparePaired([]float64{1}, []float64{1, 2}, 0.95)
}

func TestJudge(t *testing.T) {
	of := func(low, high float64) Paired {
		return Paired{N: 7, Ratio: math.Sqrt(low * high), HasInterval: true, Interval: Interval{low, high, 0.95}}
	}
	for _, c := range []struct {
		name     string
		p        Paired
		adjusted float64
		margin   float64
		lower    string // the word if lower is better
		higher   string
	}{
		{"beyond the margin above", of(1.05, 1.09), 0.047, 0.02, finding.Worse, finding.Better},
		{"beyond the margin below", of(0.90, 0.95), 0.047, 0.02, finding.Better, finding.Worse},
		{"beyond, but not after Holm", of(1.05, 1.09), 0.051, 0.02, finding.NotShown, finding.NotShown},
		{"excludes 1, touches the margin", of(1.01, 1.09), 0.016, 0.02, finding.NotShown, finding.NotShown},
		{"at the margin exactly", of(1.02, 1.09), 0.016, 0.02, finding.NotShown, finding.NotShown},
		{"within the margin", of(0.99, 1.01), 0.8, 0.02, finding.Same, finding.Same},
		{"within, though significant", of(1.005, 1.015), 0.016, 0.02, finding.Same, finding.Same},
		{"fills the margin", of(1/1.02, 1.02), 0.8, 0.02, finding.Same, finding.Same},
		{"0.98 is beyond 1/1.02", of(0.98, 1.01), 0.8, 0.02, finding.NotShown, finding.NotShown},
		{"wide", of(0.7, 1.4), 0.8, 0.02, finding.NotShown, finding.NotShown},
		{"no interval", Paired{N: 5, Ratio: 2, P: 0.0625}, 0.01, 0.02, finding.NotShown, finding.NotShown},
		{"not compared", Paired{P: 1}, 0.01, 0.02, finding.NotShown, finding.NotShown},
		{"p not a number", of(1.05, 1.09), nan, 0.02, finding.NotShown, finding.NotShown},
		{"margin not a number", of(1.05, 1.09), 0.01, nan, finding.NotShown, finding.NotShown},
		{"margin negative", of(1.05, 1.09), 0.01, -0.1, finding.NotShown, finding.NotShown},
		{"no margin", of(1.001, 1.09), 0.01, 0, finding.Worse, finding.Better},
		{"no margin, no difference at all", of(1, 1), 1, 0, finding.Same, finding.Same},
	} {
		if got := Judge(c.p, c.adjusted, c.margin, true); got != c.lower {
			t.Errorf("%s, lower is better: %s, want %s", c.name, got, c.lower)
		}
		if got := Judge(c.p, c.adjusted, c.margin, false); got != c.higher {
			t.Errorf("%s, higher is better: %s, want %s", c.name, got, c.higher)
		}
	}
}

func TestMinPairs(t *testing.T) {
	for _, c := range []struct {
		alpha       float64
		comparisons int
		want        int
	}{
		{0.05, 1, 6}, {0.05, 2, 7}, {0.05, 3, 7}, {0.05, 4, 8}, {0.05, 0, 6}, {0.01, 1, 8},
		{0.03125, 1, 6}, {1, 1, 1}, {0, 1, 0}, {-1, 1, 0}, {nan, 1, 0},
	} {
		got := MinPairs(c.alpha, c.comparisons)
		if got != c.want {
			t.Errorf("%v, %d: %d, want %d", c.alpha, c.comparisons, got, c.want)
		}
		if got < 2 || c.comparisons < 1 {
			continue
		}
		for n, enough := range map[int]bool{got: true, got - 1: false} {
			family := make([]float64, c.comparisons)
			for i := range family {
				family[i] = 1
			}
			family[0] = SignedRank(withSum(n, 0))
			if (Holm(family)[0] <= c.alpha) != enough {
				t.Errorf("%v, %d: with %d pairs p is %v", c.alpha, c.comparisons, n, Holm(family)[0])
			}
		}
	}
}

func TestNeedN(t *testing.T) {
	paired := func(sd float64) float64 { return sd * math.Sqrt2 } // of two runs of sd each
	for _, c := range []struct {
		name                     string
		sd, margin, power, alpha float64
		want                     int
	}{
		// (1.95996+0.84162)^2 = 7.84888, times (sd/log(1+margin))^2, plus
		// 1.95996^2/2 = 1.92073, times pi/3.
		{"CPU per request, 5 %", paired(0.03), 0.05, 0.8, 0.05, 9},
		{"CPU per request, 3 %", paired(0.03), 0.03, 0.8, 0.05, 19},
		{"CPU per request, 2 %", paired(0.03), 0.02, 0.8, 0.05, 40},
		{"P99, half more", paired(0.40), 0.50, 0.8, 0.05, 19},
		{"P99, a quarter more", paired(0.40), 0.25, 0.8, 0.05, 55},
		{"hardly noise: what the test needs", 0.001, 0.02, 0.8, 0.05, 6},
		{"no noise", 0, 0.02, 0.8, 0.05, 6},
		{"no power wanted", 1, 0.02, 0.001, 0.05, 6},
		{"not a number", nan, 0.02, 0.8, 0.05, 0},
		{"infinite", inf, 0.02, 0.8, 0.05, 0},
		{"no margin", 0.1, 0, 0.8, 0.05, 0},
		{"certainty", 0.1, 0.02, 1, 0.05, 0},
		{"no false alarm at all", 0.1, 0.02, 0.8, 0, 0},
		{"beyond reach", 1e6, 1e-6, 0.8, 0.05, 0},
	} {
		if got := NeedN(c.sd, c.margin, c.power, c.alpha); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}
