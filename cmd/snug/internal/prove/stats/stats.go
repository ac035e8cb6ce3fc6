// SPDX-License-Identifier: Apache-2.0

// Package stats is the statistics of experiments: few runs, noisy ones, and no
// belief in a normal distribution. Intervals and tests are exact where counting
// can make them so, and each interval says which confidence it really has.
//
// A number that cannot be had is NaN, or false beside it; it is never 0 or 1.
// Not a number in gives not a number out, unless a function says otherwise.
//
// Not here: unpaired tests (print benchfmt and use benchstat for them), time
// series, anything that drops a measurement for being unusual.
package stats

import (
	"math"
	"slices"
)

// Interval is a closed confidence interval.
type Interval struct {
	Low, High float64
	// Confidence is the coverage that the interval has, between 0 and 1; with
	// exact distributions it is mostly more than was asked for.
	Confidence float64
}

// Median is the middle value of x, or the mean of the two middle ones. It is
// NaN when x is empty or holds NaN. x is not changed.
func Median(x []float64) float64 {
	if !ordered(x) {
		return math.NaN()
	}
	s := slices.Clone(x)
	slices.Sort(s)
	return middle(s)
}

// middle is the median of s, which is sorted and not empty.
func middle(s []float64) float64 {
	low, high := s[(len(s)-1)/2], s[len(s)/2]
	if low == high {
		return low // also for infinities, and without rounding
	}
	return low/2 + high/2 // the sum could overflow
}

// Quantile is the smallest value of sorted with at least the share q of all
// values at or below it: the inverse of the empirical distribution, definition 1
// of Hyndman and Fan, "Sample Quantiles in Statistical Packages", American
// Statistician 50 (1996). It is a value that was measured, never one
// interpolated across a gap; for an even number of values and q = 0.5 it differs
// from Median therefore. q is cut to 0 (the least) and 1 (the largest). sorted
// ascends. NaN when sorted is empty or q is NaN.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	return sorted[rank(q, int64(len(sorted)))-1]
}

// rank is the position of the quantile q among n sorted values, from 1 to n.
func rank(q float64, n int64) int64 {
	// 0.999 is not a binary fraction: without the allowance of a few units in
	// the last place, a product that should be whole could round up to the next
	// rank.
	r := math.Ceil(q * float64(n) * (1 - 1e-14))
	return int64(min(max(r, 1), float64(n)))
}

// MedianInterval is a confidence interval of the median of the population that x
// is a sample of: the narrowest pair of order statistics, as far from the lower
// end as from the upper, that has at least the confidence asked for. Its
// coverage follows from the binomial distribution alone, for any continuous
// distribution, and is at least that for one with ties (Hollander, Wolfe and
// Chicken, "Nonparametric Statistical Methods", 3.6; David and Nagaraja, "Order
// Statistics", 7.1).
//
// It is false when x is too small for it (even the range from the least to the
// largest value has less confidence: see [NeedForMedian]) or holds NaN.
func MedianInterval(x []float64, confidence float64) (Interval, bool) {
	n := len(x)
	if n < 2 || !ordered(x) || !(confidence < 1) {
		return Interval{}, false
	}
	// The interval from the k-th least to the k-th largest value misses the
	// median when fewer than k values are on one side of it.
	k, has := 0, 0.0
	for tail, j := 0.0, 0; 2*(j+1) <= n; j++ {
		tail += binomial(n, j)
		if c := 1 - 2*tail; c >= confidence {
			k, has = j+1, c
		}
	}
	if k == 0 {
		return Interval{}, false
	}
	s := slices.Clone(x)
	slices.Sort(s)
	return Interval{s[k-1], s[n-k], has}, true
}

// binomial is the probability of k heads in n throws of a fair coin.
func binomial(n, k int) float64 {
	if n <= 60 { // exact: products stay below 2^63
		c := uint64(1)
		for i := range min(k, n-k) {
			c = c * uint64(n-i) / uint64(i+1)
		}
		return math.Ldexp(float64(c), -n)
	}
	a, _ := math.Lgamma(float64(n + 1))
	b, _ := math.Lgamma(float64(k + 1))
	c, _ := math.Lgamma(float64(n - k + 1))
	return math.Exp(a - b - c - float64(n)*math.Ln2)
}

// NeedForMedian is how many values MedianInterval needs at least for this
// confidence: 6 for 0.95. It is 0 when no number is enough (1 or more, NaN).
func NeedForMedian(confidence float64) int {
	if !(confidence < 1) {
		return 0
	}
	n := 2
	for 1-math.Ldexp(1, 1-n) < confidence {
		n++
	}
	return n
}

// ordered reports whether x has values, all of them with a place in an order.
func ordered(x []float64) bool {
	return len(x) > 0 && !slices.ContainsFunc(x, math.IsNaN)
}

// finite reports whether x has values, all of them finite.
func finite(x []float64) bool {
	return len(x) > 0 && !slices.ContainsFunc(x, func(v float64) bool {
		return math.IsNaN(v) || math.IsInf(v, 0)
	})
}

// normalQuantile is the value that a standard normal variable stays below with
// probability p.
func normalQuantile(p float64) float64 {
	return math.Sqrt2 * math.Erfinv(2*p-1)
}
