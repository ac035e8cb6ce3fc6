// SPDX-License-Identifier: Apache-2.0

package search

import (
	"math/rand/v2"
	"slices"
)

// fraction chooses n of the candidates to measure first, in no particular order, or all
// if there are fewer.
//
// They are balanced: each level of a knob occurs equally often, as nearly as the
// candidates and a greedy choice allow, and so does each pair of levels of two knobs. If
// no candidate is missing these are about the shifted diagonals of the grid.
func fraction(candidates []Candidate, factors [knobs]int, n int, seed uint64) []int {
	var chosen []int
	left := rand.New(rand.NewPCG(seed, 1)).Perm(len(candidates))
	levels := [knobs]map[int]int{}
	pairs := [knobs][knobs]map[[2]int]int{}
	for k := range knobs {
		levels[k] = map[int]int{}
		for j := range k {
			pairs[k][j] = map[[2]int]int{}
		}
	}
	for len(chosen) < n && len(left) > 0 {
		var best [2]int // cost: levels first, pairs to decide among equals
		at := -1
		for i, c := range left {
			var cost [2]int
			for k, l := range candidates[c].levels {
				if factors[k] < 2 {
					continue
				}
				cost[0] += levels[k][l]
				for j := range k {
					cost[1] += pairs[k][j][[2]int{l, candidates[c].levels[j]}]
				}
			}
			if at < 0 || slices.Compare(cost[:], best[:]) < 0 {
				best, at = cost, i
			}
		}
		c := left[at]
		left = slices.Delete(left, at, at+1)
		chosen = append(chosen, c)
		for k, l := range candidates[c].levels {
			levels[k][l]++
			for j := range k {
				pairs[k][j][[2]int{l, candidates[c].levels[j]}]++
			}
		}
	}
	return chosen
}
