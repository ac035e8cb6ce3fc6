// SPDX-License-Identifier: Apache-2.0

package search

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// world is a program with known figures: the logarithm of each setting's CPU per
// operation, and the noise of a run.
type world struct {
	value  func(finding.Arm) float64
	noise  float64
	drift  float64 // noise that the runs of a round share
	random *rand.Rand
	alter  func(*finding.Run) // changes a finished run
	runs   int
	seeds  map[uint64]bool
	drifts map[uint64]float64
}

func newWorld(noise float64, seed uint64, value func(finding.Arm) float64) *world {
	return &world{value: value, noise: noise, random: rand.New(rand.NewPCG(seed, 9)),
		seeds: map[uint64]bool{}, drifts: map[uint64]float64{}}
}

func (w *world) Run(ctx context.Context, t experiment.Trial) (finding.Run, error) {
	if err := ctx.Err(); err != nil {
		return finding.Run{}, err
	}
	w.runs++
	if !w.seeds[t.Seed] {
		w.seeds[t.Seed] = true
		w.drifts[t.Seed] = w.drift * w.random.NormFloat64()
	}
	cpu := math.Exp(w.value(t.Arm) + w.drifts[t.Seed] + w.noise*w.random.NormFloat64())
	rps := 1 / cpu
	run := finding.Run{Arm: t.Arm, Took: 1, Window: 4, Ops: 4000, CPUPerOp: &cpu, RPS: &rps}
	if w.alter != nil {
		w.alter(&run)
	}
	return run, nil
}

// runs returns a budget of a number of runs of one second.
func runs(n int) time.Duration { return time.Duration(n) * time.Second }

// grid48 returns 4 x 6 x 2 settings.
func grid48() Values {
	return Values{GOMAXPROCS: []string{"", "1", "4", "8"}, GOGC: []string{"50", "", "200", "400", "800", "off"},
		GOMEMLIMIT: []string{"", "400MiB"}}
}

// reserved is the number of runs that a search of three knobs keeps for its confirmation.
const reserved = (2 + maxWithout) * minPairs

func input(t testing.TB, objective string, constraints ...string) Input {
	t.Helper()
	o, err := ParseObjective(objective)
	if err != nil {
		t.Fatal(err)
	}
	in := Input{Base: experiment.Arm{Arm: finding.Arm{Workload: "http", Quota: 1, Load: "saturated"}},
		CPUs: 8, Objective: o, Values: grid48(), Budget: runs(baselineRuns + reserved + 48), PerRun: runs(1)}
	for _, c := range constraints {
		p, err := ParseConstraint(c)
		if err != nil {
			t.Fatal(err)
		}
		in.Constraints = append(in.Constraints, p)
	}
	return in
}

// randomSurface has a U over GOGC, a valley over GOMAXPROCS, a step for GOMEMLIMIT, a
// product of the first two, and an effect of each setting's own.
func randomSurface(seed uint64) func(finding.Arm) float64 {
	r := rand.New(rand.NewPCG(seed, 3))
	v := grid48()
	bestP, bestG := r.Float64()*3, r.Float64()*5
	p, g, m, pg := 0.05*r.Float64(), 0.02*r.Float64(), 0.1*(r.Float64()-0.5), 0.01*(r.Float64()-0.5)
	own := map[finding.Knobs]float64{}
	for _, a := range v.GOMAXPROCS {
		for _, b := range v.GOGC {
			for _, c := range v.GOMEMLIMIT {
				own[finding.Knobs{GOMAXPROCS: a, GOGC: b, GOMEMLIMIT: c}] = 0.01 * r.NormFloat64()
			}
		}
	}
	return func(a finding.Arm) float64 {
		x, y := float64(slices.Index(v.GOMAXPROCS, a.GOMAXPROCS)), float64(slices.Index(v.GOGC, a.GOGC))
		z := float64(slices.Index(v.GOMEMLIMIT, a.GOMEMLIMIT))
		return p*(x-bestP)*(x-bestP) + g*(y-bestG)*(y-bestG) + m*z + pg*x*y + own[a.Knobs]
	}
}

func everything(v Values) []finding.Arm {
	var arms []finding.Arm
	for _, a := range v.GOMAXPROCS {
		for _, b := range v.GOGC {
			for _, c := range v.GOMEMLIMIT {
				arms = append(arms, finding.Arm{Knobs: finding.Knobs{GOMAXPROCS: a, GOGC: b, GOMEMLIMIT: c}})
			}
		}
	}
	return arms
}

