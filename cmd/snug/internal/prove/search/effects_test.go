// SPDX-License-Identifier: Apache-2.0

package search

import (
	"math"
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestEffectsOfWhatWasCrossed: an effect is reported if the runs can separate it.
func TestEffectsOfWhatWasCrossed(t *testing.T) {
	set := func(procs, gogc, limit string) finding.Knobs {
		return finding.Knobs{GOMAXPROCS: procs, GOGC: gogc, GOMEMLIMIT: limit}
	}
	grid := func(procs, gogc, limit []string) (all []finding.Knobs) {
		for _, p := range procs {
			for _, g := range gogc {
				for _, l := range limit {
					all = append(all, set(p, g, l))
				}
			}
		}
		return all
	}
	one, two, none := []string{""}, []string{"", "1"}, []string{""}
	for _, c := range []struct {
		name  string
		tried []finding.Knobs
		runs  map[finding.Knobs]int // if not 3
		want  []string
	}{
		{"a grid", grid(two, []string{"", "400"}, none), nil, []string{"GOMAXPROCS=", "GOMAXPROCS=1", "GOGC=", "GOGC=400"}},
		{"one knob", grid(one, []string{"", "400"}, none), nil, []string{"GOGC=", "GOGC=400"}},
		{"measured twice", grid(one, []string{"", "200", "400"}, none), map[finding.Knobs]int{set("", "200", ""): 2}, []string{"GOGC=", "GOGC=400"}},
		{"measured once each, beside three", grid([]string{"", "1", "2"}, []string{"", "400"}, none),
			map[finding.Knobs]int{set("", "400", ""): 1, set("1", "400", ""): 1, set("2", "400", ""): 1},
			[]string{"GOMAXPROCS=", "GOMAXPROCS=1", "GOMAXPROCS=2", "GOGC=", "GOGC=400"}},
		{"a limit with GOGC=off only", append(grid(two, []string{"", "400"}, none), grid(two, []string{"off"}, []string{"450MiB"})...), nil,
			[]string{"GOMAXPROCS=", "GOMAXPROCS=1", "GOGC=", "GOGC=400"}},
		{"two limits with GOGC=off and 800, which have no other",
			append(grid(one, []string{"", "400"}, none), grid(one, []string{"800", "off"}, []string{"400MiB", "450MiB"})...), nil,
			[]string{"GOGC=", "GOGC=400"}},
		{"connected by GOGC=800", append(grid(one, []string{"", "800"}, none), grid(one, []string{"800", "off"}, []string{"400MiB", "450MiB"})...), nil,
			[]string{"GOGC=", "GOGC=800", "GOGC=off", "GOMEMLIMIT=", "GOMEMLIMIT=400MiB", "GOMEMLIMIT=450MiB"}},
		{"nothing else was measured", grid(one, one, none), nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			sp := space{SpaceInput: SpaceInput{Base: finding.Arm{Load: "saturated"}, CPUs: 8}}
			var all []setting
			for _, k := range append(slices.Clone(c.tried), set("4", "50", "")) { // the last one has no runs
				all = append(all, sp.key(finding.Arm{Knobs: k}))
			}
			factors, candidates, _ := sp.finish(all)
			s := search{in: Input{Base: experiment.Arm{Arm: sp.Base}}, tune: &finding.Tune{Space: factors}}
			s.in.Objective, _ = ParseObjective("cpu")
			s.judge = judge{candidates: candidates, objective: s.in.Objective}
			for k, f := range factors {
				s.judge.sizes[k] = len(f.Values)
			}
			for i, k := range c.tried {
				n, ok := c.runs[k]
				if !ok {
					n = 3
				}
				for round := range n {
					cpu := math.Exp(float64(i%3) / 10)
					s.runs = append(s.runs, finding.Run{Arm: candidates[i].Arm, Round: round, Ops: 1, CPUPerOp: &cpu})
				}
			}
			s.ranking, s.surface = s.judge.rank(s.runs, 0)
			s.effects()
			var got []string
			for _, e := range s.tune.Effects {
				got = append(got, e.Knob+"="+e.Value)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("effects of %q, want %q", got, c.want)
			}
		})
	}
}

// TestSnugsLimitIsLabelled if it replaces a value that is about equal.
func TestSnugsLimitIsLabelled(t *testing.T) {
	in := input(t, "cpu")
	in.Values = Values{GOGC: []string{"100", "400"}, GOMEMLIMIT: []string{"unset", "230MiB"}}
	in.Snug = &finding.Knobs{GOMEMLIMIT: "241591911B"}
	out := search1(t, in, newWorld(0.02, 1, gogcHelps))
	labelled := 0
	for _, c := range out.Cells {
		if c.GOMEMLIMIT == "241591911B" {
			t.Errorf("%+v was tried beside 230MiB", c.Knobs)
		}
		if slices.Contains(c.Labels, experiment.LabelSnug) {
			labelled++
		}
	}
	if labelled != 1 {
		t.Errorf("%d cells are labelled as snug's", labelled)
	}
}
