// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestUncounted(t *testing.T) {
	late := func(ms float64) string {
		return fmt.Sprintf("the load generator was late: %.1f ms at the 99th percentile", ms)
	}
	for _, c := range []struct {
		name    string
		reasons []string
		policy  string
		n       int
		why     string
		text    string
		verdict string // of the whole experiment; "" is another test's
	}{
		{"all count", []string{"", "", "", ""}, "", 0, "", "", ""},
		{"all are late", []string{late(7.7), late(9), late(1), late(2)}, "SCHED_OTHER", 4, "the load generator was late (7.7 ms at the 99th percentile)",
			"4 of 4 runs did not count: the load generator was late (7.7 ms at the 99th percentile); --rt gives it real-time priority",
			"no verdict: 4 of 4 runs did not count: the load generator was late (7.7 ms at the 99th percentile); --rt gives it real-time priority"},
		{"late with real-time priority", []string{late(7.7), late(9), late(1), late(2)}, "SCHED_FIFO", 4, "the load generator was late (7.7 ms at the 99th percentile)",
			"4 of 4 runs did not count: the load generator was late (7.7 ms at the 99th percentile)",
			"no verdict: 4 of 4 runs did not count: the load generator was late (7.7 ms at the 99th percentile)"},
		{"a quarter", []string{"", "", "no counters", ""}, "", 1, "no counters", "1 of 4 runs did not count: no counters", ""},
		{"less than a quarter", []string{"", "", "", "no counters", ""}, "", 1, "no counters", "", ""},
		{"the most frequent", []string{"no counters", late(3), "noisy neighbours: 1 CPU", late(4)}, "", 4, "the load generator was late (3.0 ms at the 99th percentile)",
			"4 of 4 runs did not count: the load generator was late (3.0 ms at the 99th percentile); --rt gives it real-time priority", ""},
		{"one setting's", []string{late(3), "", late(3), ""}, "", 2, "the load generator was late (3.0 ms at the 99th percentile)",
			"2 of 4 runs did not count: the load generator was late (3.0 ms at the 99th percentile); --rt gives it real-time priority",
			"no verdict: CPU per operation was not measured side by side; " +
				"2 of 4 runs did not count: the load generator was late (3.0 ms at the 99th percentile); --rt gives it real-time priority"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := &Design{Arms: []Arm{arm("", "50%", LabelDefault), arm("1", "50%")}, Rounds: 2}
			var runs []finding.Run
			for i, why := range c.reasons {
				r := service{}.run(Trial{Arm: d.Arms[i%2].Arm})
				r.Arm, r.Round, r.Invalid = d.Arms[i%2].Arm, i/2, why
				r.Generator = &finding.Generator{Policy: c.policy}
				runs = append(runs, r)
			}
			if n, of, why := Uncounted(runs); n != c.n || of != len(runs) || why != c.why {
				t.Errorf("%d of %d, %s", n, of, why)
			}
			cells := Cells(d, runs)
			if text := strings.Join(sentences(uncounted(cells), cells), ""); text != c.text {
				t.Errorf("text  %s\nwant  %s", text, c.text)
			}
			v := said(Judge(d, cells, Compare(d, cells), "cpu", 64), cells)
			if c.text != "" && !slices.Contains(v.Cannot, c.text) {
				t.Errorf("%q is not in %q", c.text, v.Cannot)
			}
			if c.verdict != "" && (v.Text != c.verdict || v.Keep || v.Best != nil) {
				t.Errorf("verdict %+v\nwant    %s", v, c.verdict)
			}
		})
	}
}

// TestUnsaturated: a saturating load that leaves CPU time unused is reported.
func TestUnsaturated(t *testing.T) {
	const rest = "; its throughput is not its maximum"
	for _, c := range []struct {
		name                   string
		load                   string
		quota                  float64
		procs, cpus            int
		used, other, generator float64 // CPUs; 0 is unknown
		want                   string
	}{
		{"all of the quota", "saturated", 1.5, 2, 2, 1.46, 0, 0, ""},
		{"most of it", "saturated", 1.5, 2, 2, 1.36, 1, 0, ""},
		{"one P has one CPU", "saturated", 1.5, 1, 2, 0.98, 0, 0, ""},
		{"the machine has no more", "saturated", 4, 4, 1, 0.98, 0, 0, ""},
		{"it waits", "saturated", 1.5, 2, 2, 0.65, 0.1, 0.1, "at 1.5 CPUs the default used 0.65 of 1.5 CPUs when saturated: it waits for something else" + rest},
		{"others", "saturated", 1.5, 2, 2, 0.65, 1, 0,
			"at 1.5 CPUs the default used 0.65 of 1.5 CPUs when saturated: it waits for something else, or other programs (1.0 CPUs) took them" + rest},
		{"the load generator", "saturated", 0, 2, 2, 1.2, 0.1, 0.7,
			"without a quota the default used 1.20 of 2 CPUs when saturated: it waits for something else, or the load generator (0.7 CPUs) took them" + rest},
		{"not measured", "saturated", 1.5, 2, 2, 0, 1, 0, ""},
		{"an open loop", "50%", 1.5, 2, 2, 0.65, 0, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := arm("", c.load, LabelDefault)
			a.Quota = c.quota
			run := finding.Run{Arm: a.Arm, Window: 4, Procs: &c.procs}
			if c.used > 0 {
				run.CPU = new(4 * c.used)
			}
			if c.other > 0 {
				run.Noise.OtherCPUs = &c.other
			}
			if c.generator > 0 {
				run.Generator = &finding.Generator{CPU: new(4 * c.generator)}
			}
			cells := Cells(&Design{Arms: []Arm{a}}, []finding.Run{run})
			var got string
			if u := unsaturated(&cells[0], c.cpus); u != nil {
				u.Cells = []int{0}
				got = sentences([]finding.Unshown{*u}, cells)[0]
			}
			if got != c.want {
				t.Errorf("%s\nwant %s", got, c.want)
			}
		})
	}
}
