// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// confirm measures the winner and the baseline again, on runs that no choice depended on.
// The best of many noisy figures is too good on average; only fresh runs say by how much.
func (s *search) confirm(ctx context.Context) error {
	d := confirmation(s.arm(s.ranking[0].cell), s.arm(0), s.seed())
	began := time.Now()
	runs, err := s.execute(ctx, "confirm", d)
	for i := range runs {
		runs[i].Round += s.rounds
	}
	cells := experiment.Cells(d, runs)
	s.tune.Confirm = &finding.Confirm{Winner: cells[0], Default: cells[1], Comparisons: experiment.Compare(d, cells)}
	kept := []int{s.ranking[0].cell}
	if err != nil || !s.won() {
		kept = []int{}
	}
	s.done("confirm", began, len(runs), kept)
	return err
}

// confirmation returns a design of pairs in ABBA blocks: of two rounds one starts with
// the winner and one with the baseline, so that steady changes of the machine affect both
// alike. Which comes first in a block is random. A design is shuffled by its seed, so
// confirmation looks for a seed that gives this order; one in 2 to the number of blocks
// does.
func confirmation(winner, base experiment.Arm, seed uint64) *experiment.Design {
	d := &experiment.Design{
		Arms: []experiment.Arm{winner, base}, Rounds: confirmPairs,
		Against: func(_ []experiment.Arm, i int) (int, bool) { return 1, i != 1 },
	}
	for r := rand.New(rand.NewPCG(seed, 2)); ; {
		d.Seed = r.Uint64N(1 << 53)
		if mirrored(d.Schedule()) {
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

// gain returns the confirmation's comparison of the objective; false if there is none,
// because the runs had no figure.
func (s *search) gain() (finding.Comparison, bool) {
	if s.tune.Confirm == nil {
		return finding.Comparison{}, false
	}
	all := s.tune.Confirm.Comparisons
	i := slices.IndexFunc(all, func(c finding.Comparison) bool { return c.Metric == s.in.Objective.Key })
	if i < 0 {
		return finding.Comparison{}, false
	}
	return all[i], true
}

// won reports whether the confirmation supports the winner: it meets every constraint,
// and either its objective is better by more than the margin, or the baseline breaks a
// constraint.
func (s *search) won() bool {
	if s.tune.Confirm == nil || s.broken(s.tune.Confirm.Winner, true) != nil {
		return false
	}
	g, ok := s.gain()
	return ok && g.Word == finding.Better || s.broken(s.tune.Confirm.Default, false) != nil
}

// broken returns what a cell of the confirmation breaks; nil if it meets everything. With
// doubt the less favourable end of the median's interval counts, otherwise the more
// favourable one; with too few runs for an interval, the ends of the range.
func (s *search) broken(c finding.Cell, doubt bool) *finding.Broken {
	if why := s.judge.failure(c.Rounds); why != "" && (doubt || why != finding.BrokeErrors) {
		return &finding.Broken{Code: why}
	}
	for _, con := range s.judge.constraints {
		var x []float64
		for i := range c.Rounds {
			if v := con.Run(&c.Rounds[i]); v != nil && c.Rounds[i].Invalid == "" {
				x = append(x, *v)
			}
		}
		if len(x) == 0 {
			if doubt {
				return &finding.Broken{Code: finding.BrokeBound, Bound: con.String()}
			}
			continue
		}
		iv, ok := stats.MedianInterval(x, 0.95)
		if !ok || con.share() && doubt {
			iv.Low, iv.High = slices.Min(x), slices.Max(x)
		}
		v := iv.Low
		if !con.More == doubt {
			v = iv.High
		}
		if !con.holds(v) {
			return &finding.Broken{Code: finding.BrokeBound, Bound: con.String()}
		}
	}
	return nil
}
