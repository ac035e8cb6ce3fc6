// SPDX-License-Identifier: Apache-2.0

package search

import (
	"regexp"
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// cache is a service whose live heap fills 60 % of 256 MiB: without a GOMEMLIMIT it is
// OOM-killed. gogc is the effect of GOGC=50 on its CPU time, procs that of GOMAXPROCS=1.
func cache(gogc, procs float64) *world {
	w := newWorld(0.01, 5, func(a finding.Arm) float64 {
		v := 0.0
		if a.GOGC == "50" {
			v += gogc
		}
		if a.GOMAXPROCS == "1" {
			v += procs
		}
		return v
	})
	w.alter = func(r *finding.Run) {
		peak := int64(235 << 20)
		if r.Arm.GOMEMLIMIT == "" {
			kills := uint64(1)
			peak = 256 << 20
			r.OOMKills, r.Exit, r.CPUPerOp, r.RPS, r.Ops, r.Errors = &kills, "OOM-killed", nil, nil, 0, 1
		}
		r.Peak, r.MaxRSS = &peak, &peak
	}
	return w
}

// TestOnlyShownKnobsAreRecommended: where the default is OOM-killed, snug's plan is the
// baseline, and each further knob must be shown to be worth it.
func TestOnlyShownKnobsAreRecommended(t *testing.T) {
	const plan = "241591911B" // 90 % of 256 MiB
	for _, c := range []struct {
		name        string
		gogc, procs float64
		want        finding.Knobs
		text        string
	}{
		{"the rest is taste", 0, 0, finding.Knobs{GOMEMLIMIT: plan},
			`^set GOMEMLIMIT=\S+ \(what snug run sets\): the default is OOM-killed in \d+ of \d+ runs, this setting in none`},
		{"both are worth a little less than the margin", -0.01, -0.01, finding.Knobs{GOMEMLIMIT: plan}, `the default is OOM-killed`},
		{"GOGC=50 is worth it", -0.15, 0, finding.Knobs{GOMEMLIMIT: plan, GOGC: "50"},
			`this setting in none; CPU per operation -1\d % \(.*\) against snug's plan \(GOMEMLIMIT=\S+\) in \d+ paired rounds$`},
		{"both are worth it", -0.15, -0.15, finding.Knobs{GOMEMLIMIT: plan, GOGC: "50", GOMAXPROCS: "1"}, `against snug's plan`},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input(t, "cpu")
			in.Base.Memory, in.Budget = 256<<20, runs(120)
			in.Values = Values{GOMAXPROCS: []string{"", "1", "4"}, GOGC: []string{"50", "", "200"}, GOMEMLIMIT: []string{"", plan, "179MiB"}}
			in.Snug = &finding.Knobs{GOMEMLIMIT: plan}
			out, err := Run(t.Context(), in, cache(c.gogc, c.procs))
			if err != nil {
				t.Fatal(err)
			}
			content.SayTune(out)
			v := out.Verdict
			got := finding.Knobs{}
			if v.Best != nil {
				got = out.Cells[*v.Best].Knobs
			}
			if got.GOGC != "" && got.GOMEMLIMIT != "" { // that one of the limits costs less was not shown
				got.GOMEMLIMIT = plan
			}
			if got != c.want {
				t.Fatalf("verdict %q, %+v, %+v", v.Text, v, out.Confirm)
			}
			if !regexp.MustCompile(c.text).MatchString(v.Text) {
				t.Errorf("verdict %q, want %s", v.Text, c.text)
			}
			names := []string{}
			for _, s := range out.Stages {
				names = append(names, s.Name)
			}
			if !slices.Equal(names[:3], []string{"baseline", "plan", "screen"}) || out.Cells[0].Knobs != (finding.Knobs{}) {
				t.Errorf("stages %v, first cell %+v", names, out.Cells[0].Knobs)
			}
			if kept := out.Stages[1].Kept; len(kept) != 1 || out.Cells[kept[0]].GOMEMLIMIT != plan {
				t.Errorf("after snug's plan goes on %v", kept)
			}
			if out.Environment == nil || (c.want.GOMAXPROCS == "") == regexp.MustCompile("GOMAXPROCS").MatchString(out.Environment.Shell) {
				t.Errorf("to set: %+v", out.Environment)
			}
		})
	}
}

