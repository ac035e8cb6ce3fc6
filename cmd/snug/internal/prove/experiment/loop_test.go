// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// TestLoadCommandLoops: the latencies of a load command are compared if it is an open loop,
// its throughput if it is a closed one without a rate.
func TestLoadCommandLoops(t *testing.T) {
	const closedText, openText = "a load command that waits for an answer", ""
	for _, c := range []struct {
		name, load string
		rate       float64
		loop       func(Trial) string
		ops        int64
		rps, p99   bool // compared
		cannot     string
	}{
		{"closed", "command", 0, always(finding.LoopClosed), 5000, true, false, closedText},
		{"closed, of users", "8 users", 0, always(finding.LoopClosed), 5000, true, false, closedText},
		{"closed, at a rate", "800/s", 800, always(finding.LoopClosed), 5000, false, false, closedText},
		{"open", "command", 0, always(finding.LoopOpen), 5000, false, true, openText},
		{"open, few operations", "command", 0, always(finding.LoopOpen), 999, false, false, openText},
		{"open, at a rate", "800/s", 800, always(finding.LoopOpen), 5000, false, true, openText},
		{"open, at a rate with few operations", "80/s", 80, always(finding.LoopOpen), 5000, false, false, "too few requests for a P99 at 80/s"},
		{"one run is closed", "command", 0, func(t Trial) string {
			if t.Round == 3 {
				return finding.LoopClosed
			}
			return finding.LoopOpen
		}, 5000, true, false, closedText},
	} {
		t.Run(c.name, func(t *testing.T) {
			arms := []Arm{arm("", c.load, LabelDefault), arm("1", c.load)}
			for i := range arms {
				arms[i].Rate, arms[i].Workload = c.rate, "command"
			}
			d := &Design{Arms: arms, Rounds: 7, Seed: 1}
			s := service{sd: 0.001}
			runs, err := Execute(t.Context(), d, &fake{run: func(tr Trial) finding.Run {
				r := s.run(tr)
				r.Loop, r.Ops, r.Window = c.loop(tr), c.ops, 4
				return r
			}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			cells := Cells(d, runs)
			cs := Compare(d, cells)
			for key, want := range map[string]bool{metric.CPU: true, metric.RPS: c.rps, metric.P99: c.p99} {
				if got := find(cs, 1, key) != nil; got != want {
					t.Errorf("%s is compared: %v, want %v", key, got, want)
				}
			}
			v := said(Judge(d, cells, cs, "cpu", 64), cells)
			if !slices.ContainsFunc(append(v.Cannot, ""), func(s string) bool { return strings.HasPrefix(s, c.cannot) }) ||
				c.cannot == "" && len(v.Cannot) > 0 {
				t.Errorf("cannot show %q, want %q", v.Cannot, c.cannot)
			}
		})
	}
}

func always(loop string) func(Trial) string { return func(Trial) string { return loop } }
