// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestBinomial compares with whole numbers of any size, on both sides of the change of method.
func TestBinomial(t *testing.T) {
	for _, n := range []int{1, 2, 7, 59, 60, 61, 62, 200} {
		for k := 0; k <= n; k++ {
			want, _ := new(big.Rat).SetFrac(new(big.Int).Binomial(int64(n), int64(k)), new(big.Int).Lsh(big.NewInt(1), uint(n))).Float64()
			if got := binomial(n, k); n <= 60 && got != want || math.Abs(got-want) > 1e-11*want {
				t.Errorf("%d of %d: %v, want %v", k, n, got, want)
			}
		}
	}
}

// TestAllInOne compares with counting: of the ways to place k failures in n+m runs, those in the first n.
func TestAllInOne(t *testing.T) {
	for _, c := range [][3]int{{0, 5, 5}, {1, 1, 1}, {2, 3, 2}, {3, 3, 3}, {4, 10, 7}, {5, 5, 20}, {3, 2, 4}} {
		k, n, m := int64(c[0]), int64(c[1]), int64(c[2])
		want, _ := new(big.Rat).SetFrac(new(big.Int).Binomial(n, k), new(big.Int).Binomial(n+m, k)).Float64()
		if got := AllInOne(c[0], c[1], c[2]); !equal(got, want) {
			t.Errorf("%d of %d and %d: %v, want %v", k, n, m, got, want)
		}
	}
}

// TestDeviation: by hand.
func TestDeviation(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{{nil, nan}, {[]float64{3}, nan}, {[]float64{1, 3}, math.Sqrt2}, {[]float64{1, 2, 3, 4}, math.Sqrt(5. / 3)}, {[]float64{5, 5, 5}, 0}, {[]float64{-2, 2, -2, 2}, 4 / math.Sqrt(3)}} {
		if got := deviation(c.x); !equal(got, c.want) {
			t.Errorf("%v: %v, want %v", c.x, got, c.want)
		}
	}
	for _, v := range []struct {
		x    float64
		want bool
	}{{0, false}, {-1, false}, {math.SmallestNonzeroFloat64, true}, {math.MaxFloat64, true}, {inf, false}, {nan, false}} {
		if got := positive(v.x); got != v.want {
			t.Errorf("positive(%v) = %t", v.x, got)
		}
	}
}

// TestSignedRankNormal compares the approximation with its formula for differences without ties: the mean
// n(n+1)/4, the variance n(n+1)(2n+1)/24 and half a step of correction.
func TestSignedRankNormal(t *testing.T) {
	formula := func(n, w float64) float64 {
		off := n*(n+1)/4 - w - 0.5
		if off <= 0 {
			return 1
		}
		return math.Erfc(off / math.Sqrt(n*(n+1)*(2*n+1)/12))
	}
	for _, n := range []int{exactLimit + 1, exactLimit + 2, 300} {
		half := n * (n + 1) / 4
		for _, w := range []int{0, 1, half / 2, half * 9 / 10, half - 1, half} {
			if got, want := SignedRank(withSum(n, w)), formula(float64(n), float64(w)); !equal(got, want) {
				t.Errorf("%d, sum %d: %v, want %v", n, w, got, want)
			}
		}
	}
	// At the limit it is still exact: 2 of 2^200 for the largest agreement.
	if got := SignedRank(withSum(exactLimit, 0)); got != math.Ldexp(2, -exactLimit) {
		t.Errorf("%d differences of one sign: %v", exactLimit, got)
	}
}

