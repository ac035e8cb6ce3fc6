// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// leastPairs is the smallest number of pairs that can show a difference between two
// settings.
const leastPairs = 6

// confirm measures the leader of the search again, and beside it in the same rounds its
// baseline, and the leader without each of its knobs. No choice depended on these runs:
// the best of many noisy figures is too good on average, and only fresh runs say by how
// much.
func (s *search) confirm(ctx context.Context) error {
	lead, ok := s.leader()
	if !ok {
		return nil
	}
	d := s.confirmation(lead)
	s.paired = d.Rounds
	s.trials.allowed = s.trials.limit
	runs, short, err := s.execute(ctx, "confirm", d)
	for i := range runs {
		runs[i].Round += s.rounds
	}
	cells := experiment.Cells(d, runs)
	c := &finding.Confirm{Winner: cells[0], Default: cells[1], Without: cells[2:], Answer: 1}
	c.Comparisons = slices.Concat(compared(d, cells, []int{0}, 1), compared(d, cells, above(2, len(cells)), 1))
	s.tune.Confirm = c
	for i, k := range lead.without {
		s.test(k, 2+i, compared(d, cells, above(2, len(cells)), 0))
	}
	if err == nil {
		s.choose()
	}
	s.done("confirm", runs, short, func() []int { return []int{s.confirmed[c.Answer]} }, err)
	return err
}

// contest is what a confirmation measures.
type contest struct {
	cell    int    // the leader
	base    int    // what it must beat
	without []drop // the leader without each of its knobs
	pairs   int
}

// drop is a setting without one of its knobs.
type drop struct{ knob, cell int }

// leader chooses what to confirm. The best setting leads; of those that are estimated to
// be within the margin of it, the one that sets the fewest knobs, and of these one that
// leaves GOMAXPROCS to Go. If the budget is too small to test each knob of it, another
// leads. Where the baseline fails and nothing leads snug's plan, snug's plan is confirmed
// against the baseline. The result is false if nothing leads, or the budget allows nothing.
func (s *search) leader() (contest, bool) {
	top := s.ranking[0]
	switch {
	case !top.feasible() || top.cell == s.ref && s.ref == 0:
		return contest{}, false
	case top.cell == s.ref:
		c := contest{cell: s.ref, base: 0, pairs: min(confirmPairs, s.trials.left()/2)}
		return c, c.pairs >= leastPairs
	}
	margin := math.Log1p(margins[s.in.Objective.name])
	for _, rule := range []struct {
		test  bool
		pairs int
	}{{true, minPairs}, {false, minPairs}, {false, leastPairs}} {
		if c, ok := s.simplest(top.score+margin, rule.test, rule.pairs); ok {
			return c, true
		}
	}
	return contest{}, false
}

// simplest returns the simplest setting that leads the reference, scores at most a bound,
// and can be confirmed with a number of pairs; beyond the margin, the best.
func (s *search) simplest(bound float64, test bool, pairs int) (contest, bool) {
	var best contest
	found := false
	for _, t := range s.ranking {
		if t.cell == s.ref || !t.feasible() {
			break // the rest is worse than the reference, or fails
		}
		if t.score > bound || !t.measured && t.cell != s.ranking[0].cell {
			continue
		}
		c := contest{cell: t.cell, base: s.ref}
		if test {
			c.without = s.without(t.cell)
		}
		c.pairs = min(s.maxPairs(), s.trials.left()/(2+len(c.without)))
		if c.pairs < pairs {
			s.unaffordable = true
			continue
		}
		arm := func(c contest) finding.Arm { return s.judge.candidates[c.cell].Arm }
		if !found || experiment.Changes(arm(c)) < experiment.Changes(arm(best)) {
			best, found = c, true
		}
	}
	return best, found
}

// maxPairs returns how many pairs a confirmation may have: a small budget has fewer, even
// if the search left more of it.
func (s *search) maxPairs() int {
	return min(maxPairs, max(confirmPairs, s.trials.n/10))
}

// without returns a candidate without each of the knobs that it sets otherwise than the
// reference; none if it is only one, because without that it is the reference. A GOGC=off
// keeps its GOMEMLIMIT: nothing else would start a collection.
func (s *search) without(cell int) []drop {
	own, ref := s.judge.candidates[cell], s.judge.candidates[s.ref]
	var out []drop
	differ := 0
	for k := range knobs {
		if own.levels[k] == ref.levels[k] || s.tune.Space[k].Values[own.levels[k]] == "" || k == burstKnob && own.Arm.Burst == s.in.Base.Burst {
			continue
		}
		differ++
		c := own
		c.levels[k] = ref.levels[k]
		c.Arm = s.armOf(c.levels)
		if c.Arm.GOGC == "off" && c.Arm.GOMEMLIMIT == "" || s.in.Only != nil && !s.in.Only(c.Arm) {
			continue
		}
		at := slices.IndexFunc(s.judge.candidates, func(o Candidate) bool { return o.Arm == c.Arm })
		if at == s.ref {
			continue
		}
		if at < 0 { // left out of the search, or failed by the model: now it is measured
			at = len(s.judge.candidates)
			s.judge.candidates = append(s.judge.candidates, c)
		}
		out = append(out, drop{k, at})
	}
	if differ < 2 {
		return nil
	}
	return out[:min(len(out), maxWithout)]
}

