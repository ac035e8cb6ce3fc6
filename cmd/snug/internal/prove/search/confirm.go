// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"math"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// confirm measures the leader of the search again, and beside it in the same rounds its
// baseline, and the leader without each of its knobs. No choice depended on these runs:
// the best of many noisy figures is too good on average, and only fresh runs say by how
// much.
func (s *search) confirm(ctx context.Context) error {
	lead, ok := s.leader()
	if !ok {
		return nil
	}
	base := s.ref
	if lead == s.ref {
		base = 0 // snug's plan, against the default that fails
	}
	without := s.without(lead)
	pairs := func() int { return min(maxPairs, s.trials.left()/(2+len(without))) }
	for len(without) > 0 && pairs() < minPairs {
		without = without[:len(without)-1]
	}
	if pairs() < leastPairs {
		return nil
	}
	s.confirmed = []int{lead, base}
	for _, w := range without {
		s.confirmed = append(s.confirmed, w.cell)
	}
	d := &experiment.Design{Rounds: pairs(), Seed: s.seed()}
	for _, cell := range s.confirmed {
		d.Arms = append(d.Arms, s.arm(cell))
	}
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
	for i, w := range without {
		s.test(w, 2+i, compared(d, cells, above(2, len(cells)), 0))
	}
	if err == nil {
		s.choose()
	}
	s.done("confirm", runs, short, func() []int { return []int{s.confirmed[c.Answer]} }, err)
	return err
}

// drop is a setting without one of its knobs.
type drop struct{ knob, cell int }

// leader chooses what to confirm: the best setting besides the one to beat; of those that are
// estimated to be within the margin of it, the one that changes least. Where nothing leads
// snug's plan, and the default fails, that is confirmed against the default. The result is false
// if nothing can win: what is worse by more than the margin so far is not confirmed.
func (s *search) leader() (int, bool) {
	if len(s.ranking) == 0 {
		return 0, false
	}
	if top := s.ranking[0]; s.ref != 0 && top.cell == s.ref {
		return s.ref, top.feasible()
	}
	margin := math.Log1p(margins[s.in.Objective.name])
	lead, score := -1, math.Inf(1)
	if slices.ContainsFunc(s.ranking, func(t standing) bool { return t.cell == s.ref && t.feasible() }) {
		score = margin
	}
	for _, t := range s.ranking {
		switch {
		case t.cell == s.ref || !t.feasible():
		case lead < 0 && t.score <= score:
			lead, score = t.cell, t.score
		case lead >= 0 && t.score <= score+margin && s.changes(t.cell) < s.changes(lead):
			lead = t.cell
		}
	}
	return lead, lead >= 0
}

// changes weighs what a candidate changes of the setting to beat, as [experiment.Changes] does.
func (s *search) changes(cell int) int {
	n := 0
	for k := range knobs {
		if value(s.judge.candidates[cell], k) != value(s.refArm(), k) {
			n += 2
			if k == procsKnob {
				n++
			}
		}
	}
	return n
}

// without returns a candidate without each of the knobs that it sets otherwise than the
// reference; none if it is only one, because without that it is the reference. A raised GOGC
// keeps its GOMEMLIMIT: nothing else bounds the heap.
func (s *search) without(cell int) []drop {
	own, ref := s.judge.candidates[cell], s.judge.candidates[s.ref]
	var out []drop
	for k := range knobs {
		bounds := k == limitKnob && ref.GOMEMLIMIT == "" && own.GOGC != ref.GOGC
		if value(own, k) == value(ref, k) || bounds {
			continue
		}
		c := with(own, k, value(ref, k))
		at := slices.Index(s.judge.candidates, c)
		if at == s.ref || s.in.Only != nil && !s.in.Only(c) {
			continue
		}
		if at < 0 {
			at = len(s.judge.candidates)
			s.judge.candidates = append(s.judge.candidates, c)
		}
		out = append(out, drop{k, at})
	}
	return out[:min(len(out), maxWithout)]
}

