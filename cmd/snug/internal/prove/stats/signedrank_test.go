// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// depression is Hamilton's depression scale factor IV of nine patients before
// and after a tranquillizer: Hollander and Wolfe (1973), table 3.1; also in the
// example of R's wilcox.test. Differences are after minus before.
var depression = []float64{
	0.878 - 1.83, 0.647 - 0.50, 0.598 - 1.62, 2.05 - 2.48, 1.06 - 1.68,
	1.29 - 1.88, 1.06 - 1.55, 3.14 - 3.06, 1.29 - 1.30,
}

// zeaMays is Darwin's: heights of crossed less self-fertilised maize, eighths of
// an inch; Fisher, "The Design of Experiments" (1935), 17.
var zeaMays = []float64{49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48}

func TestSignedRankPublished(t *testing.T) {
	for _, c := range []struct {
		name string
		d    []float64
		p    float64
		unit float64
	}{
		// R prints V = 40, p-value = 0.01953 for one side.
		{"depression, R's wilcox.test", depression, 2 * 0.01953, 0.00002},
		// The example of scipy.stats.wilcoxon: statistic 24, p 0.041259765625.
		{"maize, scipy's wilcoxon", zeaMays, 0.041259765625, 1e-12},
		{"seven of seven", []float64{1, 2, 3, 4, 5, 6, 7}, 2.0 / 128, 1e-15},
		{"six of six", []float64{-1, -2, -3, -4, -5, -6}, 2.0 / 64, 1e-15},
	} {
		if p := SignedRank(c.d); !near(p, c.p, c.unit) {
			t.Errorf("%s: %v, want %v", c.name, p, c.p)
		}
	}
}

// TestSignedRankCriticalValues: the largest significant smaller rank sum, two-sided; -1
// is none. Wilcoxon and Wilcox, "Some Rapid Approximate Statistical Procedures" (1964),
// as corrected by R. L. McCornack, "Extended Tables of the Wilcoxon Matched Pair Signed
// Rank Statistic", JASA 60 (1965).
func TestSignedRankCriticalValues(t *testing.T) {
	table := map[float64][]int{ // from n = 6
		0.05: {0, 2, 3, 5, 8, 10, 13, 17, 21, 25, 29, 34, 40, 46, 52},
		0.02: {-1, 0, 1, 3, 5, 7, 9, 12, 15, 19, 23, 27, 32, 37, 43},
		0.01: {-1, -1, 0, 1, 3, 5, 7, 9, 12, 15, 19, 23, 27, 32, 37},
	}
	for level, column := range table {
		for i, want := range column {
			n := i + 6
			got := -1
			for w := 0; w <= n*(n+1)/4 && SignedRank(withSum(n, w)) <= level; w++ {
				got = w
			}
			if got != want {
				t.Errorf("n=%d at %v: %d, want %d", n, level, got, want)
			}
			// The interval is the same table: k is one more.
			if k, _ := signedRankCritical(n, 1-level); k != want+1 {
				t.Errorf("n=%d at %v: interval from average %d, want %d", n, level, k, want+1)
			}
		}
	}
}

// withSum returns n differences without ties, of which the negative ones have ranks that
// sum to w.
func withSum(n, w int) []float64 {
	d := make([]float64, n)
	for r := n; r >= 1; r-- {
		d[r-1] = float64(r)
		if w >= r {
			d[r-1] = -float64(r)
			w -= r
		}
	}
	return d
}

// TestSignedRankByEnumeration counts all 2^n signs of samples with zeros and ties, and
// computes the ranks in another way.
func TestSignedRankByEnumeration(t *testing.T) {
	random := rand.New(rand.NewPCG(2, 2))
	for n := 0; n <= 12; n++ {
		for try := range 8 {
			d := make([]float64, n)
			for i := range d {
				d[i] = float64(random.IntN(2+2*try) - try/2) // few values: many ties
			}
			if got, want := SignedRank(d), enumerate(d); !equal(got, want) {
				t.Errorf("%v: %v, enumerated %v", d, got, want)
			}
		}
	}
}

