// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"html"
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/page"
	"github.com/snug-go/snug/cmd/snug/internal/report/text"
)

// TestSaidOnce: each caveat is in the text and in the page exactly once.
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
		notes := strings.Join(content.BenchNotes(d), "\n")
		if n := strings.Count(notes, "tail") + strings.Count(notes, "closed loop"); n != 1 {
			t.Errorf("%s: said %d times in\n%s", load, n, notes)
		}
	}
	b.Warnings = []finding.Warning{{Code: "some-code", Text: "a warning to heed"}}
	s.Warnings = b.Warnings
	for _, d := range []finding.Document{b, s} {
		var said, drawn bytes.Buffer
		if err := text.Write(&said, d); err != nil {
			t.Fatal(err)
		}
		if err := page.Write(&drawn, d); err != nil {
			t.Fatal(err)
		}
		shown, _, _ := strings.Cut(drawn.String(), `<section class="raw">`)
		for _, want := range []string{"he run says so (1 run)", " warning to heed [some-code]"} {
			if strings.Count(said.String(), want) != 1 || strings.Count(html.UnescapeString(shown), want) != 1 {
				t.Errorf("%s: not once in text and page of %s", want, finding.KindOf(d))
			}
		}
	}
}

// TestKinds: the error for a document without a page or benchmark lines names its kind.
func TestKinds(t *testing.T) {
	for kind, d := range map[string]finding.Document{
		finding.KindLimits: &finding.Limits{}, finding.KindPlan: &finding.Plan{}, finding.KindVerdict: &finding.Verdict{},
		finding.KindExplain: &finding.Explanation{}, finding.KindIndex: &finding.Index{}, finding.KindVersion: &finding.Build{},
	} {
		var b bytes.Buffer
		if err := page.Write(&b, d); err == nil || err.Error() != "no page for a document of kind "+kind {
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
