// SPDX-License-Identifier: Apache-2.0

package search

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// lattice returns all settings of a grid, except those left out.
func lattice(sizes [knobs]int, out func([knobs]int) bool) []Candidate {
	var all []Candidate
	for a := range sizes[0] {
		for b := range sizes[1] {
			for c := range sizes[2] {
				for d := range sizes[3] {
					if l := [knobs]int{a, b, c, d}; out == nil || !out(l) {
						all = append(all, Candidate{levels: l})
					}
				}
			}
		}
	}
	return all
}

func TestFractionIsBalanced(t *testing.T) {
	sizes := [knobs]int{4, 6, 2, 1}
	all := lattice(sizes, nil)
	for _, n := range []int{8, 12, 24, 36, 48, 60} {
		chosen := fraction(all, sizes, n, 7)
		if len(chosen) != min(n, 48) {
			t.Errorf("%d chosen of 48, want %d", len(chosen), n)
		}
		if s := slices.Sorted(slices.Values(chosen)); len(slices.Compact(s)) != len(chosen) {
			t.Errorf("of %d some are chosen twice, %v", n, s)
		}
		for k, size := range sizes {
			count := make([]int, size)
			for _, c := range chosen {
				count[all[c].levels[k]]++
			}
			if slices.Max(count)-slices.Min(count) > 2 {
				t.Errorf("%d of 48: levels of knob %d occur %v times", n, k, count)
			}
		}
	}
	// Half of the pairs of the two larger knobs, and none of them twice.
	pairs := map[[2]int]int{}
	for _, c := range fraction(all, sizes, 24, 7) {
		pairs[[2]int{all[c].levels[0], all[c].levels[1]}]++
	}
	if len(pairs) != 24 {
		t.Errorf("24 settings have %d pairs of the larger knobs, want 24", len(pairs))
	}
	if slices.Equal(fraction(all, sizes, 24, 7), fraction(all, sizes, 24, 8)) {
		t.Error("two seeds choose the same")
	}
}

func TestFractionOfARaggedSpace(t *testing.T) {
	sizes := [knobs]int{3, 6, 4, 1}
	all := lattice(sizes, func(l [knobs]int) bool { return l[2] > 0 && l[1] < 4 || l[2] == 0 && l[1] == 5 })
	chosen := fraction(all, sizes, 12, 1)
	for k, size := range sizes {
		for level := range size {
			if !slices.ContainsFunc(chosen, func(c int) bool { return all[c].levels[k] == level }) {
				t.Errorf("level %d of knob %d is not in %v", level, k, chosen)
			}
		}
	}
}

// TestFitFindsAdditiveEffects measures a third of a grid, unevenly, without noise.
func TestFitFindsAdditiveEffects(t *testing.T) {
	sizes := [knobs]int{4, 6, 2, 1}
	all := lattice(sizes, nil)
	truth := func(l [knobs]int) float64 {
		return 3 + []float64{0, 0.3, -0.2, 0.1}[l[0]] + 0.02*float64((l[1]-3)*(l[1]-3)) - 0.15*float64(l[2])
	}
	var obs []observation
	for i, c := range fraction(all, sizes, 16, 3) {
		for range 1 + i%3 {
			obs = append(obs, observation{c, 0, truth(all[c].levels)})
		}
	}
	s := fit(all, sizes, obs)
	for i, c := range all {
		if math.Abs(s.mean[i]-truth(c.levels)) > 0.01 {
			t.Errorf("%v: %.4f, want %.4f", c.levels, s.mean[i], truth(c.levels))
		}
	}
	if got := s.effects[0][1] - s.effects[0][2]; math.Abs(got-0.5) > 0.01 {
		t.Errorf("between two levels of the first knob %.4f, want 0.5", got)
	}
}

func TestFitShrinks(t *testing.T) {
	sizes := [knobs]int{4, 6, 2, 1}
	all := lattice(sizes, nil)
	r := rand.New(rand.NewPCG(1, 1))
	var obs []observation
	for c := range all {
		obs = append(obs, observation{c, 0, 0.1 * r.NormFloat64()})
	}
	for range 6 { // as the baseline has: without repetitions the noise is unknown
		obs = append(obs, observation{0, 0, 0.1 * r.NormFloat64()})
	}
	// One setting looks better than all others by three standard deviations.
	obs[7].y = -0.3
	once := fit(all, sizes, obs)
	if once.mean[7] < -0.2 || once.mean[7] > 0 {
		t.Errorf("a single run of -0.3 is believed to be %.3f", once.mean[7])
	}
	for range 12 {
		obs = append(obs, observation{7, 0, -0.3 + 0.1*r.NormFloat64()})
	}
	often := fit(all, sizes, obs)
	if often.mean[7] > -0.2 {
		t.Errorf("13 runs of -0.3 are believed to be %.3f", often.mean[7])
	}
	if often.sd[7] >= once.sd[7] || often.sd[7] >= often.sd[8] {
		t.Errorf("standard errors: %.3f of 13 runs, %.3f of one, %.3f before", often.sd[7], often.sd[8], once.sd[7])
	}
	if math.Abs(often.noise-0.1) > 0.03 {
		t.Errorf("noise %.3f, want 0.1", often.noise)
	}
}

// TestFitTakesRoundsOut measures the second half while the machine is slow.
func TestFitTakesRoundsOut(t *testing.T) {
	sizes := [knobs]int{4, 2, 1, 1}
	all := lattice(sizes, nil)
	r := rand.New(rand.NewPCG(2, 1))
	var obs []observation
	for block := range 8 {
		slow := 0.0
		if block >= 4 {
			slow = 0.5
		}
		for c := range all {
			if block < 4 || c < 4 {
				obs = append(obs, observation{c, block, slow + 0.02*r.NormFloat64()})
			}
		}
	}
	s := fit(all, sizes, obs)
	for c := range all {
		if d := s.mean[c] - s.mean[0]; math.Abs(d) > 0.15 {
			t.Errorf("setting %d differs from the first by %.3f, and was only measured at other times", c, d)
		}
	}
}

func TestFitOfNothing(t *testing.T) {
	all := lattice([knobs]int{2, 1, 1, 1}, nil)
	if s := fit(all, [knobs]int{2, 1, 1, 1}, nil); !math.IsNaN(s.mean[0]) || !math.IsNaN(s.noise) || !math.IsInf(s.sd[1], 1) {
		t.Errorf("%+v", s)
	}
	s := fit(all, [knobs]int{2, 1, 1, 1}, []observation{{1, 0, 2}, {1, 1, 2}})
	if s.mean[1] != 2 || s.mean[0] != 2 {
		t.Errorf("two equal runs: %+v", s)
	}
}
