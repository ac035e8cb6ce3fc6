// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// kill makes a run out of memory, without figures.
func kill(r *finding.Run) {
	r.OOMKills, r.Exit, r.Errors, r.Ops = new(uint64(1)), "OOM-killed", 1, 0
	r.CPUPerOp, r.RPS, r.P50, r.P99 = nil, nil, nil, nil
}

// unanswered makes a run in which no request was answered.
func unanswered(r *finding.Run) {
	r.Errors, r.Ops, r.RPS = 500, 0, new(0.0)
	r.CPUPerOp, r.P50, r.P99 = nil, nil, nil
}

// TestFailures: if one setting fails where the other does not, the verdict and --check
// say so, even if few rounds are left to compare.
func TestFailures(t *testing.T) {
	const base, one = "", "1"
	first := func(n int, of string, do func(*finding.Run)) func(Trial, *finding.Run) {
		return func(tr Trial, r *finding.Run) {
			if tr.Arm.GOMAXPROCS == of && tr.Round < n {
				do(r)
			}
		}
	}
	both := func(a, b func(Trial, *finding.Run)) func(Trial, *finding.Run) {
		return func(tr Trial, r *finding.Run) { a(tr, r); b(tr, r) }
	}
	some := func(r *finding.Run) { r.Ops, r.Errors = 900, 100 }
	early := func(r *finding.Run) { *r = finding.Run{Exit: "exit status 2", Window: 4} }
	for _, c := range []struct {
		name  string
		spoil func(Trial, *finding.Run)
		cpu   float64 // of GOMAXPROCS=1
		best  int     // -1 is none
		keep  bool
		pairs int
		want  string
	}{
		{"the default is killed in some rounds", first(3, base, kill), 1, -1, false, 5,
			"the default is OOM-killed in 3 of 8 rounds; GOMAXPROCS=1 is not (which may be chance)"},
		{"the default is killed in every round", first(8, base, kill), 1, 1, false, 0,
			"the default is OOM-killed in 8 of 8 rounds; GOMAXPROCS=1 is not"},
		{"and the other is cheaper", first(2, base, kill), 0.8, -1, false, 6,
			"the default is OOM-killed in 2 of 8 rounds; GOMAXPROCS=1 is not (which may be chance)"},
		{"or dearer", first(2, base, kill), 1.25, -1, false, 6,
			"the default is OOM-killed in 2 of 8 rounds; GOMAXPROCS=1 is not (which may be chance)"},
		{"the default answers nothing in some rounds", first(3, base, unanswered), 1, -1, false, 5,
			"the default has no result in 3 of 8 rounds; GOMAXPROCS=1 does not (which may be chance)"},
		{"nor in any", first(8, base, unanswered), 1, 1, false, 0,
			"the default fails 100 % of its requests; GOMAXPROCS=1 does not"},
		{"the default ends early", first(8, base, early), 1, 1, false, 0,
			"the default has no result; GOMAXPROCS=1 does not"},
		{"the default fails some requests", first(8, base, some), 1, 1, false, 8,
			"the default fails 10 % of its requests; GOMAXPROCS=1 does not"},
		{"both fail some requests", both(first(8, base, some), first(8, one, some)), 0.8, 1, false, 8,
			"GOMAXPROCS=1 costs 20 % (20 to 20 %) less CPU per request than the default, GOMAXPROCS=2, in 8 paired rounds; tails were not measured"},
		{"both are killed", both(first(8, base, kill), first(8, one, kill)), 0.8, -1, false, 0,
			"no verdict: the default is OOM-killed in 8 of 8 rounds, and no other setting is shown to be spared"},
		{"both now and then", both(first(1, base, kill), first(2, one, kill)), 0.8, -1, false, 6,
			"no verdict: the default is OOM-killed in 1 of 8 rounds, and no other setting is shown to be spared"},
		{"the other is killed in every round", first(8, one, kill), 0.8, -1, true, 0,
			"keep the default (GOMAXPROCS=2): GOMAXPROCS=1 is OOM-killed in 8 of 8 rounds, and nothing measured beats it beyond noise"},
		{"the other is killed once", first(1, one, kill), 0.8, -1, true, 7,
			"keep the default (GOMAXPROCS=2): GOMAXPROCS=1 costs 20 % (20 to 20 %) less CPU per request but is OOM-killed in 1 of 8 rounds: a trade, not a win"},
		{"the other fails some requests", first(8, one, some), 0.8, -1, true, 8,
			"keep the default (GOMAXPROCS=2): GOMAXPROCS=1 costs 20 % (20 to 20 %) less CPU per request but fails 10 % of its requests: a trade, not a win"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &Design{Arms: []Arm{arm("", "saturated", LabelDefault), arm("1", "saturated")}, Rounds: 8, Seed: 1}
			s := service{sd: 0.0001, factor: faster(c.cpu)}
			runs, err := Execute(t.Context(), d, &fake{run: func(tr Trial) finding.Run {
				r := s.run(tr)
				c.spoil(tr, &r)
				return r
			}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			cells := Cells(d, runs)
			cs := Compare(d, cells)
			v := said(Judge(d, cells, cs, "cpu", 4), cells)
			if v.Text != c.want && v.Text != c.want+"; tails were not measured" {
				t.Errorf("text\n%s\nwant\n%s", v.Text, c.want)
			}
			best, pairs := -1, 0
			if v.Best != nil {
				best = *v.Best
			}
			for _, cell := range []int{0, 1} { // whichever is not the baseline
				if p := find(cs, cell, metric.CPU); p != nil {
					pairs = p.Pairs
				}
			}
			if best != c.best || v.Keep != c.keep || pairs != c.pairs {
				t.Errorf("best %d, keep %v, %d pairs, want %d, %v, %d", best, v.Keep, pairs, c.best, c.keep, c.pairs)
			}
			if worse, w := Worse(d, cells, "cpu", 4); worse != (c.best >= 0 || strings.Contains(c.want, "chance")) || said(w, cells).Text != v.Text {
				t.Errorf("worse %v: %+v", worse, w)
			}
		})
	}
}

// TestSparedAreCompared: of two spared settings one takes the default's place, and the
// other is compared with it. The load under which the default fails is named.
func TestSparedAreCompared(t *testing.T) {
	d := full(8, 1)
	s := service{sd: 0.0001, factor: func(a finding.Arm, key string) float64 {
		return script{"GOMAXPROCS=1": {metric.CPU: 1.01}}.factor(a, key)
	}}
	runs, err := Execute(t.Context(), d, &fake{run: func(tr Trial) finding.Run {
		r := s.run(tr)
		if tr.Arm.GOMAXPROCS == "" && tr.Arm.Load == "50%" {
			kill(&r)
		}
		return r
	}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cells := Cells(d, runs)
	v := said(Judge(d, cells, Compare(d, cells), "cpu", 64), cells)
	want := "the default is OOM-killed in 8 of 8 rounds at 50% load; GOMAXPROCS=1 is not, and nothing else that lives beats it beyond noise (1 setting, 8 rounds)"
	if v.Best == nil || *v.Best != 1 || v.Text != want {
		t.Errorf("%+v\nwant %s", v, want)
	}
}
