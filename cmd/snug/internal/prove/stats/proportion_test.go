// SPDX-License-Identifier: Apache-2.0

package stats

import (
	"math"
	"testing"
)

func TestProportionInterval(t *testing.T) {
	for _, test := range []struct {
		k, n      int
		low, high float64 // by hand where k is 0 or n: 0.025^(1/n); else tables of Clopper and Pearson
	}{
		{0, 20, 0, 1 - math.Pow(.025, 1./20)},
		{20, 20, math.Pow(.025, 1./20), 1},
		{4, 20, .0573, .4366},
		{10, 20, .2720, .7280},
		{1, 1, .025, 1},
		{0, 0, 0, 1},
		{3, 2, 0, 1},
	} {
		got := ProportionInterval(test.k, test.n, .95)
		if math.Abs(got.Low-test.low) > 5e-5 || math.Abs(got.High-test.high) > 5e-5 || got.Confidence != .95 {
			t.Errorf("%d of %d: %+v, want %g to %g", test.k, test.n, got, test.low, test.high)
		}
	}
}

func TestProportionIntervalCovers(t *testing.T) {
	const n = 20
	for p := .01; p < 1; p += .01 {
		covered := 0.0
		for k := range n + 1 {
			if iv := ProportionInterval(k, n, .95); iv.Low <= p && p <= iv.High {
				covered += binomialCDF(k, n, p)
				if k > 0 {
					covered -= binomialCDF(k-1, n, p)
				}
			}
		}
		if covered < .95 {
			t.Errorf("p=%.2f is covered in %.4f of all experiments", p, covered)
		}
	}
}
