// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// killed reports whether a process of the run was killed for want of memory.
func killed(r finding.Run) bool { return or(r.OOMKills) > 0 }

// empty reports whether a run that was not killed has no result: every operation
// failed, or the program ended before there was a figure.
func empty(r finding.Run) bool {
	none := r.CPUPerOp == nil && r.RPS == nil && r.Wall == nil
	return !killed(r) && (r.Ops == 0 && r.Errors > 0 || r.Exit != "" && none)
}

// failures is how often the runs of a cell that count have failed.
type failures struct {
	rounds int // that count
	killed int // of them
	empty  int // of them
	ratio  float64
}

func failuresOf(c *finding.Cell) failures {
	var f failures
	for _, r := range valid(c.Rounds) {
		f.rounds++
		if killed(r) {
			f.killed++
		} else if empty(r) {
			f.empty++
		}
	}
	f.ratio = or(c.ErrorRate)
	return f
}

// of is the failure of a cell: of rounds or, where only operations failed, of those.
func (f failures) of(cell int) *finding.Failure {
	out := &finding.Failure{Cell: cell, Code: finding.FailsOperations, Of: f.rounds, Ratio: f.ratio}
	switch {
	case f.killed > 0:
		out.Code, out.Rounds = finding.FailsMemory, f.killed
	case f.empty > 0 && f.empty < f.rounds, f.empty > 0 && f.ratio == 0:
		out.Code, out.Rounds = finding.FailsResult, f.empty
	}
	return out
}

// fail notes who fails where the other does not. A setting with a round that
// failed cannot win, nor one with more failed operations than the baseline. It is
// spared when it is neither, and the baseline is, in no more rounds.
//
// This is judged apart from the comparisons, which leave such rounds out: what is
// left of a setting that is killed now and then are the rounds in which it did
// well.
func (c *container) fail(s *setting, cell, baseline int) {
	arm, base := failuresOf(&c.cells[cell]), failuresOf(&c.cells[baseline])
	if c.fails == nil && base.killed+base.empty > 0 {
		c.fails = base.of(baseline)
	}
	switch {
	case arm.killed+arm.empty > 0 || arm.ratio > base.ratio+errorMargin:
		if s.broken == nil {
			s.broken = arm.of(cell)
		}
	case s.spared != nil || arm.rounds < base.rounds:
	case base.killed+base.empty > 0, arm.ratio <= errorMargin && base.ratio > arm.ratio+errorMargin:
		s.spared, s.sparedAt = base.of(baseline), cell
	}
}
