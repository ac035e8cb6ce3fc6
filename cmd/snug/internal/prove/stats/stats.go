// SPDX-License-Identifier: Apache-2.0

// Package stats has the statistics of experiments: few and noisy runs, without the
// assumption of a normal distribution. Intervals and tests are exact where the
// distribution can be counted, and each interval reports its actual confidence.
//
// A result that does not exist is NaN, or comes with false; it is never 0 or 1. NaN in
// the input gives NaN, unless a function says otherwise.
//
// Not here: unpaired tests (print benchfmt and use benchstat for them), time series, and
// anything that drops an unusual measurement.
package stats

import (
	"math"
	"slices"
)

// Interval is a closed confidence interval.
type Interval struct {
	Low, High float64
	// Confidence is the actual coverage of the interval, between 0 and 1. With exact
	// distributions it is usually more than requested.
	Confidence float64
}

// Median returns the middle value of x, or the mean of the two middle ones. It is NaN if
// x is empty or holds NaN. It does not change x.
func Median(x []float64) float64 {
	if !ordered(x) {
		return math.NaN()
	}
	s := slices.Clone(x)
	slices.Sort(s)
	return middle(s)
}

// middle returns the median of s, which must be sorted and not empty.
func middle(s []float64) float64 {
	low, high := s[(len(s)-1)/2], s[len(s)/2]
	if low == high {
		return low // also for infinities, and without rounding
	}
	return low/2 + high/2 // the sum could overflow
}

// Quantile returns the smallest value of sorted with at least the share q of all values
// at or below it: the inverse of the empirical distribution, definition 1 of Hyndman and
// Fan, "Sample Quantiles in Statistical Packages", American Statistician 50 (1996). It is
// always a measured value, never interpolated; so for an even number of values and q =
// 0.5 it differs from Median. q is clamped to 0 (the minimum) and 1 (the maximum). sorted
// must be ascending. It is NaN if sorted is empty or q is NaN.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 || math.IsNaN(q) {
		return math.NaN()
	}
	return sorted[rank(q, int64(len(sorted)))-1]
}

// rank returns the position of the quantile q among n sorted values, from 1 to n.
func rank(q float64, n int64) int64 {
	// 0.999 is not a binary fraction: without a tolerance of a few units in
	// the last place, a product that should be whole could round up to the next
	// rank.
	r := math.Ceil(q * float64(n) * (1 - 1e-14))
	return int64(min(max(r, 1), float64(n)))
}

// MedianInterval returns a confidence interval of the median of the population that x is
// a sample of: the narrowest pair of order statistics, equally far from both ends, with
// at least this confidence. Its coverage follows from the binomial distribution alone:
// exactly for any continuous distribution, and at least that with ties (Hollander, Wolfe
// and Chicken, "Nonparametric Statistical Methods", 3.6; David and Nagaraja, "Order
// Statistics", 7.1).
//
// It is false if x is too small (even the range from the minimum to the maximum has less
// confidence: see [NeedForMedian]) or holds NaN.
func MedianInterval(x []float64, confidence float64) (Interval, bool) {
	n := len(x)
	if n < 2 || !ordered(x) || !(confidence < 1) {
		return Interval{}, false
	}
	// The interval from the k-th smallest to the k-th largest value misses the
	// median if fewer than k values are on one side of it.
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

// binomial returns the probability of k heads in n throws of a fair coin.
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

// NeedForMedian returns how many values MedianInterval needs for this confidence: 6 for
// 0.95. It is 0 if no number is enough (1 or more, NaN).
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

// ordered reports whether x is not empty and has no NaN.
func ordered(x []float64) bool {
	return len(x) > 0 && !slices.ContainsFunc(x, math.IsNaN)
}

// finite reports whether x is not empty and all its values are finite.
func finite(x []float64) bool {
	return len(x) > 0 && !slices.ContainsFunc(x, func(v float64) bool {
		return math.IsNaN(v) || math.IsInf(v, 0)
	})
}

// normalQuantile returns the value that a standard normal variable stays below with
// probability p.
func normalQuantile(p float64) float64 {
	return math.Sqrt2 * math.Erfinv(2*p-1)
}
