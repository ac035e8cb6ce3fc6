// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"cmp"
	"math"
	"slices"
)

// Holm returns the p-values of a family of tests, adjusted to control the probability of
// any false alarm among them: a test is significant if its adjusted value is at most
// alpha. It is S. Holm's step-down procedure ("A Simple Sequentially Rejective Multiple
// Test Procedure", Scandinavian Journal of Statistics 6 (1979)). The tests may depend on
// each other in any way, as those against one baseline do.
//
// Adjusted values keep the order of p, are at least p and at most 1. NaN, a test that was
// not made, stays NaN and does not count in the family.
func Holm(p []float64) []float64 {
	adjusted := make([]float64, len(p))
	var order []int
	for i, v := range p {
		adjusted[i] = v
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	largest := 0.0
	for i, at := range order {
		largest = max(largest, min(1, float64(len(order)-i)*p[at]))
		adjusted[at] = largest
	}
	return adjusted
}
