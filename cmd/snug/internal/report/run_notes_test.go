// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"html"
	"slices"
	"strings"
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
			[]string{"30 requests (1.5 %) had not ended when the window did; the percentiles do not contain them"}},
		{"nothing else than a user cut off", []finding.Cell{cell("a", "1 users", open(0, 1))},
			[]string{"1 request had not ended when the window did; the percentiles do not contain them"}},
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

// TestSaidOnce: what a reader must know is in the text and in the page, once.
func TestSaidOnce(t *testing.T) {
	b, s := quick(), searched()
	b.Cells[0].Rounds[0].Note, s.Cells[0].Rounds[0].Note = "the run says so", "the run says so"
	for _, load := range []string{"saturated", "30 users", "self", "batch"} {
		d := quick()
		d.Verdict.Cannot = []string{"tail latency was not measured here, use --full"}
		if load == "30 users" {
			d.Verdict.Cannot = []string{"latencies of a closed loop hide it (coordinated omission)"}
		}
		for i := range d.Cells {
			d.Cells[i].Load = load
		}
		notes := strings.Join(benchNotes(d), "\n")
		if n := strings.Count(notes, "tail") + strings.Count(notes, "closed loop"); n != 1 {
			t.Errorf("%s: said %d times in\n%s", load, n, notes)
		}
	}
	b.Warnings = []finding.Warning{{Code: "some-code", Text: "a warning to heed"}}
	s.Warnings = b.Warnings
	for _, d := range []finding.Document{b, s} {
		var text, page bytes.Buffer
		if err := Text(&text, d); err != nil {
			t.Fatal(err)
		}
		if err := HTML(&page, d); err != nil {
			t.Fatal(err)
		}
		shown, _, _ := strings.Cut(page.String(), `<section class="raw">`)
		for _, want := range []string{"he run says so (1 run)", " warning to heed [some-code]"} {
			if strings.Count(text.String(), want) != 1 || strings.Count(html.UnescapeString(shown), want) != 1 {
				t.Errorf("%s: not once in text and page of %s", want, kindOf(d))
			}
		}
	}
}

// TestKinds: a document without a page or benchmark lines is called by its kind.
func TestKinds(t *testing.T) {
	for kind, d := range map[string]finding.Document{
		finding.KindLimits: &finding.Limits{}, finding.KindPlan: &finding.Plan{}, finding.KindVerdict: &finding.Verdict{},
		finding.KindExplain: &finding.Explanation{}, finding.KindIndex: &finding.Index{}, finding.KindVersion: &finding.Build{},
	} {
		var b bytes.Buffer
		if err := HTML(&b, d); err == nil || err.Error() != "no page for a document of kind "+kind {
			t.Errorf("%v", err)
		}
		if err := Benchfmt(&b, d); err == nil || err.Error() != "no benchmark lines for a document of kind "+kind {
			t.Errorf("%v", err)
		}
		if b.Len() > 0 {
			t.Errorf("%s: wrote %q", kind, b.String())
		}
	}
}
