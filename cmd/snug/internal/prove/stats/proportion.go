// SPDX-License-Identifier: Apache-2.0

package stats

import "math"

// ProportionInterval returns the exact interval of Clopper and Pearson (Biometrika 26,
// 1934) for the probability of an event that happened k times in n: its coverage is at
// least the confidence. n must be at least 1 and k from 0 to n; otherwise the interval is
// 0 to 1.
func ProportionInterval(k, n int, confidence float64) Interval {
	iv := Interval{0, 1, confidence}
	if n < 1 || k < 0 || k > n {
		return iv
	}
	tail := (1 - confidence) / 2
	if k > 0 { // the p at which k or more become improbable
		iv.Low = bisect(func(p float64) bool { return 1-binomialCDF(k-1, n, p) < tail })
	}
	if k < n { // the p at which k or fewer become improbable
		iv.High = bisect(func(p float64) bool { return binomialCDF(k, n, p) > tail })
	}
	return iv
}

// bisect returns the point at which below, true at 0 and false at 1, changes.
func bisect(below func(float64) bool) float64 {
	low, high := 0.0, 1.0
	for range 60 {
		if mid := (low + high) / 2; below(mid) {
			low = mid
		} else {
			high = mid
		}
	}
	return (low + high) / 2
}

// binomialCDF returns the probability of at most k of n at 0 < p < 1.
func binomialCDF(k, n int, p float64) float64 {
	all, _ := math.Lgamma(float64(n + 1))
	sum := 0.0
	for i := range k + 1 {
		a, _ := math.Lgamma(float64(i + 1))
		b, _ := math.Lgamma(float64(n - i + 1))
		sum += math.Exp(all - a - b + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
	}
	return min(sum, 1)
}

// AllInOne returns the probability that k failures fall by chance into the n runs of one
// setting and none into the m runs of another, if both fail equally often: Fisher's exact
// test, one-sided, for k of n against 0 of m. It is 1 for no failures.
func AllInOne(k, n, m int) float64 {
	p := 1.0
	for i := range k {
		p *= float64(n-i) / float64(n+m-i)
	}
	return p
}
