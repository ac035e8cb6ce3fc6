// SPDX-License-Identifier: Apache-2.0

package search

import (
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/bits"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

var record = flag.Bool("record", false, "write the replays of recorded sweeps to experiments/")

// replays is how often a search is replayed on each sweep, and replayRuns its
// budget: of a sweep of about 20 settings.
const (
	replays    = 20
	replayRuns = 70
)

// TestRecordedSweeps replays searches on the factorial sweeps of each workload in
// experiments/: the published measure of tune's recommendations. Data and seeds are
// fixed, so the regret is always the same. It is compared with the regret of keeping the
// default.
//
// The regret is in-sample: a sweep has 4 or 5 rounds, and search, confirmation and truth
// draw the same runs. A setting that was lucky in them is also lucky in the truth, so the
// regret on fresh runs would be larger. TestRegretOfRandomSurfaces measures the search
// under noise that it has not seen.
func TestRecordedSweeps(t *testing.T) {
	const experiments = "../../../../../experiments"
	files, err := filepath.Glob(experiments + "/*-recommendation/*/data.json.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recorded sweep in %s: %v", experiments, err)
	}
	var table strings.Builder
	table.WriteString("workload,settings,default_regret,mean_regret,max_regret,default_regret_halves,mean_regret_halves,kept_default\n")
	for _, file := range files {
		b := recorded(t, file)
		base := b.Cells[0].Arm
		in, err := Sweep(b, base)
		if err != nil {
			t.Fatal(err)
		}
		in.Objective, _ = ParseObjective("cpu")
		in.Budget, in.PerRun = runs(replayRuns), runs(1)
		regretOf := func(a finding.Arm) float64 {
			x, err := Regret(b, base, a, in.Objective, nil)
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		halves := newHalves(b, in.Objective)
		var all []float64
		kept, inHalves := 0, 0.0
		for _, out := range replayed(t, b, in) {
			chosen := base
			if out.Verdict.Best != nil {
				chosen = out.Cells[*out.Verdict.Best].Arm
			} else {
				kept++
			}
			all = append(all, regretOf(chosen))
			inHalves += halves.regret(chosen) / replays
		}
		sum := 0.0
		for _, x := range all {
			sum += x
		}
		mean := sum / replays
		fmt.Fprintf(&table, "%s,%d,%.4f,%.4f,%.4f,%.4f,%.4f,%d\n", base.Workload, len(b.Cells),
			regretOf(base), mean, slices.Max(all), halves.regret(base), inHalves, kept)
		if inHalves > 0.03 {
			t.Errorf("%s: mean regret %.1f %%, want at most 3 %%", base.Workload, inHalves*100)
		}
	}
	t.Logf("\n%s", &table)
	published, err := filepath.Glob(experiments + "/*-recommendation/replays.csv")
	if err != nil || len(published) != 1 {
		t.Fatalf("%d published tables: %v", len(published), err)
	}
	if *record {
		if err := os.WriteFile(published[0], []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text, err := os.ReadFile(published[0]); err != nil || string(text) != table.String() {
		t.Errorf("the published table is another (go test -run TestRecordedSweeps -record writes it), %v:\n%s", err, text)
	}
}

// TestRealSweeps replays searches on sweeps of servers that were not used while tune was written:
// with so few runs as five minutes allow of a server that takes five seconds to measure. The noise of
// a run is about a tenth, so a search may keep the default and name a gain that it does not rule out;
// that it rules out one of more than a tenth would be wrong.
func TestRealSweeps(t *testing.T) {
	files, err := filepath.Glob("../../../../../experiments/real/data/sweep-*.json.gz")
	if err != nil || len(files) < 3 {
		t.Fatalf("%d recorded sweeps: %v", len(files), err)
	}
	for _, file := range files {
		b := recorded(t, file)
		at := slices.IndexFunc(b.Cells, func(c finding.Cell) bool { return c.Knobs == finding.Knobs{} })
		base := b.Cells[at].Arm
		in, err := Sweep(b, base)
		if err != nil {
			t.Fatal(err)
		}
		in.Objective, _ = ParseObjective("cpu")
		in.Budget, in.PerRun = runs(55), runs(1)
		h := newHalves(b, in.Objective)
		mean, undecided, kept := 0.0, 0, 0
		for _, out := range replayed(t, b, in) {
			chosen := base
			switch {
			case out.Verdict.Best != nil:
				chosen = out.Cells[*out.Verdict.Best].Arm
			case out.Verdict.Judged[0].Open > 0:
				undecided++
			default:
				kept++
			}
			mean += h.regret(chosen) / replays
		}
		t.Logf("%s: regret %.1f %%, of the default %.1f %%; open %d, kept %d of %d", filepath.Base(file), 100*mean, 100*h.regret(base), undecided, kept, replays)
		if mean > h.regret(base)/2 {
			t.Errorf("%s: regret %.1f %%, of the default %.1f %%", filepath.Base(file), 100*mean, 100*h.regret(base))
		}
		if kept > replays/10 && h.regret(base) > 0.1 {
			t.Errorf("%s: %d of %d keep the default, which costs %.1f %%", filepath.Base(file), kept, replays, 100*h.regret(base))
		}
	}
}

// replayed returns the answers of searches on a sweep, one for each seed.
func replayed(t *testing.T, b *finding.Bench, in Input) []*finding.Tune {
	t.Helper()
	var all []*finding.Tune
	for seed := range uint64(replays) {
		r, err := NewReplay(b, seed)
		if err != nil {
			t.Fatal(err)
		}
		in.Seed = seed
		out, err := Run(t.Context(), in, r)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, out)
	}
	return all
}

func recorded(t *testing.T, file string) *finding.Bench {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var b finding.Bench
	if err := json.NewDecoder(z).Decode(&b); err != nil {
		t.Fatal(err)
	}
	return &b
}

// halves judges a choice by rounds that did not decide which setting is best. The best of
// twenty noisy medians is too good by about the noise, so even the best setting would
// seem to have a regret. So one half of the rounds names the best and the other half
// compares, for every way to halve them.
type halves struct {
	arms    []finding.Arm
	figures map[finding.Arm]map[int]float64 // by round
	splits  [][2][]int
}

func newHalves(b *finding.Bench, o Objective) *halves {
	h := &halves{figures: map[finding.Arm]map[int]float64{}}
	var rounds []int
	for _, c := range b.Cells {
		of := map[int]float64{}
		for _, r := range c.Rounds {
			if x := o.Run(&r); x != nil && r.Invalid == "" {
				of[r.Round] = *x
				if !slices.Contains(rounds, r.Round) {
					rounds = append(rounds, r.Round)
				}
			}
		}
		h.figures[c.Arm] = of
		h.arms = append(h.arms, c.Arm)
	}
	slices.Sort(rounds)
	if len(rounds) > 12 {
		panic("too many rounds to halve in every way")
	}
	for set := range 1 << len(rounds) {
		if bits.OnesCount(uint(set)) != len(rounds)/2 {
			continue
		}
		var two [2][]int
		for i, r := range rounds {
			two[set>>i&1] = append(two[set>>i&1], r)
		}
		h.splits = append(h.splits, two)
	}
	return h
}

func (h *halves) regret(chosen finding.Arm) float64 {
	median := func(a finding.Arm, rounds []int) (float64, bool) {
		var x []float64
		for _, r := range rounds {
			if v, ok := h.figures[a][r]; ok {
				x = append(x, v)
			}
		}
		if len(x) == 0 {
			return 0, false
		}
		return stats.Median(x), true
	}
	sum, n := 0.0, 0
	for _, two := range h.splits {
		var best finding.Arm
		lowest := math.Inf(1)
		for _, a := range h.arms {
			x, ok := median(a, two[0])
			if _, there := median(a, two[1]); ok && there && x < lowest {
				best, lowest = a, x
			}
		}
		mine, ok := median(chosen, two[1])
		its, there := median(best, two[1])
		if ok && there {
			sum, n = sum+mine/its-1, n+1
		}
	}
	return sum / float64(n)
}
