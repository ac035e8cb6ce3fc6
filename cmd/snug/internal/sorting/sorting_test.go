// SPDX-License-Identifier: Apache-2.0

package sorting

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStable compares with the standard library on slices with many equal elements.
func TestStable(t *testing.T) {
	type pair struct{ key, place int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	r := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		s := make([]pair, n)
		for i := range s {
			s[i] = pair{r.IntN(1 + n/3), i}
		}
		want := slices.Clone(s)
		slices.SortStableFunc(want, byKey)
		Stable(s, byKey)
		if !slices.Equal(s, want) {
			t.Fatalf("%v, want %v", s, want)
		}
	}
}
