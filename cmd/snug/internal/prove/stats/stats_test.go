// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"golang.org/x/perf/benchmath"
)

var nan, inf = math.NaN(), math.Inf(1)

// equal compares numbers that were computed in different ways; NaN equals NaN.
func equal(a, b float64) bool {
	return a == b || math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b))
}

// near compares with a published number that was rounded to a unit.
func near(got, published, unit float64) bool { return math.Abs(got-published) <= unit/2*(1+1e-9) }

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []float64
		want float64
	}{
		{"none", nil, nan},
		{"one", []float64{3}, 3},
		{"odd, unsorted", []float64{9, 1, 5}, 5},
		{"even", []float64{4, 1, 2, 3}, 2.5},
		{"not a number", []float64{1, nan, 2}, nan},
		{"infinite beside finite", []float64{-inf, 1, inf}, 1},
		{"both middle ones infinite", []float64{inf, inf}, inf},
		{"sum above the largest float", []float64{math.MaxFloat64, math.MaxFloat64 / 2}, math.MaxFloat64 * 0.75},
	} {
		before := slices.Clone(c.x)
		if got := Median(c.x); !equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if !slices.EqualFunc(before, c.x, equal) {
			t.Errorf("%s: the argument was changed", c.name)
		}
	}
}

func TestQuantile(t *testing.T) {
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	for _, c := range []struct {
		name   string
		sorted []float64
		q      float64
		want   float64
	}{
		{"none", nil, 0.5, nan},
		{"not a number", hundred, nan, nan},
		{"least", hundred, 0, 1},
		{"below the least", hundred, -1, 1},
		{"largest", hundred, 1, 100},
		{"above the largest", hundred, 7, 100},
		{"middle of an even number is the lower", hundred, 0.5, 50},
		{"share that is a whole rank", hundred, 0.07, 7}, // 0.07*100 > 7 in floating point
		{"share just above a rank", hundred, 0.0701, 8},
		{"0.99 of 100", hundred, 0.99, 99},
		{"0.999 of 100", hundred, 0.999, 100},
	} {
		if got := Quantile(c.sorted, c.q); !equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestRank: every decimal share of a round number is the rank that decimal
// arithmetic gives.
func TestRank(t *testing.T) {
	for _, n := range []int64{100, 1000, 10000, 1000000, 1000000000} {
		for thousandths := range int64(1000) {
			want := max(1, thousandths*n/1000)
			if thousandths*n%1000 != 0 {
				want = thousandths*n/1000 + 1
			}
			if got := rank(float64(thousandths)/1000, n); got != want {
				t.Errorf("rank(0.%03d, %d) = %d, want %d", thousandths, n, got, want)
			}
		}
	}
}

// Every textbook's table of the sign test has the confidence of the interval
// from the k-th to the k-th last of n values: 1-2P(B(n, 1/2) < k).
func TestMedianInterval(t *testing.T) {
	for _, c := range []struct {
		n          int
		confidence float64
		low, high  float64 // of the values 1..n
		has        float64
	}{
		{6, 0.95, 1, 6, 0.96875},
		{7, 0.95, 1, 7, 0.984375},
		{8, 0.95, 1, 8, 0.9921875},
		{9, 0.95, 2, 8, 0.9609375},
		{10, 0.95, 2, 9, 0.978515625},
		{20, 0.95, 6, 15, 0.9586105346679688},
		{5, 0.9375, 1, 5, 0.9375},
		{5, 0.90, 1, 5, 0.9375},
		{2, 0.50, 1, 2, 0.50},
		{4, 0, 2, 3, 0.375},
	} {
		x := make([]float64, c.n)
		for i := range x {
			x[i] = float64(c.n - i)
		}
		iv, ok := MedianInterval(x, c.confidence)
		if want := (Interval{c.low, c.high, c.has}); !ok || iv != want {
			t.Errorf("n=%d at %v: %v %v, want %v", c.n, c.confidence, iv, ok, want)
		}
	}
}

func TestMedianIntervalWithoutEnough(t *testing.T) {
	for _, c := range []struct {
		name       string
		x          []float64
		confidence float64
	}{
		{"none", nil, 0.95},
		{"one", []float64{1}, 0},
		{"five", []float64{1, 2, 3, 4, 5}, 0.95},
		{"certainty", make([]float64, 100), 1},
		{"not a number asked for", make([]float64, 100), nan},
		{"not a number measured", []float64{1, 2, 3, 4, 5, 6, nan}, 0.95},
	} {
		if iv, ok := MedianInterval(c.x, c.confidence); ok || iv != (Interval{}) {
			t.Errorf("%s: %v", c.name, iv)
		}
	}
}

func TestNeedForMedian(t *testing.T) {
	for confidence, want := range map[float64]int{0: 2, 0.5: 2, 0.90: 5, 0.95: 6, 0.99: 8, 0.999: 11, 1: 0} {
		if got := NeedForMedian(confidence); got != want {
			t.Errorf("at %v: %d, want %d", confidence, got, want)
		}
		if want == 0 {
			continue
		}
		if _, ok := MedianInterval(make([]float64, want), confidence); !ok {
			t.Errorf("%d are not enough at %v", want, confidence)
		}
		if _, ok := MedianInterval(make([]float64, want-1), confidence); ok {
			t.Errorf("%d are enough at %v", want-1, confidence)
		}
	}
	if NeedForMedian(nan) != 0 {
		t.Error("not a number has an answer")
	}
}

// TestAgainstBenchmath compares with benchstat. Its interval may exclude the outermost
// value of one side if the rest still has the requested confidence; ours is symmetric and
// then contains it, with more confidence. Beyond 30 values benchstat uses the normal
// approximation, and may be off by a rank.
func TestAgainstBenchmath(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	symmetric := 0
	for n := 1; n <= 60; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = math.Exp(random.NormFloat64())
		}
		for _, confidence := range []float64{0.90, 0.95, 0.99} {
			sorted := slices.Sorted(slices.Values(x))
			sum := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(x), &benchmath.DefaultThresholds), confidence)
			if got := Median(x); !equal(got, sum.Center) {
				t.Errorf("n=%d: median %v, benchmath %v", n, got, sum.Center)
			}
			iv, ok := MedianInterval(x, confidence)
			if theirs := !math.IsInf(sum.Lo, 0) && !math.IsInf(sum.Hi, 0); ok != theirs {
				t.Errorf("n=%d at %v: have an interval: %v, benchmath: %v", n, confidence, ok, theirs)
			}
			if !ok {
				continue
			}
			low, high := slices.Index(sorted, iv.Low), slices.Index(sorted, iv.High)
			theirLow, theirHigh := slices.Index(sorted, sum.Lo), slices.Index(sorted, sum.Hi)
			switch where := fmt.Sprintf("n=%d at %v: ranks %d to %d (%v), benchmath %d to %d (%v)",
				n, confidence, low+1, high+1, iv.Confidence, theirLow+1, theirHigh+1, sum.Confidence); {
			case iv.Confidence < confidence:
				t.Error("less than asked for: " + where)
			case n > 30:
				if max(low-theirLow, theirLow-low, high-theirHigh, theirHigh-high) > 1 {
					t.Error(where)
				}
			case equal(iv.Confidence, sum.Confidence):
				symmetric++
				if low != theirLow || high != theirHigh {
					t.Error(where)
				}
			case iv.Confidence < sum.Confidence || (theirLow-low)+(high-theirHigh) != 1 || theirLow < low || theirHigh > high:
				t.Error(where)
			}
		}
	}
	if symmetric < 20 {
		t.Errorf("only %d intervals compared", symmetric)
	}
}