// TestSignedRankCriticalFar: beyond the limit k is the largest for which the normal distribution has the confidence,
// and that is nearly the exact one's.
func TestSignedRankCriticalFar(t *testing.T) {
	for _, n := range []int{exactLimit + 1, 203, 260} {
		half, m := n*(n+1)/4, float64(n)
		ranks := make([]int, n)
		for i := range ranks {
			ranks[i] = i + 1
		}
		tail := signedRankTail(ranks, half)
		normal := func(k int) float64 {
			return math.Erf((m*(m+1)/4 + 0.5 - float64(k)) / math.Sqrt(m*(m+1)*(2*m+1)/12))
		}
		for _, confidence := range []float64{-1, 0, 0.5, 0.9, 0.95, 0.99, 0.9999} {
			k, has := signedRankCritical(n, confidence)
			if !equal(has, normal(k)) || math.Abs(has-(1-2*sum(tail[:k]))) > 1e-3 {
				t.Errorf("%d at %v: %d, %v, exact %v", n, confidence, k, has, 1-2*sum(tail[:k]))
			}
			if has < confidence || k < half && normal(k+1) >= confidence || confidence <= 0 && k != half {
				t.Errorf("%d at %v: %d has %v, the next %v", n, confidence, k, has, normal(k+1))
			}
		}
	}
	for n, want := range map[int]Interval{2: {1, 2, 0.5}, 3: {1.5, 2.5, 0.5}} {
		if iv, ok := HodgesLehmannInterval([]float64{1, 2, 3}[:n], 0.5); !ok || iv != want {
			t.Errorf("%d differences: %v %t, want %v", n, iv, ok, want)
		}
	}
	for n := 2; n <= 20; n++ { // with less than no confidence it is the innermost interval, as with none
		half := n * (n + 1) / 4
		if k, _ := signedRankCritical(n, -1); k != half {
			t.Errorf("%d without confidence: %d, want %d", n, k, half)
		}
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i)
		}
		iv, ok := MedianInterval(x, -1)
		if want := float64(n/2 - 1); !ok || iv.Low != want || iv.High != float64(n-1)-want {
			t.Errorf("median of %d without confidence: %v %t", n, iv, ok)
		}
	}
	if iv, ok := HodgesLehmannInterval([]float64{1}, 0); ok {
		t.Errorf("one difference: %v", iv)
	}
}

// TestOutlyingEdges: the least number of values, and the measure for values of which most are alike.
func TestOutlyingEdges(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		k    float64
		want []bool
	}{
		{[]float64{1, 100}, 3, []bool{false, false}},
		{[]float64{1, 1.1, 100}, 3, []bool{false, false, true}},
		{[]float64{1, 100, inf}, 3, []bool{false, false, true}},
		// The mean deviation is a fifth, times 1.2533: at 3.9 times that 0.9776, at 4 times 1.0026.
		{[]float64{0, 0, 0, 0, 1}, 3.9, []bool{false, false, false, false, true}},
		{[]float64{0, 0, 0, 0, 1}, 4, []bool{false, false, false, false, false}},
		{[]float64{5, 5, 5, 5, 6}, 3.9, []bool{false, false, false, false, true}},
		{[]float64{5, 5, 5, 5, 6}, 4, []bool{false, false, false, false, false}},
		{[]float64{5, 5, 5, 5, 4}, 1, []bool{false, false, false, false, false}},
	} {
		if got := Outlying(c.x, c.k); !slices.Equal(got, c.want) {
			t.Errorf("%v, %v: %v, want %v", c.x, c.k, got, c.want)
		}
	}
}

// TestJudgeEdges: an interval that ends at the margin, and p at alpha.
func TestJudgeEdges(t *testing.T) {
	const margin = 0.25 // 1.25 and 0.8
	for _, c := range []struct {
		low, high, adjusted float64
		want                string // if lower is better
	}{
		{0.8, 1.25, 0.01, "same"}, {math.Nextafter(0.8, 0), 1.25, 0.01, "not shown"}, {0.8, math.Nextafter(1.25, 2), 0.01, "not shown"},
		{1.25, 2, 0.01, "not shown"}, {math.Nextafter(1.25, 2), 2, 0.01, "worse"}, {0.5, 0.8, 0.01, "not shown"}, {0.5, math.Nextafter(0.8, 0), 0.01, "better"},
		{1.3, 2, 0.05, "worse"}, {1.3, 2, math.Nextafter(0.05, 1), "not shown"}, {0.5, 0.6, 0.05, "better"},
	} {
		p := Paired{N: 1, HasInterval: true, Interval: Interval{c.low, c.high, 0.95}}
		if got := Judge(p, c.adjusted, margin, true); got != c.want {
			t.Errorf("%v to %v, p %v: %s, want %s", c.low, c.high, c.adjusted, got, c.want)
		}
	}
}