// compared compares cells of a confirmation with another one. The leader is compared with
// the baseline before all others, as a hypothesis of its own: the others count only if it
// is better.
func compared(d *experiment.Design, cells []finding.Cell, which []int, with int) []finding.Comparison {
	one := *d
	one.Against = func(_ []experiment.Arm, i int) (int, bool) { return with, slices.Contains(which, i) }
	return experiment.CompareAsPlanned(&one, cells)
}

// test records whether the leader needs a knob, from the comparisons with the leader.
func (s *search) test(w drop, cell int, comparisons []finding.Comparison) {
	k := finding.KnobTest{Knob: knobNames[w.knob], Value: value(s.judge.candidates[s.confirmed[0]], w.knob), Cell: cell}
	k.Broken = s.judge.broken(s.tune.Confirm.Without[cell-2].Rounds, true)
	k.Change = find(comparisons, cell, s.in.Objective.Key)
	k.Needed = k.Broken != nil || k.Change != nil && k.Change.Word == finding.Worse
	s.tune.Confirm.Knobs = append(s.tune.Confirm.Knobs, k)
}

// find returns the comparison of a cell in a metric; nil if there is none.
func find(all []finding.Comparison, cell int, metric string) *finding.Comparison {
	i := slices.IndexFunc(all, func(c finding.Comparison) bool { return c.Cell == cell && c.Metric == metric })
	if i < 0 {
		return nil
	}
	return &all[i]
}

// choose sets the answer of the confirmation: the leader if it won. A knob is left out if the loss
// without it is shown to be within the margin, and the setting without it won as well. Where the
// leader is worse in what must not be worse, a setting without one of its knobs takes its place.
func (s *search) choose() {
	c := s.tune.Confirm
	if s.won(0) {
		c.Answer = 0
	}
	led := s.gain(0)
	for _, k := range c.Knobs {
		spare := c.Answer == 0 && k.Change != nil && (k.Change.Word == finding.Same || k.Change.Word == finding.Better)
		blocked := c.Answer == 1 && led != nil && led.Word == finding.Better
		if (spare || blocked) && s.won(k.Cell) {
			c.Answer = k.Cell
			return
		}
	}
}

// cell returns a cell of the confirmation.
func (s *search) cell(i int) *finding.Cell {
	c := s.tune.Confirm
	switch i {
	case 0:
		return &c.Winner
	case 1:
		return &c.Default
	}
	return &c.Without[i-2]
}

// worse returns in what a cell of the confirmation is worse and must not be; nil = nothing. Whatever
// the objective, that is failed operations, P99 and, unless it serves more, throttling.
func (s *search) worse(cell int) *finding.Broken {
	served := find(s.tune.Confirm.Comparisons, cell, metric.RPS)
	for _, m := range experiment.Raised(s.cell(1), s.cell(cell)) {
		if m != metric.Throttled || served == nil || served.Word != finding.Better {
			return &finding.Broken{Code: finding.BrokeWorse, Bound: m}
		}
	}
	for _, o := range s.tune.Confirm.Comparisons {
		if s.in.Auto && o.Cell == cell && o.Word == finding.Worse && experiment.Guarded(o.Metric) {
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

// won reports whether the confirmation supports a cell: it meets every constraint, it is not worse in
// what must not be, and either its objective is better by more than the margin, or the baseline
// fails or breaks a constraint, and not by chance.
func (s *search) won(cell int) bool {
	own := s.cell(cell)
	if s.judge.broken(own.Rounds, true) != nil || s.worse(cell) != nil {
		return false
	}
	g := s.gain(cell)
	return g != nil && g.Word == finding.Better || s.judge.broken(s.cell(1).Rounds, false) != nil ||
		s.confirmed[1] == 0 && s.spares(cell)
}

// spares reports whether the default fails more often than chance explains where a setting of the
// confirmation does not.
func (s *search) spares(cell int) bool {
	f := s.fails(0)
	_, of := lost(s.judge.byCell(s.runs)[s.confirmed[cell]])
	_, fresh := lost(s.cell(cell).Rounds)
	return f != nil && !chance(f, of+fresh)
}
