// SPDX-License-Identifier: Apache-2.0

package search

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

// leastRuns is in how many runs a level must have been measured for its effect to
// be told.
const leastRuns = 3

// effects are those of the additive model, of the levels that the runs can tell
// apart from those of other knobs.
func (s *search) effects() {
	if len(s.judge.candidates) < 2 {
		return
	}
	shown := s.crossed()
	for k, f := range s.tune.Space {
		mean, n := 0.0, 0
		for l := range f.Values {
			if shown[k][l] {
				mean, n = mean+s.surface.effects[k][l], n+1
			}
		}
		if n < 2 {
			continue
		}
		for l, v := range f.Values {
			if shown[k][l] {
				ratio := s.in.Objective.value(s.surface.effects[k][l] - mean/float64(n))
				s.tune.Effects = append(s.tune.Effects, finding.Effect{Knob: f.Knob, Value: v, Ratio: ratio})
			}
		}
	}
}

// tried is a candidate that was measured, and in how many runs.
type tried struct {
	levels [knobs]int
	runs   int
}

// crossed tells by knob which levels have an effect of their own. Pruning leaves
// pairs out: a GOMEMLIMIT that was measured with GOGC=off only cannot be told
// apart from it. So a level is left out when it was measured in fewer than
// leastRuns runs, when no chain of settings that share a level connects it with the
// baseline (levels of two unconnected parts cannot be compared; R. A. Bailey, Design
// of Comparative Experiments, 2008, on connected designs), or when it was measured
// beside one level only of another knob, that not being the baseline's. Settings
// with such a level are left out then, and the rest is looked at again.
func (s *search) crossed() [knobs]map[int]bool {
	var left []tried
	for c, runs := range s.judge.byCell(s.runs) {
		t := tried{levels: s.judge.candidates[c].levels}
		for _, r := range runs {
			if s.judge.scored(r) {
				t.runs++
			}
		}
		if t.runs > 0 {
			left = append(left, t)
		}
	}
	base := s.judge.candidates[0].levels
	for {
		var next []tried
		for _, t := range left {
			ok := true
			for k := range knobs {
				ok = ok && tells(left, base, k, t.levels[k])
			}
			if ok {
				next = append(next, t)
			}
		}
		if len(next) == len(left) {
			break
		}
		left = next
	}
	var shown [knobs]map[int]bool
	for k := range knobs {
		shown[k] = map[int]bool{}
		for _, t := range left {
			shown[k][t.levels[k]] = true
		}
	}
	return shown
}

// tells reports whether a level passes the rules of crossed.
func tells(all []tried, base [knobs]int, knob, level int) bool {
	runs := 0
	for _, t := range all {
		if t.levels[knob] == level {
			runs += t.runs
		}
	}
	if runs < leastRuns {
		return false
	}
	for other := range knobs {
		if other == knob {
			continue
		}
		beside := map[int]bool{}
		for _, t := range all {
			if t.levels[knob] == level {
				beside[t.levels[other]] = true
			}
		}
		if len(beside) < 2 && !beside[base[other]] || !connected(all, base, knob, other)[level] {
			return false
		}
	}
	return true
}

// connected are the levels of a knob that settings sharing a level of it or of the
// other one connect with the baseline's.
func connected(all []tried, base [knobs]int, knob, other int) map[int]bool {
	own, others := map[int]bool{base[knob]: true}, map[int]bool{base[other]: true}
	for grown := true; grown; {
		grown = false
		for _, t := range all {
			a, b := t.levels[knob], t.levels[other]
			if own[a] != others[b] {
				own[a], others[b], grown = true, true, true
			}
		}
	}
	return own
}
