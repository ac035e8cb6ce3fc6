// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"fmt"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
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

// why is the failure in words, of rounds or, where only operations failed, of
// those: is killed for want of memory in 3 of 7 rounds.
func (f failures) why(a finding.Arm) string {
	switch {
	case f.killed > 0:
		return fmt.Sprintf("is killed for want of memory in %d of %s", f.killed, units.Plural(f.rounds, "round"))
	case f.empty > 0 && f.empty < f.rounds:
		return fmt.Sprintf("has no result in %d of %s", f.empty, units.Plural(f.rounds, "round"))
	case f.empty > 0 && f.ratio == 0:
		return "has no result"
	}
	return "fails " + units.About(f.ratio) + " of its " + metric.Operation(a) + "s"
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
	load := ""
	if len(c.loads) > 1 {
		load = " " + under(c.cells[cell].Load)
	}
	if c.fails == "" && base.killed+base.empty > 0 {
		c.fails = base.why(c.cells[baseline].Arm) + load
	}
	switch {
	case arm.killed+arm.empty > 0 || arm.ratio > base.ratio+errorMargin:
		if s.broken == "" {
			s.broken = arm.why(c.cells[cell].Arm) + load
		}
	case s.spared != "" || arm.rounds < base.rounds:
	case base.killed+base.empty > 0, arm.ratio <= errorMargin && base.ratio > arm.ratio+errorMargin:
		s.spared, s.sparedAt = base.why(c.cells[baseline].Arm)+load, cell
	}
}
