// SPDX-License-Identifier: Apache-2.0

package search

import (
	"math"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// finish fills in what follows from the runs, even if the search stopped early.
func (s *search) finish(err error) {
	t := s.tune
	t.Complete = err == nil
	t.Seconds = time.Since(s.started).Seconds()
	t.Rounds = s.rounds + s.paired
	at := s.cells()
	for i, kept := range s.kept {
		t.Stages[i].Kept = []int{}
		for _, c := range kept {
			t.Stages[i].Kept = append(t.Stages[i].Kept, at[c])
		}
	}
	s.front()
	if s.in.Objective.name == "p99" {
		s.warn(WarnP99, "the P99 of a few seconds varies by about 40 %% from run to run: "+
			"a search for the lowest often misses it; bound it by a constraint and search for CPU per operation")
	}
	s.checkPace()
	s.verdict(err, at)
}

// cells summarizes every candidate with runs, or kept by a stage, and returns its index
// in the document.
func (s *search) cells() map[int]int {
	named := map[int]bool{0: true}
	for _, kept := range s.kept {
		for _, c := range kept {
			named[c] = true
		}
	}
	by := s.judge.byCell(s.runs)
	d := &experiment.Design{Seed: s.in.Seed}
	at := map[int]int{}
	for c := range s.judge.candidates {
		if named[c] || len(by[c]) > 0 {
			at[c] = len(d.Arms)
			d.Arms = append(d.Arms, s.arm(c))
		}
	}
	s.tune.Cells = experiment.Cells(d, s.runs)
	first := slices.DeleteFunc(slices.Clone(s.runs), func(r finding.Run) bool { return r.Round >= baselineRuns })
	d = &experiment.Design{Seed: s.in.Seed, Arms: []experiment.Arm{s.arm(0)}}
	s.tune.Baseline = experiment.Cells(d, first)[0]
	return at
}

// front finds the Pareto front of the cells in CPU per operation, memory and, if it has a
// meaning, P99. It leaves out cells that failed or lack a figure.
func (s *search) front() {
	s.tune.Front = []int{}
	tails := experiment.Tails(&finding.Cell{Arm: s.in.Base.Arm, Rounds: s.runs})
	figures := func(c finding.Cell) ([]float64, bool) {
		x := []float64{or(c.CPUPerOp, math.NaN()), or(metric.Float(c.Peak), math.NaN())}
		if tails {
			x = append(x, or(c.P99, math.NaN()))
		}
		return x, !slices.ContainsFunc(x, math.IsNaN) && s.judge.failure(c.Rounds) == ""
	}
	for i, c := range s.tune.Cells {
		own, ok := figures(c)
		dominated := slices.ContainsFunc(s.tune.Cells, func(o finding.Cell) bool {
			other, ok := figures(o)
			if !ok || slices.Equal(own, other) {
				return false
			}
			for k := range own {
				if other[k] > own[k] {
					return false
				}
			}
			return true
		})
		if ok && !dominated {
			s.tune.Front = append(s.tune.Front, i)
		}
	}
}