func TestMAD(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []float64
		want float64
	}{
		{"R's example: mad(c(1:9))", []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, 2.9652},
		{"one far away", []float64{1, 2, 3, 4, 1e9}, 1.4826},
		{"all equal", []float64{2, 2, 2}, 0},
		{"none", nil, nan},
		{"infinite", []float64{1, inf}, nan},
	} {
		if got := MAD(c.x); !equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

func TestOutlying(t *testing.T) {
	for _, c := range []struct {
		name string
		x    []float64
		want []int // indices
	}{
		{"none", nil, nil},
		{"two say nothing", []float64{1, 1e9}, nil},
		{"even spread", []float64{1, 2, 3, 4, 5, 6, 7}, nil},
		{"a busy neighbour", []float64{0.10, 0.12, 0.09, 0.11, 0.90, 0.10, 0.13}, []int{4}},
		{"nothing is too quiet", []float64{1, 1.1, 0.9, 1.05, 0, 0.95, 1.1}, nil},
		{"idle machine, one disturbance", []float64{0, 0, 0, 0, 0, 0, 0.7}, []int{6}},
		{"all equal", []float64{1, 1, 1, 1}, nil},
		{"not measured", []float64{1, 1.1, nan, 0.9, 9}, []int{4}},
		{"infinite", []float64{1, 1.1, inf, 0.9, -inf}, []int{2}},
	} {
		got := Outlying(c.x, 3)
		for i := range c.x {
			if got[i] != slices.Contains(c.want, i) {
				t.Errorf("%s: %v", c.name, got)
				break
			}
		}
	}
	// The limit itself: median 3, MAD 1.4826.
	for v, want := range map[float64]bool{3 + 3*1.4826: false, 3 + 3*1.4826 + 1e-9: true} {
		if got := Outlying([]float64{1, 2, 3, 4, v}, 3); got[4] != want {
			t.Errorf("%v: %v", v, got[4])
		}
	}
}
