// SPDX-License-Identifier: Apache-2.0

package promtext

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestPage: a page reads back unchanged, with any text in labels.
func TestPage(t *testing.T) {
	var p Page
	p.Family("snug_b", "Two\nlines, a \\.", Gauge)
	p.Sample(1.5, "")
	p.Sample(math.Inf(1), Text(Label{"a", "x\"y\\z\nw"}, Label{"none", ""}, Label{"b", "é\xff"}))
	p.Sample(math.Inf(-1), Text(Label{"none", ""}))
	p.Family("snug_c_seconds", "C.", Histogram)
	p.Buckets([]float64{0.001, 1}, []uint64{2, 3}, 7.25, 4, Text(Label{"path", "/"}))
	p.Buckets([]float64{2}, []uint64{5}, math.NaN(), 6, "")
	p.Family("snug_d_total", "D.", Counter)
	p.Sample(1<<60, "")
	text := p.String()
	if !strings.HasPrefix(text, "# HELP snug_b Two\\nlines, a \\\\.\n# TYPE snug_b gauge\nsnug_b 1.5\n") {
		t.Errorf("%s", text)
	}
	s, err := Read(strings.NewReader(text), "snug_")
	if err != nil || s.Bad != 0 {
		t.Fatalf("%d bad lines, %v, in\n%s", s.Bad, err, text)
	}
	want := []Sample{
		{"snug_b", nil, 1.5},
		{"snug_b", []Label{{"a", "x\"y\\z\nw"}, {"b", "é\uFFFD"}}, math.Inf(1)},
		{"snug_b", nil, math.Inf(-1)},
		{"snug_c_seconds_bucket", []Label{{"le", "0.001"}, {"path", "/"}}, 2},
		{"snug_c_seconds_bucket", []Label{{"le", "1"}, {"path", "/"}}, 3},
		{"snug_c_seconds_bucket", []Label{{"le", "+Inf"}, {"path", "/"}}, 4},
		{"snug_c_seconds_sum", []Label{{"path", "/"}}, 7.25},
		{"snug_c_seconds_count", []Label{{"path", "/"}}, 4},
		{"snug_c_seconds_bucket", []Label{{"le", "2"}}, 5},
		{"snug_c_seconds_bucket", []Label{{"le", "+Inf"}}, 6},
		{"snug_c_seconds_count", nil, 6},
		{"snug_d_total", nil, 1 << 60},
	}
	if !slices.EqualFunc(s.Samples, want, func(a, b Sample) bool {
		return a.Name == b.Name && a.Value == b.Value && slices.Equal(a.Labels, b.Labels)
	}) {
		t.Errorf("%+v\nwant\n%+v", s.Samples, want)
	}
}

func TestStatFigures(t *testing.T) {
	cpu, pages, ok := statFigures("12 (a) b) S 1 12 12 0 -1 4194560 900 0 0 0 250 50 0 0 20 0 9 0 777 1048576 4096 18446744073709551615 1 1 0")
	if !ok || cpu != 3 || pages != 4096 {
		t.Errorf("%v s, %v pages, %t", cpu, pages, ok)
	}
	for _, text := range []string{"", "12 (a) S 1", "no name"} {
		if _, _, ok := statFigures(text); ok {
			t.Errorf("%q is read", text)
		}
	}
	var p Page
	p.Self("v1.2.3")
	s, err := Read(strings.NewReader(p.String()), "go_", "process_")
	if err != nil || s.Bad != 0 || len(s.Samples) < 2 {
		t.Errorf("%+v, %v", s, err)
	}
}
