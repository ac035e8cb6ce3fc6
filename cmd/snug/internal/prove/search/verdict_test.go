// SPDX-License-Identifier: Apache-2.0

package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestFront(t *testing.T) {
	cell := func(load string, cpu, p99 float64, peak int64) finding.Cell {
		return finding.Cell{Arm: finding.Arm{Load: load}, CPUPerOp: &cpu, P99: &p99, Peak: &peak}
	}
	killed := cell("50%", 0.1, 0.1, 1)
	kills := uint64(1)
	killed.Rounds = []finding.Run{{OOMKills: &kills}}
	without := cell("50%", 0.1, 0.1, 1)
	without.P99 = nil
	for load, want := range map[string][]int{"50%": {0, 1, 2, 5}, "saturated": {0, 1, 5}} {
		s := search{in: Input{Base: experiment.Arm{Arm: finding.Arm{Load: load}}}, tune: &finding.Tune{Cells: []finding.Cell{
			cell(load, 1, 5, 100), cell(load, 2, 4, 50), cell(load, 3, 3, 120), cell(load, 3, 5, 120), killed,
			cell(load, 1, 5, 100), // equal to the first
		}}}
		if load == "50%" {
			s.tune.Cells = append(s.tune.Cells, without)
		}
		if s.front(); !slices.Equal(s.tune.Front, want) {
			t.Errorf("%s: %v, want %v", load, s.tune.Front, want)
		}
	}
}

func TestConfirmationIsInABBABlocks(t *testing.T) {
	first := map[string]int{}
	for seed := range uint64(50) {
		s := search{in: Input{Seed: seed}}
		s.judge.candidates = []Candidate{{Arm: finding.Arm{Load: "a"}}, {Arm: finding.Arm{Load: "b"}}}
		trials := s.confirmation(contest{cell: 0, base: 1, pairs: confirmPairs}).Schedule()
		if len(trials) != 2*confirmPairs {
			t.Fatalf("%d runs", len(trials))
		}
		for i := 0; i < len(trials); i += 4 {
			if trials[i].Arm != trials[i+3].Arm || trials[i+1].Arm != trials[i+2].Arm || trials[i].Arm == trials[i+1].Arm {
				t.Fatalf("seed %d, block at %d: %v", seed, i, trials[i:i+4])
			}
			first[trials[i].Arm.Load]++
		}
	}
	if first["a"] < 90 || first["b"] < 90 {
		t.Errorf("of 250 blocks %d begin with the leader, %d with the baseline", first["a"], first["b"])
	}
}

func TestFirstCandidateFailsOnFreshRuns(t *testing.T) {
	w := newWorld(0.02, 1, gogcHelps)
	w.alter = func(r *finding.Run) {
		p99 := 0.015
		if r.Arm.GOGC == "400" && w.runs > 54 {
			p99 = 0.030 // only in the confirmation
		}
		r.P99 = &p99
	}
	out := search1(t, input(t, "cpu", "p99<20ms"), w)
	if !out.Verdict.Keep || out.Confirm == nil {
		t.Errorf("verdict %+v", out.Verdict)
	}
}

// TestTooNoisyToKeep: where runs of one setting differ by more than what a setting could gain, the
// search does not say that the default is best.
func TestTooNoisyToKeep(t *testing.T) {
	in := input(t, "cpu")
	in.Runs = 45
	out, err := Run(t.Context(), in, newWorld(0.25, 3, gogcHelps))
	if err != nil {
		t.Fatal(err)
	}
	content.SayTune(out)
	j := out.Verdict.Judged
	if out.Verdict.Keep || out.Verdict.Best != nil || len(j) != 1 || j[0].Open < 0.1 || j[0].Noise < 0.1 ||
		!strings.HasPrefix(out.Verdict.Text, "undecided: ") {
		t.Errorf("verdict %+v", out.Verdict)
	}
}