// TestNeedNEdges: arguments at and beyond their bounds, and numbers near the largest.
func TestNeedNEdges(t *testing.T) {
	for _, c := range []struct {
		sd, margin, power, alpha float64
		want                     int
	}{
		{-0.1, 0.02, 0.8, 0.05, 0}, {0.1, -0.02, 0.8, 0.05, 0}, {0.1, 0.02, 0, 0.05, 0}, {0.1, 0.02, -1, 0.05, 0}, {0.1, 0.02, 2, 0.05, 0}, {0.1, 0.02, 0.8, 1, 0}, {0.1, 0.02, 0.8, -1, 0}, {0.1, 0.02, 0.8, 2, 0},
		// (7.84888 * (sd/log(2))^2 + 1.92073) * pi/3, as in TestNeedN.
		{1, 1, 0.8, 0.05, 20}, {2, 1, 0.8, 0.05, 71}, {1, 1, 0.9, 0.05, 25}, {1, 1, 0.8, 0.01, 29}, {1, 1, 0.5, 0.05, 11},
	} {
		if got := NeedN(c.sd, c.margin, c.power, c.alpha); got != c.want {
			t.Errorf("sd %v, margin %v, power %v, alpha %v: %d, want %d", c.sd, c.margin, c.power, c.alpha, got, c.want)
		}
	}
	per := 7.848879734 * math.Pi / 3 / (math.Ln2 * math.Ln2) // rounds for sd 1 and margin 1
	for factor, want := range map[float64]bool{0.999: true, 1.001: false} {
		if got := NeedN(math.Sqrt(1e9*factor/per), 1, 0.8, 0.05); (got > 0) != want {
			t.Errorf("%v of the largest number: %d", factor, got)
		}
	}
}

// TestProportionEdges: no event and only events end the interval exactly at 0 and 1, and what is no proportion.
func TestProportionEdges(t *testing.T) {
	for _, n := range []int{1, 2, 20} {
		if iv := ProportionInterval(0, n, 0.95); iv.Low != 0 || !near(iv.High, 1-math.Pow(0.025, 1/float64(n)), 1e-12) {
			t.Errorf("0 of %d: %v", n, iv)
		}
		if iv := ProportionInterval(n, n, 0.95); iv.High != 1 || !near(iv.Low, math.Pow(0.025, 1/float64(n)), 1e-12) {
			t.Errorf("%d of %d: %v", n, n, iv)
		}
	}
	for _, c := range [][2]int{{0, 0}, {-1, 5}, {6, 5}, {0, -1}} {
		if iv := ProportionInterval(c[0], c[1], 0.95); iv != (Interval{0, 1, 0.95}) {
			t.Errorf("%d of %d: %v", c[0], c[1], iv)
		}
	}
	for k := 0; k <= 7; k++ {
		want := 0.0
		for i := 0; i <= k; i++ {
			want += float64(new(big.Int).Binomial(7, int64(i)).Int64()) * math.Pow(0.3, float64(i)) * math.Pow(0.7, float64(7-i))
		}
		if got := binomialCDF(k, 7, 0.3); !equal(got, min(want, 1)) {
			t.Errorf("at most %d of 7: %v, want %v", k, got, want)
		}
	}
}

