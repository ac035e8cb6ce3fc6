// SPDX-License-Identifier: Apache-2.0

package content

import (
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestRunNotes(t *testing.T) {
	cell := func(workload, load string, runs ...finding.Run) finding.Cell {
		return finding.Cell{Arm: finding.Arm{Workload: workload, Load: load}, Rounds: runs}
	}
	note := func(text string) finding.Run { return finding.Run{Note: text} }
	open := func(ended, unfinished int64) finding.Run { return finding.Run{Ops: ended, Unfinished: unfinished} }
	for _, c := range []struct {
		name  string
		cells []finding.Cell
		want  []string
	}{
		{"nothing measured", nil, nil},
		{"nothing to say", []finding.Cell{cell("fib", "self", note(""))}, nil},
		{"once each", []finding.Cell{cell("a", "self", note("x"), note("y"), note("x")), cell("a", "self", note("x"))}, []string{"x (3 runs)", "y (1 run)"}},
		{"the same but for a number", []finding.Cell{cell("a", "self", note("stopped after 1.25 s, at 500,064"), note("stopped after 3 s, at 500,128"))},
			[]string{"stopped after 1.25 s, at 500,064 (2 runs)"}},
		{"of one of two workloads", []finding.Cell{cell("a", "self", note("x")), cell("b", "self", note(""))}, []string{"a: x (1 run)"}},
		{"of two workloads", []finding.Cell{cell("a", "self", note("x")), cell("b", "self", note("x"))}, []string{"a: x (1 run)", "b: x (1 run)"}},
		{"of a run that does not count", []finding.Cell{cell("a", "30 users", finding.Run{Note: "x", Unfinished: 5, Invalid: "late"})}, nil},
		{"users cut off", []finding.Cell{cell("a", "30 users", open(970, 20), open(1000, 10))},
			[]string{"30 requests (1.5 %) unfinished at the end of the window, and not in the percentiles"}},
		{"nothing else than a user cut off", []finding.Cell{cell("a", "1 users", open(0, 1))},
			[]string{"1 request unfinished at the end of the window, and not in the percentiles"}},
		{"a saturated loop has no percentiles", []finding.Cell{cell("a", "saturated", open(970, 20))}, nil},
		{"hostile", []finding.Cell{cell("a", "self", note("x\x1b[31m"))}, []string{`x\x1b[31m (1 run)`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := runNotes(c.cells); !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
