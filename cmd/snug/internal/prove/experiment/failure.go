// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// killed reports whether a process of the run was OOM-killed.
func killed(r finding.Run) bool { return or(r.OOMKills) > 0 }

// empty reports whether a run that was not OOM-killed has no result: every operation
// failed, or the program ended before there was a figure.
func empty(r finding.Run) bool {
	none := r.CPUPerOp == nil && r.RPS == nil && r.Wall == nil
	return !killed(r) && (r.Ops == 0 && r.Errors > 0 || r.Exit != "" && none)
}

// failures counts how often the valid runs of a cell failed.
type failures struct {
	rounds int // rounds that count
	killed int // rounds with an OOM kill
	empty  int // rounds without a result
	ratio  float64
}

// lost is the number of rounds without a result, killed or not.
func (f failures) lost() int { return f.killed + f.empty }

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

// of returns the failure of a cell: in rounds or, without failed rounds, in operations.
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

// fail records how a setting fails, if its baseline does not fail in the same way. Such a
// setting cannot win: the comparisons leave failed rounds out, so a setting that is
// sometimes killed keeps only the rounds in which it did well.
func (c *container) fail(s *setting, cell, baseline int) {
	arm, base := failuresOf(&c.cells[cell]), failuresOf(&c.cells[baseline])
	if s.broken == nil && (arm.lost() > 0 || arm.ratio > base.ratio+errorMargin) {
		s.broken = arm.of(cell)
	}
}
