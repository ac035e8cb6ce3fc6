// SPDX-License-Identifier: Apache-2.0

package search

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

// minRuns is the number of runs that a level needs for its effect to be reported.
const minRuns = 3

// effects records the effects of the additive model, of the levels that the runs can
// separate from those of other knobs.
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

// measured is a measured candidate and its number of runs.
type measured struct {
	levels [knobs]int
	runs   int
}

// crossed returns, by knob, the levels with an effect of their own. Pruning omits pairs:
// the effect of a GOMEMLIMIT that was measured only with GOGC=off cannot be separated
// from that of GOGC=off. So crossed omits a level if it was measured in fewer than
// minRuns runs; if no chain of settings that share a level connects it with the baseline
// (levels of two unconnected parts cannot be compared; R. A. Bailey, Design of
// Comparative Experiments, 2008, on connected designs); or if it was measured with only
// one level of another knob, unless that is the baseline's. It then omits the settings
// with such a level, and checks the rest again.
func (s *search) crossed() [knobs]map[int]bool {
	var left []measured
	for c, runs := range s.judge.byCell(s.runs) {
		t := measured{levels: s.judge.candidates[c].levels}
		for _, r := range runs {
			if s.judge.scored(r) {
				t.runs++
			}
		}
		if t.runs > 0 {
			left = append(left, t)
		}
	}
	base := s.judge.candidates[s.ref].levels
	for {
		var next []measured
		for _, t := range left {
			ok := true
			for k := range knobs {
				ok = ok && separable(left, base, k, t.levels[k])
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

// separable reports whether a level passes the rules of crossed.
func separable(all []measured, base [knobs]int, knob, level int) bool {
	runs := 0
	for _, t := range all {
		if t.levels[knob] == level {
			runs += t.runs
		}
	}
	if runs < minRuns {
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

// connected returns the levels of a knob that are connected with the baseline's by
// settings that share a level of it or of the other knob.
func connected(all []measured, base [knobs]int, knob, other int) map[int]bool {
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
