// SPDX-License-Identifier: Apache-2.0

package search

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// sweep records every setting of a grid, and another workload.
func sweep(t *testing.T, w *world, rounds int) *finding.Bench {
	t.Helper()
	b := &finding.Bench{Setup: finding.Setup{Machine: finding.Machine{CPUs: 2}}}
	d := &experiment.Design{Rounds: rounds, Seed: 5}
	for _, a := range everything(grid48()) {
		a.Workload, a.Quota, a.Load = "http", 1, "saturated"
		d.Arms = append(d.Arms, experiment.Arm{Arm: a})
	}
	d.Arms = append(d.Arms, experiment.Arm{Arm: finding.Arm{Workload: "fib", Load: "batch"}})
	runs, err := experiment.Execute(t.Context(), d, w, nil)
	if err != nil {
		t.Fatal(err)
	}
	b.Cells = experiment.Cells(d, runs)
	return b
}

func base() finding.Arm { return finding.Arm{Workload: "http", Quota: 1, Load: "saturated"} }

// TestReplayedSearches checks the published measure of a search, on a recorded sweep: a
// mean regret of at most 3 % over 20 replays.
func TestReplayedSearches(t *testing.T) {
	b := sweep(t, newWorld(0.03, 4, randomSurface(11)), 7)
	in, err := Sweep(b, base())
	if err != nil {
		t.Fatal(err)
	}
	in.Objective, _ = ParseObjective("cpu")
	in.Budget, in.PerRun = runs(74), runs(1)
	total := 0.0
	chosen := map[finding.Knobs]bool{}
	for seed := range uint64(20) {
		r, err := NewReplay(b, seed)
		if err != nil {
			t.Fatal(err)
		}
		in.Seed = seed
		out, err := Run(t.Context(), in, r)
		if err != nil {
			t.Fatal(err)
		}
		arm := base()
		if out.Verdict.Best != nil {
			arm = out.Cells[*out.Verdict.Best].Arm
		}
		chosen[arm.Knobs] = true
		x, err := Regret(b, base(), arm, in.Objective, nil)
		if err != nil {
			t.Fatal(err)
		}
		total += x
	}
	worst, err := Regret(b, base(), finding.Arm{Workload: "http", Quota: 1, Load: "saturated",
		Knobs: finding.Knobs{GOMAXPROCS: "8", GOGC: "50"}}, in.Objective, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("mean regret of 20 replays %.2f %%, %d different choices; of a bad setting %.0f %%", 100*total/20, len(chosen), 100*worst)
	if total/20 > 0.03 || worst < 0.05 {
		t.Errorf("mean regret %.2f %%, of a bad setting %.2f %%", 100*total/20, 100*worst)
	}
}

func TestReplayKeepsPairs(t *testing.T) {
	w := newWorld(0, 4, func(finding.Arm) float64 { return 0 })
	w.drift = 1
	b := sweep(t, w, 7)
	lost := &b.Cells[3].Rounds[2]
	lost.Invalid = "late"
	r, err := NewReplay(b, 1)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 1))
	rounds := map[int]bool{}
	for range 200 {
		seed := random.Uint64N(1 << 53)
		one, err := r.Run(t.Context(), experiment.Trial{Arm: b.Cells[0].Arm, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		two, err := r.Run(t.Context(), experiment.Trial{Arm: b.Cells[3].Arm, Seed: seed, Order: 5})
		if err != nil {
			t.Fatal(err)
		}
		rounds[one.Round] = true
		if two.Invalid != "" || two.Round == lost.Round {
			t.Fatal("a run was drawn that does not count")
		}
		if one.Round != lost.Round && (one.Round != two.Round || *one.CPUPerOp != *two.CPUPerOp) {
			t.Fatalf("one pair is of rounds %d and %d", one.Round, two.Round)
		}
	}
	if len(rounds) != 7 {
		t.Errorf("200 pairs are from %d rounds of 7", len(rounds))
	}
}

func TestReplayErrors(t *testing.T) {
	b := sweep(t, newWorld(0.03, 4, gogcHelps), 2)
	r, err := NewReplay(b, 1)
	if err != nil {
		t.Fatal(err)
	}
	strange := base()
	strange.GOGC = "333"
	if _, err := r.Run(t.Context(), experiment.Trial{Arm: strange}); err == nil || !strings.Contains(err.Error(), "GOGC=333") {
		t.Errorf("a setting that was not recorded: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Run(ctx, experiment.Trial{Arm: base()}); err != context.Canceled {
		t.Errorf("canceled: %v", err)
	}
	if _, err := Sweep(b, strange); err == nil {
		t.Error("a baseline that was not recorded is none")
	}
	if _, err := NewReplay(&finding.Bench{}, 1); err == nil {
		t.Error("nothing can be drawn from an empty sweep")
	}
	b.Cells[5].Rounds = nil
	if _, err := NewReplay(b, 1); err == nil {
		t.Error("a cell has no run")
	}
}

func TestRegretOfConstraints(t *testing.T) {
	w := newWorld(0, 4, gogcHelps)
	w.alter = tails("400", 0.030, 0.015)
	b := sweep(t, w, 2)
	cpu, _ := ParseObjective("cpu")
	bound, _ := ParseConstraint("p99<20ms")
	tight, _ := ParseConstraint("p99<1ms")
	with := func(gogc string) finding.Arm {
		a := base()
		a.GOGC = gogc
		return a
	}
	for _, c := range []struct {
		gogc        string
		constraints []Constraint
		want        float64
	}{
		{"400", nil, 0},
		{"800", nil, math.Exp(0.04) - 1},
		{"", nil, math.Exp(0.16) - 1},
		{"800", []Constraint{bound}, 0},
		{"", []Constraint{bound}, math.Exp(0.12) - 1},
		{"400", []Constraint{bound}, math.Inf(1)},
	} {
		got, err := Regret(b, base(), with(c.gogc), cpu, c.constraints)
		if err != nil || got != c.want && !(math.Abs(got-c.want) < 1e-9) {
			t.Errorf("GOGC=%s with %v: %v, %v, want %v", c.gogc, c.constraints, got, err, c.want)
		}
	}
	if _, err := Regret(b, base(), with(""), cpu, []Constraint{tight}); err == nil {
		t.Error("no setting holds the bound")
	}
	if _, err := Regret(b, base(), with("1"), cpu, nil); err == nil {
		t.Error("not in the sweep")
	}
	rps, _ := ParseObjective("rps")
	if got, err := Regret(b, base(), with(""), rps, nil); err != nil || math.Abs(got-(math.Exp(0.16)-1)) > 1e-9 {
		t.Errorf("operations per second: %v, %v", got, err)
	}
}