func regret(value func(finding.Arm) float64, chosen finding.Arm) float64 {
	best := math.Inf(1)
	for _, a := range everything(grid48()) {
		best = min(best, value(a))
	}
	return math.Exp(value(chosen)-best) - 1
}

// leader returns the best setting of the search before the confirmation.
func leader(t testing.TB, out *finding.Tune) finding.Arm {
	t.Helper()
	if out.Confirm == nil {
		return out.Cells[0].Arm
	}
	return out.Cells[out.Stages[len(out.Stages)-2].Kept[0]].Arm
}

// pick returns the best of settings measured a number of times each, by the mean.
func pick(value func(finding.Arm) float64, arms []finding.Arm, times int, noise float64, r *rand.Rand) finding.Arm {
	means := map[finding.Arm]float64{}
	for _, a := range arms {
		for range times {
			means[a] += (value(a) + noise*r.NormFloat64()) / float64(times)
		}
	}
	return slices.MinFunc(arms, func(a, b finding.Arm) int { return cmp.Compare(means[a], means[b]) })
}

func TestRegretOfRandomSurfaces(t *testing.T) {
	for _, c := range []struct {
		noise    float64
		runs     int
		surfaces int
		maxMean  float64 // mean regret
		share    float64 // maximum, of the regret of the better simple method
	}{
		{0.03, 48, 300, 0.015, 0.8},
		{0.10, 96, 300, 0.03, 0.9},
	} {
		t.Run(strconv.FormatFloat(c.noise, 'f', 2, 64), func(t *testing.T) {
			var own, random, full, within float64
			r := rand.New(rand.NewPCG(1, 2))
			for i := range c.surfaces {
				value := randomSurface(uint64(i))
				in := input(t, "cpu")
				in.Seed, in.Budget = uint64(i), runs(baselineRuns+reserved+c.runs)
				out, err := Run(t.Context(), in, newWorld(c.noise, uint64(i), value))
				if err != nil {
					t.Fatal(err)
				}
				x := regret(value, leader(t, out))
				own += x
				if x <= 0.03 {
					within++
				}
				all := everything(grid48())
				full += regret(value, pick(value, all, c.runs/48, c.noise, r))
				r.Shuffle(len(all), func(a, b int) { all[a], all[b] = all[b], all[a] })
				random += regret(value, pick(value, all[:c.runs/3], 3, c.noise, r))
			}
			n := float64(c.surfaces)
			t.Logf("mean regret: %.2f %% (%.0f %% within 3 %%), full grid %.2f %%, random %.2f %%",
				100*own/n, 100*within/n, 100*full/n, 100*random/n)
			if own/n > c.maxMean {
				t.Errorf("mean regret %.2f %%, want at most %.2f %%", 100*own/n, 100*c.maxMean)
			}
			if maxRegret := c.share * min(full, random); own > maxRegret {
				t.Errorf("mean regret %.2f %%, want at most %.2f %%: full grid %.2f %%, random %.2f %%",
					100*own/n, 100*maxRegret/n, 100*full/n, 100*random/n)
			}
		})
	}
}

// TestNoFalseWinners has settings that do not differ. The search always finds a leader,
// whose figures are too good; the confirmation must reject it.
func TestNoFalseWinners(t *testing.T) {
	const searches = 500
	wrong, led := 0, 0
	for i := range searches {
		in := input(t, "cpu")
		in.Seed = uint64(i)
		w := newWorld(0.03, uint64(i), func(finding.Arm) float64 { return 0 })
		w.drift = 0.03
		out, err := Run(t.Context(), in, w)
		if err != nil {
			t.Fatal(err)
		}
		if out.Verdict.Best != nil {
			wrong++
		}
		if out.Confirm != nil {
			led++
		}
		if out.Verdict.Keep == (out.Verdict.Best != nil) {
			t.Fatalf("keep %v, best %v", out.Verdict.Keep, out.Verdict.Best)
		}
	}
	t.Logf("%d false winners of %d searches, of which %d had a leader to confirm", wrong, searches, led)
	if led < searches/2 {
		t.Errorf("%d searches had a leader to confirm: too few to show anything", led)
	}
	// The lower 95 % bound of a binomial share above 5 %: more than 33 of 500.
	if wrong > 33 {
		t.Errorf("%d false winners of %d", wrong, searches)
	}
}