// enumerate returns the p-value by its definition.
func enumerate(d []float64) float64 {
	var ranks []float64
	statistic, total := 0.0, 0.0
	for _, v := range d {
		below, same := 0, 0
		for _, u := range d {
			switch cmp.Compare(math.Abs(u), math.Abs(v)) {
			case -1:
				below++
			case 0:
				same++
			}
		}
		if v == 0 {
			continue
		}
		r := float64(below) + float64(same+1)/2
		ranks = append(ranks, r)
		total += r
		if v > 0 {
			statistic += r
		}
	}
	asUneven, all := 0, 1<<len(ranks)
	for signs := range all {
		s := 0.0
		for i, r := range ranks {
			if signs>>i&1 == 1 {
				s += r
			}
		}
		if math.Abs(s-total/2) >= math.Abs(statistic-total/2) {
			asUneven++
		}
	}
	return float64(asUneven) / float64(all)
}

func TestSignedRankEdges(t *testing.T) {
	for _, c := range []struct {
		name string
		d    []float64
		want float64
	}{
		{"none", nil, 1},
		{"zeros only", []float64{0, 0, math.Copysign(0, -1)}, 1},
		{"one", []float64{5}, 1},
		{"not a number", []float64{1, 2, nan}, nan},
		{"infinite is just largest", []float64{1, 2, 3, 4, 5, 6, inf}, 2.0 / 128},
		{"opposite infinities are a tie", []float64{inf, -inf}, 1},
		{"a zero counts for neither side", []float64{0, 1, 2, 3, 4, 5, 6}, 2.0 / 64},
	} {
		before := slices.Clone(c.d)
		if got := SignedRank(c.d); !equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if !slices.EqualFunc(before, c.d, equal) {
			t.Errorf("%s: the argument was changed", c.name)
		}
	}
}

// TestSignedRankZerosStayInOrder: a smaller effect is never more certain. This is Pratt's
// reason to rank zeros: without it, moving all of these down by a little drops p.
func TestSignedRankZerosStayInOrder(t *testing.T) {
	d := []float64{0, 2, 3, 4, 6, 7, 8, 9, 11, 14, 15, 17, -18}
	last := 0.0
	for shift := 0.0; shift <= 5; shift += 0.5 {
		moved := slices.Clone(d)
		for i := range moved {
			moved[i] -= shift
		}
		p := SignedRank(moved)
		if p < last {
			t.Errorf("moved down by %v: p %v, before %v", shift, p, last)
		}
		last = p
	}
}

// TestSignedRankApproximation: on both sides of the limit the two methods agree.
func TestSignedRankApproximation(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 3))
	for _, shift := range []float64{0, 0.1, 0.2, 0.3} {
		d := make([]float64, exactLimit)
		for i := range d {
			d[i] = math.Round(8*(random.NormFloat64()+shift)) / 8 // with ties and zeros
		}
		ranks, positive := doubledRanks(d)
		total := 0
		for _, r := range ranks {
			total += r
		}
		exact, normal := SignedRank(d), signedRankNormal(ranks, min(positive, total-positive), total)
		if math.Abs(exact-normal) > 1e-3 {
			t.Errorf("shift %v: exact %v, normal %v", shift, exact, normal)
		}
	}
	for _, confidence := range []float64{0.5, 0.95, 0.99} {
		k, has := signedRankCritical(exactLimit, confidence)
		beyond, approximate := signedRankCritical(exactLimit+1, confidence)
		if k >= beyond || beyond > k+exactLimit+1 || math.Abs(has-approximate) > 1e-3 || approximate < confidence {
			t.Errorf("at %v: %d (%v) for 200, %d (%v) for 201", confidence, k, has, beyond, approximate)
		}
	}
	if p := SignedRank(make([]float64, 300)); p != 1 {
		t.Errorf("300 zeros: %v", p)
	}
}

func TestHodgesLehmannPublished(t *testing.T) {
	// Hollander and Wolfe, examples 3.3 and 3.4: -0.46, and -0.786 to -0.010 with
	// a confidence of 96.1 %.
	if got := HodgesLehmann(depression); !near(got, -0.46, 0.001) {
		t.Errorf("depression: %v", got)
	}
	iv, ok := HodgesLehmannInterval(depression, 0.96)
	if !ok || !near(iv.Low, -0.786, 0.001) || !near(iv.High, -0.010, 0.001) || !near(iv.Confidence, 0.961, 0.001) {
		t.Errorf("depression: %v %v", iv, ok)
	}
	for _, d := range [][]float64{nil, {1, nan}, {1, inf}} {
		if got := HodgesLehmann(d); !math.IsNaN(got) {
			t.Errorf("%v: %v", d, got)
		}
	}
}