// TestAKnobThatIsNotNeededIsLeftOut: the leader sets two knobs, of which one does
// nothing; the search takes it for better by luck.
func TestAKnobThatIsNotNeededIsLeftOut(t *testing.T) {
	in := input(t, "cpu")
	in.Values = Values{GOMAXPROCS: []string{"", "1"}, GOGC: []string{"", "400"}}
	in.Budget = runs(120)
	w := newWorld(0.01, 1, nil)
	w.value = func(a finding.Arm) float64 {
		v := 0.0
		if a.GOGC == "400" {
			v = -0.15
		}
		if a.GOMAXPROCS == "1" && w.runs < 70 {
			v -= 0.05 // in the search only
		}
		return v
	}
	out := search1(t, in, w)
	c := out.Confirm
	if c == nil || c.Winner.Knobs != (finding.Knobs{GOMAXPROCS: "1", GOGC: "400"}) || len(c.Without) != 2 {
		t.Fatalf("confirmation %+v", c)
	}
	if best := out.Cells[*out.Verdict.Best].Knobs; best != (finding.Knobs{GOGC: "400"}) {
		t.Errorf("best %+v of %+v", best, c.Knobs)
	}
	needed := map[string]bool{}
	for _, k := range c.Knobs {
		needed[k.Knob] = k.Needed
	}
	if needed["GOMAXPROCS"] || !needed["GOGC"] || c.Answer < 2 {
		t.Errorf("needed %v, answer %d", needed, c.Answer)
	}
	for i := range c.Winner.Rounds { // one block has all of them
		if c.Without[0].Rounds[i].Round != c.Winner.Rounds[i].Round || c.Without[0].Rounds[i].Seed != c.Default.Rounds[i].Seed {
			t.Errorf("round %d is not one block", i)
		}
	}
}

// TestGOGCOffKeepsItsLimit: nothing but the limit would start a collection.
func TestGOGCOffKeepsItsLimit(t *testing.T) {
	in := input(t, "cpu")
	s := search{in: in, tune: &finding.Tune{}}
	factors, candidates, _ := Space(in.space())
	s.tune.Space, s.judge.candidates = factors, candidates
	at := slices.IndexFunc(candidates, func(c finding.Arm) bool {
		return c.Knobs == finding.Knobs{GOMAXPROCS: "1", GOGC: "off", GOMEMLIMIT: "400MiB"}
	})
	var got []finding.Knobs
	for _, w := range s.without(at) {
		got = append(got, s.judge.candidates[w.cell].Knobs)
	}
	want := []finding.Knobs{{GOGC: "off", GOMEMLIMIT: "400MiB"}, {GOMAXPROCS: "1", GOMEMLIMIT: "400MiB"}}
	if !slices.Equal(got, want) {
		t.Errorf("without each knob %+v, want %+v", got, want)
	}
}

// TestChoice: which cell of a confirmation is to be set. Cell 0 is the leader, 1 the baseline, 2 the
// leader without GOMAXPROCS.
func TestChoice(t *testing.T) {
	objective, _ := ParseObjective("cpu")
	better := func(cell int) finding.Comparison {
		return finding.Comparison{Cell: cell, Metric: metric.CPU, Word: finding.Better}
	}
	slower := func(cell int) finding.Comparison {
		return finding.Comparison{Cell: cell, Metric: metric.RPS, Word: finding.Worse}
	}
	for _, c := range []struct {
		name        string
		auto        bool
		without     string // the word of the leader without GOMAXPROCS, against the leader
		comparisons []finding.Comparison
		want        int
	}{
		{"the leader", true, finding.Worse, []finding.Comparison{better(0), better(2)}, 0},
		{"a knob less", true, finding.Same, []finding.Comparison{better(0), better(2)}, 2},
		{"a loss that was not shown to be small", true, finding.NotShown, []finding.Comparison{better(0), better(2)}, 0},
		{"the leader serves less", true, finding.Worse, []finding.Comparison{better(0), slower(0), better(2)}, 2},
		{"both serve less", true, finding.Worse, []finding.Comparison{better(0), slower(0), better(2), slower(2)}, 1},
		{"the other is not better", true, finding.Same, []finding.Comparison{better(0), slower(0)}, 1},
		{"no gain", true, finding.Same, []finding.Comparison{better(2)}, 1},
		{"an objective was given", false, finding.Worse, []finding.Comparison{better(0), slower(0), better(2)}, 0},
	} {
		s := search{in: Input{Objective: objective, Auto: c.auto}, confirmed: []int{1, 0, 2}, tune: &finding.Tune{Confirm: &finding.Confirm{
			Without: make([]finding.Cell, 1), Comparisons: c.comparisons, Answer: 1,
			Knobs: []finding.KnobTest{{Knob: "GOMAXPROCS", Cell: 2, Change: &finding.Comparison{Word: c.without}}},
		}}}
		s.judge = judge{objective: objective, candidates: make([]finding.Arm, 3)}
		if s.choose(); s.tune.Confirm.Answer != c.want {
			t.Errorf("%s: %d, want %d", c.name, s.tune.Confirm.Answer, c.want)
		}
	}
}
