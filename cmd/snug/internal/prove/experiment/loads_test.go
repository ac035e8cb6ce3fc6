// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// TestLoads: an open loop is checked after the runs for what it should have been.
func TestLoads(t *testing.T) {
	load := func(text string, rate float64) []Arm {
		arms := at(0.5, arm("", text, LabelDefault), arm("1", text), arm("8", text))
		for i := range arms {
			arms[i].Rate = rate
		}
		return arms
	}
	for _, c := range []struct {
		name  string
		arms  []Arm
		alter func(*finding.Run)
		want  string
	}{
		{"as it should be", load("80%", 700), func(r *finding.Run) { r.CPU = new(1.6) }, ""},
		{"the quota is used up", load("80%", 700), func(r *finding.Run) { r.CPU = new(1.96) },
			"at 0.5 CPUs 80% of closed-loop capacity used 0.49 CPUs: this load is saturation"},
		{"counted over a longer time", load("80%", 700), func(r *finding.Run) { r.CPU, r.Elapsed = new(1.96), 5 }, ""},
		{"a rate is no share", load("700/s", 700), func(r *finding.Run) { r.CPU = new(1.96) }, ""},
		{"one falls behind", load("1940/s", 1940), func(r *finding.Run) {
			if r.Procs != nil && *r.Procs == 1 {
				r.RPS = new(1900.0)
			}
		}, "at 0.5 CPUs GOMAXPROCS=1 cannot serve 1940/s: its latencies are those of a growing queue"},
		{"two do", load("80%", 1940), func(r *finding.Run) {
			if r.Procs != nil && *r.Procs != 2 {
				r.RPS = new(1900.0)
			}
		}, "at 0.5 CPUs GOMAXPROCS=1 and GOMAXPROCS=8 cannot serve 1940/s: their latencies are those of a growing queue"},
		{"answers are merely under way", load("1940/s", 1940), func(r *finding.Run) {
			r.RPS, r.Latency = new(1900.0), &finding.Histogram{Seconds: []float64{0.01, 0.2}, Counts: []int64{50, 50}}
		}, ""},
		{"too few requests", load("5/s", 5), func(*finding.Run) {},
			"too few requests for a P99 at 5/s: it takes 1000 a run, --window 200s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &Design{Arms: c.arms, Rounds: 7, Seed: 1}
			s := service{sd: 0.001}
			runs, err := Execute(t.Context(), d, &fake{run: func(tr Trial) finding.Run {
				r := s.run(tr)
				r.RPS = new(tr.Rate)
				c.alter(&r)
				return r
			}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			cells := Cells(d, runs)
			cs := Compare(d, cells)
			v := said(Judge(d, cells, cs, "cpu", 64), cells)
			if got := strings.Join(v.Cannot, "\n"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			few := strings.Contains(c.want, "too few")
			if p := find(cs, 1, metric.P99); (p == nil) != few || cells[1].P99 == nil {
				t.Errorf("P99 %v, compared %+v", cells[1].P99, p)
			}
		})
	}
}
