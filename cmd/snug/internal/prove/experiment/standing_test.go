// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// TestStanding: what may take a baseline's place, and what the verdict then says.
func TestStanding(t *testing.T) {
	base, one := arm("", "saturated", LabelDefault), arm("1", "saturated")
	snug, small := set("", "", "230MiB", LabelSnug), set("", "50", "230MiB")
	unset := func(a finding.Arm) bool { return a.GOMAXPROCS == "" && a.GOMEMLIMIT == "" }
	failing := func(errors, others int64, round int) func(Trial, *finding.Run) {
		return func(tr Trial, r *finding.Run) {
			r.Ops, r.Errors = 100000, others
			if unset(tr.Arm) && (round < 0 || tr.Round == round) {
				r.Errors = errors
			}
		}
	}
	killed := func(tr Trial, r *finding.Run) {
		if unset(tr.Arm) {
			kill(r)
		}
	}
	at80 := func(a Arm) Arm {
		a.Load, a.Rate = "80%", 800
		return a
	}
	variants := []Arm{variant("pool/numcpu", "", LabelDefault), variant("pool/numcpu", "1"), variant("pool/limiter", "", LabelDefault), variant("pool/limiter", "1")}
	for _, c := range []struct {
		name   string
		arms   []Arm
		rounds int
		spoil  func(Trial, *finding.Run)
		script script
		best   int
		want   string
	}{
		{"a little more of its operations fail", []Arm{base, one}, 8, failing(110, 95, -1), nil, -1,
			"keep the default (GOMAXPROCS=2): nothing measured beats it beyond noise (1 setting, 8 rounds)"},
		{"in one round", []Arm{base, one}, 8, failing(5000, 0, 2), nil, -1,
			"keep the default (GOMAXPROCS=2): nothing measured beats it beyond noise (1 setting, 8 rounds)"},
		{"many more, and it is cheaper", []Arm{base, one}, 8, failing(5000, 0, -1), script{"GOMAXPROCS=1": {metric.CPU: 1.3}}, 1,
			"the default fails 4.8 % of its requests; GOMAXPROCS=1 does not"},
		{"a survivor without one round", []Arm{base, snug, small}, 8, func(tr Trial, r *finding.Run) {
			if killed(tr, r); !unset(tr.Arm) && tr.Round == 3 {
				r.Invalid = "noisy neighbours"
			}
		}, nil, 1, "the default is OOM-killed in 8 of 8 rounds; snug's GOMEMLIMIT=230MiB is not, and nothing else that lives beats it beyond noise (1 setting, 7 rounds)"},
		{"too few rounds to compare survivors", []Arm{base, snug, small}, 4, killed, script{metric.SettingText(small.Arm): {metric.CPU: 0.4}}, 1,
			"the default is OOM-killed in 4 of 4 rounds; snug's GOMEMLIMIT=230MiB is not; 4 rounds are too few to compare it with others, it takes 6"},
		{"its price where both work", []Arm{base, snug, at80(base), at80(snug)}, 8, func(tr Trial, r *finding.Run) {
			if tr.Arm.Load == "80%" {
				killed(tr, r)
			}
		}, script{metric.SettingText(snug.Arm): {metric.CPU: 1.3}}, 1,
			"the default is OOM-killed in 8 of 8 rounds at 80% load; snug's GOMEMLIMIT=230MiB is not, but costs 30 % more CPU per request when saturated"},
		{"of a variant", variants, 8, func(tr Trial, r *finding.Run) {
			if tr.Arm.Workload == "pool/limiter" {
				killed(tr, r)
			}
		}, nil, 3, "for pool/limiter the default is OOM-killed in 8 of 8 rounds; GOMAXPROCS=1 is not; keep the default for pool/numcpu"},
		{"for its own program only", variants, 8, func(tr Trial, r *finding.Run) {
			if tr.Arm.Workload == "pool/numcpu" {
				killed(tr, r)
			}
		}, nil, 1, "for pool/numcpu the default is OOM-killed in 8 of 8 rounds; GOMAXPROCS=1 is not; keep the default for pool/limiter"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &Design{Arms: c.arms, Rounds: c.rounds, Seed: 1, MaxTries: 1, Against: BaselineOfVariants}
			s := service{sd: 0.0001, factor: c.script.factor}
			v, best := judged(t, d, func(tr Trial) finding.Run {
				r := s.run(tr)
				c.spoil(tr, &r)
				return r
			})
			if text := strings.TrimSuffix(v.Text, "; tails were not measured"); text != c.want || best != c.best {
				t.Errorf("best %d, %s\nwant %d, %s", best, v.Text, c.best, c.want)
			}
		})
	}
}

// TestPrice of CPU time where the quota is not used up: only a setting that serves more may
// cost more of it, and less memory alone wins nothing.
func TestPrice(t *testing.T) {
	base := arm("", "saturated", LabelDefault)
	four, small := arm("4", "saturated"), set("", "50", "")
	for _, c := range []struct {
		name, objective string
		script          script
		best            int
	}{
		{"serves more", Auto, script{"GOMAXPROCS=4": {metric.RPS: 1.36, metric.CPU: 1.05}}, 1},
		{"as the objective says", "rps", script{"GOMAXPROCS=4": {metric.RPS: 1.36, metric.CPU: 1.05}}, 1},
		{"another objective", "cpu", script{"GOMAXPROCS=4": {metric.RPS: 1.36, metric.CPU: 1.05}}, -1},
		{"less memory for much CPU time", Auto, script{"GOGC=50": {metric.Peak: 0.9, metric.CPU: 1.4}}, -1},
		{"less memory", Auto, script{"GOGC=50": {metric.Peak: 0.8}}, -1},
	} {
		d := &Design{Arms: []Arm{base, four, small}, Rounds: 8, Seed: 1}
		s := service{sd: 0.0001, factor: c.script.factor}
		runs, err := Execute(t.Context(), d, &fake{run: func(tr Trial) finding.Run {
			r := s.run(tr)
			r.CPU = new(0.3 * r.Window)
			return r
		}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		cells := Cells(d, runs)
		v := said(Judge(d, cells, Compare(d, cells), c.objective, 4), cells)
		if best := v.Best; best == nil != (c.best < 0) || best != nil && *best != c.best {
			t.Errorf("%s: %s", c.name, v.Text)
		}
	}
}
