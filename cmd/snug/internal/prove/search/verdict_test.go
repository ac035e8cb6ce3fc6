// SPDX-License-Identifier: Apache-2.0

package search

import (
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
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
// search says what it does not rule out, and recommends nothing.
func TestTooNoisyToKeep(t *testing.T) {
	in := input(t, "cpu")
	in.Budget = runs(45)
	out := search1(t, in, newWorld(0.25, 3, gogcHelps))
	j := out.Verdict.Judged
	if !out.Verdict.Keep || len(j) != 1 || j[0].Open < 0.1 || !strings.Contains(out.Verdict.Text, " is not ruled out") {
		t.Errorf("verdict %+v", out.Verdict)
	}
}

// TestOneEmptyWindowProvesNothing: the default finishes nothing in one run, and no setting is better.
func TestOneEmptyWindowProvesNothing(t *testing.T) {
	for at := range 40 {
		w := newWorld(0.03, uint64(at), func(finding.Arm) float64 { return 0 })
		n := 0
		w.alter = func(r *finding.Run) {
			if r.Arm.Knobs == (finding.Knobs{}) {
				if n++; n == 1+at%12 {
					r.CPUPerOp, r.RPS, r.Ops, r.Errors = nil, nil, 0, 1
				}
			}
		}
		in := input(t, "cpu")
		in.Snug = &finding.Knobs{GOMEMLIMIT: "400MiB"}
		out, err := Run(t.Context(), in, w)
		if err != nil {
			t.Fatal(err)
		}
		content.SayTune(out)
		if out.Verdict.Best != nil {
			t.Errorf("run %d: %s", 1+at%12, out.Verdict.Text)
		}
	}
}

// TestNothingThatHarmsWins: a setting that saves CPU time and makes something else worse is not
// recommended, whatever the objective.
func TestNothingThatHarmsWins(t *testing.T) {
	for name, harm := range map[string]func(*finding.Run){
		metric.Errors: func(r *finding.Run) { r.Errors = 20 },
		metric.P99:    func(r *finding.Run) { *r.P99 *= 1.5 },
		metric.Throttled: func(r *finding.Run) {
			r.ThrottledPeriods = pointer(uint64(30))
		},
	} {
		for _, auto := range []bool{true, false} {
			w := newWorld(0.01, 1, gogcHelps)
			w.alter = func(r *finding.Run) {
				r.P99, r.Periods, r.ThrottledPeriods = pointer(0.01*(1+0.01*w.random.NormFloat64())), pointer(uint64(40)), pointer(uint64(10+w.random.Uint64N(3)))
				r.CPU = pointer(0.99 * r.Window)
				*r.RPS = 250 // what it saves is not served
				if k := r.Arm.Knobs; k != (finding.Knobs{}) {
					harm(r)
				}
			}
			in := input(t, "cpu")
			in.Base.Load, in.Base.Quota, in.Auto = "saturated", 1, auto
			out := search1(t, in, w)
			if out.Verdict.Best != nil {
				t.Errorf("%s, auto %t: %s", name, auto, out.Verdict.Text)
			}
		}
	}
}