func TestHodgesLehmannInterval(t *testing.T) {
	for _, c := range []struct {
		name string
		d    []float64
		ok   bool
		want Interval
	}{
		{"five are too few", []float64{1, 2, 3, 4, 5}, false, Interval{}},
		{"six: from the least to the largest", []float64{1, 2, 3, 4, 5, 6}, true, Interval{1, 6, 0.96875}},
		// P(V < 3) = 3/128: the third average from each end.
		{"seven", []float64{1, 2, 4, 8, 16, 32, 64}, true, Interval{2, 40, 1 - 6.0/128}},
		{"not a number", []float64{1, 2, 3, 4, 5, 6, nan}, false, Interval{}},
		{"infinite", []float64{1, 2, 3, 4, 5, 6, inf}, false, Interval{}},
		{"all equal", make([]float64, 7), true, Interval{0, 0, 1 - 6.0/128}},
	} {
		if iv, ok := HodgesLehmannInterval(c.d, 0.95); ok != c.ok || iv != c.want {
			t.Errorf("%s: %v %v, want %v", c.name, iv, ok, c.want)
		}
	}
	if _, ok := HodgesLehmannInterval(make([]float64, 300), 1); ok {
		t.Error("an interval with certainty")
	}
}

// TestIntervalIsTheTest: without ties, the interval holds exactly the centres that the
// test does not reject.
func TestIntervalIsTheTest(t *testing.T) {
	random := rand.New(rand.NewPCG(4, 4))
	for n := 6; n <= 25; n++ {
		d := make([]float64, n)
		for i := range d {
			d[i] = random.NormFloat64() + 0.3
		}
		iv, ok := HodgesLehmannInterval(d, 0.95)
		if !ok {
			t.Fatal(n)
		}
		for centre, inside := range map[float64]bool{iv.Low - 1e-9: false, iv.Low + 1e-9: true, iv.High - 1e-9: true, iv.High + 1e-9: false} {
			moved := slices.Clone(d)
			for i := range moved {
				moved[i] -= centre
			}
			if p := SignedRank(moved); (p > 1-iv.Confidence+1e-12) != inside {
				t.Errorf("n=%d: p %v at %v, interval %v", n, p, centre, iv)
			}
		}
	}
}

func FuzzSignedRank(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7})
	f.Add([]byte{0, 0, 250, 251, 252, 255})
	f.Add(slices.Repeat([]byte{7, 249}, 150))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) > 400 {
			return
		}
		d := fuzzValues(raw)
		p := SignedRank(d)
		if slices.ContainsFunc(d, math.IsNaN) {
			if !math.IsNaN(p) {
				t.Fatalf("%v has p %v", d, p)
			}
			return
		}
		mirrored := slices.Clone(d)
		for i := range mirrored {
			mirrored[i] = -mirrored[i]
		}
		slices.Reverse(mirrored)
		if !(p > 0 && p <= 1) || SignedRank(mirrored) != p {
			t.Fatalf("%v has p %v, mirrored %v", d, p, SignedRank(mirrored))
		}
		if iv, ok := HodgesLehmannInterval(d, 0.95); ok {
			if centre := HodgesLehmann(d); !(iv.Low <= centre && centre <= iv.High) || iv.Confidence < 0.95 {
				t.Fatalf("%v: %v not in %v", d, centre, iv)
			}
		}
	})
}

// fuzzValues makes numbers of bytes: small ones with many ties, and special values of
// floating point.
func fuzzValues(raw []byte) []float64 {
	odd := []float64{nan, inf, -inf, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64}
	x := make([]float64, len(raw))
	for i, b := range raw {
		if int(b) >= 256-len(odd) {
			x[i] = odd[255-b]
		} else {
			x[i] = float64(int8(b)) / 8
		}
	}
	return x
}