// armOf returns the arm with these levels.
func (s *search) armOf(levels [knobs]int) finding.Arm {
	own := space{SpaceInput: s.in.space()}
	var x setting
	for k, l := range levels {
		x[k] = s.tune.Space[k].Values[l]
	}
	return own.arm(x)
}

// confirmation returns the design of a confirmation. Two settings are in ABBA blocks: of
// two rounds one starts with the leader and one with the baseline, so that steady changes
// of the machine affect both alike. Which comes first in a block is random. A design is
// shuffled by its seed, so confirmation looks for a seed that gives this order; one in 2
// to the number of blocks does. More settings are shuffled.
func (s *search) confirmation(c contest) *experiment.Design {
	s.confirmed = []int{c.cell, c.base}
	for _, w := range c.without {
		s.confirmed = append(s.confirmed, w.cell)
	}
	d := &experiment.Design{Rounds: c.pairs}
	for _, cell := range s.confirmed {
		d.Arms = append(d.Arms, s.arm(cell))
	}
	for r := rand.New(rand.NewPCG(s.seed(), 2)); ; {
		d.Seed = r.Uint64N(1 << 53)
		if len(d.Arms) > 2 || mirrored(d.Schedule()) {
			return d
		}
	}
}

// mirrored reports whether trials of two arms are in ABBA blocks.
func mirrored(trials []experiment.Trial) bool {
	for i := 0; i+3 < len(trials); i += 4 {
		if trials[i].Arm != trials[i+3].Arm {
			return false
		}
	}
	return true
}

// compared compares cells of a confirmation with another one. The leader is compared with
// the baseline before all others, as a hypothesis of its own: the others count only if it
// is better.
func compared(d *experiment.Design, cells []finding.Cell, which []int, with int) []finding.Comparison {
	one := *d
	one.Against = func(_ []experiment.Arm, i int) (int, bool) { return with, slices.Contains(which, i) }
	return experiment.CompareAsPlanned(&one, cells)
}

// above returns the numbers from a to below b.
func above(a, b int) []int {
	var out []int
	for ; a < b; a++ {
		out = append(out, a)
	}
	return out
}

// test records whether the leader needs a knob, from the comparisons with the leader.
func (s *search) test(w drop, cell int, comparisons []finding.Comparison) {
	arm := s.tune.Confirm.Winner.Arm
	k := finding.KnobTest{Knob: knobNames[w.knob], Value: s.tune.Space[w.knob].Values[s.levelOf(arm, w.knob)], Cell: cell}
	k.Broken = s.judge.broken(s.tune.Confirm.Without[cell-2].Rounds, true)
	k.Change = find(comparisons, cell, s.in.Objective.Key)
	k.Needed = k.Broken != nil || k.Change != nil && k.Change.Word == finding.Worse
	s.tune.Confirm.Knobs = append(s.tune.Confirm.Knobs, k)
}

// levelOf returns the level of a knob of a candidate's arm.
func (s *search) levelOf(a finding.Arm, knob int) int {
	i := slices.IndexFunc(s.judge.candidates, func(c Candidate) bool { return c.Arm == a })
	return s.judge.candidates[i].levels[knob]
}

// find returns the comparison of a cell in a metric; nil if there is none.
func find(all []finding.Comparison, cell int, metric string) *finding.Comparison {
	i := slices.IndexFunc(all, func(c finding.Comparison) bool { return c.Cell == cell && c.Metric == metric })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// choose sets the answer of the confirmation: the leader if it won. A knob that it does
// not need is left out, if the setting without it won as well: what is recommended has
// always been shown to be better than the baseline. Where a knob makes the leader worse in
// what must not be worse, the setting without it takes its place.
func (s *search) choose() {
	c := s.tune.Confirm
	if !s.won(0) {
		return
	}
	if s.worse(0) == nil {
		c.Answer = 0
	}
	for _, k := range c.Knobs {
		if k.Needed && c.Answer == 0 || !s.won(k.Cell) || s.worse(k.Cell) != nil {
			continue
		}
		if c.Answer < 2 || k.Knob == knobNames[procsKnob] {
			c.Answer = k.Cell
		}
	}
}

// worse returns in what a cell of the confirmation is worse and must not be; nil = nothing.
func (s *search) worse(cell int) *finding.Broken {
	if !s.in.Auto {
		return nil
	}
	for _, o := range s.tune.Confirm.Comparisons {
		if o.Cell == cell && o.Word == finding.Worse && experiment.Guarded(o.Metric) {
			return &finding.Broken{Code: finding.BrokeWorse, Bound: o.Metric}
		}
	}
	return nil
}

// gain returns the comparison of a cell of the confirmation with the baseline in the
// objective; nil if the runs had no figure.
func (s *search) gain(cell int) *finding.Comparison {
	if s.tune.Confirm == nil {
		return nil
	}
	return find(s.tune.Confirm.Comparisons, cell, s.in.Objective.Key)
}

// won reports whether the confirmation supports a cell: it meets every constraint, and
// either its objective is better by more than the margin, or the baseline breaks a
// constraint.
func (s *search) won(cell int) bool {
	c := s.tune.Confirm
	own := c.Winner
	if cell > 1 {
		own = c.Without[cell-2]
	}
	if s.judge.broken(own.Rounds, true) != nil {
		return false
	}
	g := s.gain(cell)
	return g != nil && g.Word == finding.Better || s.judge.broken(c.Default.Rounds, false) != nil
}
