// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
)

// MAD returns the median absolute deviation from the median, times 1.4826, which
// estimates the standard deviation of normal noise (F. R. Hampel, "The Influence Curve
// and its Role in Robust Estimation", JASA 69 (1974); R's mad has the same factor). Up to
// half of x may be arbitrarily wrong. It is NaN if x is empty or holds a value that is
// not finite.
func MAD(x []float64) float64 {
	if !finite(x) {
		return math.NaN()
	}
	return 1.4826 * Median(deviations(x))
}

func deviations(x []float64) []float64 {
	m := Median(x)
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = math.Abs(v - m)
	}
	return d
}

// Outlying reports which values of x are larger than the median by more than k times the
// [MAD]. It reports only large ones: it is for disturbances, such as the CPU time of
// others, which are never too small.
//
// If more than half of x is one value, the MAD is 0, and the mean absolute deviation,
// times 1.2533, replaces it (B. Iglewicz and D. C. Hoaglin, "How to Detect and Handle
// Outliers" (1993)). The rule is relative: among tiny values a tiny one may be outlying,
// and the caller decides what is too small to matter. The median excludes values that are
// not finite; +Inf is outlying, NaN and -Inf are not. With fewer than 3 finite values no
// finite one is outlying.
func Outlying(x []float64, k float64) []bool {
	out := make([]bool, len(x))
	var known []float64
	for i, v := range x {
		out[i] = math.IsInf(v, 1)
		if !math.IsInf(v, 0) && !math.IsNaN(v) {
			known = append(known, v)
		}
	}
	if len(known) < 3 {
		return out
	}
	scale := MAD(known)
	if scale == 0 {
		scale = 1.2533 * sum(deviations(known)) / float64(len(known))
	}
	limit := Median(known) + k*scale
	for i, v := range x {
		out[i] = out[i] || v > limit
	}
	return out
}