// TestClusters: counts of measurements, without empty classes and runs.
func TestClusters(t *testing.T) {
	p := pool([]Cluster{{[]float64{1, 2, 3}, []int64{2, 0, 3}}, {[]float64{2}, []int64{0}}, {}, {[]float64{3, 4}, []int64{1, 1}}})
	if !slices.Equal(p.values, []float64{1, 3, 4}) || len(p.runs) != 2 || !slices.Equal(p.runs[0].upTo, []int64{2, 5}) || p.runs[0].total() != 5 || p.runs[1].total() != 2 {
		t.Errorf("%+v", p)
	}
	for v, want := range map[float64]int64{0: 0, 1: 2, 2: 2, 3: 5, 4: 5} {
		if got := p.runs[0].atMost(v); got != want {
			t.Errorf("%d at most %v, want %d", got, v, want)
		}
	}
	// One of the first run's and two of the second's: 1 1 3 3 3, 3 4 3 4.
	for q, want := range map[float64]float64{0.1: 1, 2. / 9: 1, 0.23: 3, 7. / 9: 3, 0.78: 4, 1: 4} {
		if got := p.quantile([]int64{1, 2}, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if got := p.quantile([]int64{0, 1}, 0.5); got != 3 {
		t.Errorf("of the second run alone: %v", got)
	}
}

// TestExpandedTail compares with erfc of tabled quantiles of Student's distribution.
func TestExpandedTail(t *testing.T) {
	for g, want := range map[int]float64{5: 0.00095410, 7: 0.00410915, 10: 0.00855064} {
		if got := expandedTail(g, 0.95); !near(got, want, 1e-8) {
			t.Errorf("%d runs: %v, want %v", g, got, want)
		}
	}
	if got := studentQuantile(1, 1); !(got > 1e15) {
		t.Errorf("certainty: %v", got)
	}
}

// TestBootstrapByHand repeats the resampling with the measurements themselves, and ends at the same values.
func TestBootstrapByHand(t *testing.T) {
	const resamples, q, seed = 3000, 0.6, 9
	random := rand.New(rand.NewPCG(8, 8))
	var runs []Cluster
	var all [][]float64
	for range 6 {
		x := make([]float64, 40)
		for i := range x {
			x[i] = math.Floor(random.ExpFloat64() * 30)
		}
		runs, all = append(runs, raw(slices.Clone(x)...)), append(all, x)
	}
	estimate, iv, ok := ClusterBootstrap(runs, q, 0.95, resamples, seed)
	again := rand.New(rand.NewPCG(seed, 0))
	found := make([]float64, resamples)
	for i := range found {
		var many []float64
		for range all {
			many = append(many, all[again.IntN(len(all))]...)
		}
		slices.Sort(many)
		found[i] = Quantile(many, q)
	}
	slices.Sort(found)
	outer := int(expandedTail(6, 0.95) * resamples)
	whole := slices.Concat(all...)
	slices.Sort(whole)
	if want := (Interval{found[outer], found[resamples-1-outer], 0.95}); !ok || iv != want || estimate != Quantile(whole, q) {
		t.Errorf("%v %v %t, want %v", estimate, iv, ok, want)
	}
}

// TestBootstrapEnough: the least of everything, and one less.
func TestBootstrapEnough(t *testing.T) {
	one := func(n int) (c Cluster) {
		for i := range n {
			c.Values, c.Counts = append(c.Values, float64(i)), append(c.Counts, 1)
		}
		return c
	}
	five := func(n int) []Cluster { return slices.Repeat([]Cluster{one(n)}, 5) }
	enough := int(math.Ceil(1 / expandedTail(5, 0.95)))
	for _, c := range []struct {
		name          string
		runs          []Cluster
		q, confidence float64
		resamples     int
		ok            bool
	}{
		{"ten above", five(4), 0.5, 0.95, 2000, true}, {"nine above", append(five(4)[:4], one(2)), 0.5, 0.95, 2000, false},
		{"enough resamples", five(20), 0.5, 0.95, enough, true}, {"one less", five(20), 0.5, 0.95, enough - 1, false},
		{"no confidence", five(20), 0.5, 0, 2000, false}, {"certainty", five(20), 0.5, 1, 2000, false}, {"not a number", five(20), 0.5, nan, 2000, false}, {"negative", five(20), 0.5, -0.5, 2000, false},
		{"a little", five(20), 0.5, 0.01, 2000, true},
		{"quantile 0", five(20), 0, 0.95, 2000, false}, {"quantile 1", five(20), 1, 0.95, 2000, false}, {"beyond", five(20), 2, 0.95, 2000, false}, {"below", five(20), -1, 0.95, 2000, false},
		{"four runs", five(20)[:4], 0.5, 0.95, 2000, false},
	} {
		estimate, _, ok := ClusterBootstrap(c.runs, c.q, c.confidence, c.resamples, 1)
		if ok != c.ok || math.IsNaN(estimate) == (c.q > 0 && c.q < 1) {
			t.Errorf("%s: %v %t", c.name, estimate, ok)
		}
	}
}
