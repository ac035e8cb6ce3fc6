// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestClassRows: the classes of collections stand below their total, where that belongs.
func TestClassRows(t *testing.T) {
	for _, c := range []struct {
		name    string
		classes []finding.Class
		want    string
	}{
		{"none", []finding.Class{{ID: "user", Ratio: 1}}, "100 % user"},
		{"one", []finding.Class{{ID: "user", Ratio: .6}, {ID: "gc.mark", Ratio: .3}, {ID: "sched", Ratio: .1}}, "60 % user, 30 % gc.mark, 10 % sched"},
		{"several", []finding.Class{{ID: "user", Ratio: .4}, {ID: "sched", Ratio: .2}, {ID: "gc.mark", Ratio: .15}, {ID: "lock", Ratio: .1}, {ID: "gc.stw", Ratio: .09}, {ID: "gc.assist", Ratio: .06}},
			"40 % user, 30 % gc, 15 %   gc.mark, 9 %   gc.stw, 6 %   gc.assist, 20 % sched, 10 % lock"},
		{"first", []finding.Class{{ID: "user", Ratio: .4}, {ID: "gc.mark", Ratio: .3}, {ID: "gc.sweep", Ratio: .3}}, "60 % gc, 30 %   gc.mark, 30 %   gc.sweep, 40 % user"},
	} {
		var got []string
		for _, row := range ClassRows(&finding.Profile{Classes: c.classes}) {
			got = append(got, row[0]+" "+row[1])
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s: %s, want %s", c.name, text, c.want)
		}
	}
}

// TestDiffWords: the unit of amounts and differences, and what is not shown.
func TestDiffWords(t *testing.T) {
	low, high := 0.0812, 0.19
	more := finding.Change{A: 0.01, B: 0.149, Difference: 0.139, Low: &low, High: &high, Shown: true}
	under, over := -0.00003, 0.19
	same := finding.Change{A: 1.25, B: 1.2, Difference: -0.05, Low: &under, High: &over}
	unknown := finding.Change{A: 0, B: 2, Difference: 2}
	for _, c := range []struct {
		unit finding.Unit
		of   finding.Change
		want string
	}{
		{finding.UnitCores, more, "0.01 0.149 +0.139 [+0.0812, +0.19]"},
		{finding.UnitCores, same, "1.25 1.2 ~ [0, +0.19]"},
		{finding.UnitCores, unknown, "0 2 +2 "},
		{finding.UnitRatio, more, "1 % 14.9 % +13.9 points [+8.1, +19]"},
	} {
		d := &finding.ProfileDiff{Unit: c.unit}
		if got := strings.Join(ChangeCells(d, &c.of), " "); got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	less := more
	less.A, less.B, less.Difference = more.B, more.A, -more.Difference
	for _, c := range []struct {
		classes []finding.ClassDiff
		want    string
	}{
		{nil, "no difference can be told from chance"},
		{[]finding.ClassDiff{{ID: "user", Change: same}}, "no difference can be shown"},
		{[]finding.ClassDiff{{ID: "user", Change: unknown}}, "no difference can be told from chance"},
		{[]finding.ClassDiff{{ID: "sched", Change: more}, {ID: "user", Change: less}, {ID: "lock", Change: same}}, "more in sched +0.139; less in user -0.139"},
		{[]finding.ClassDiff{{ID: "a", Change: more}, {ID: "b", Change: more}, {ID: "c", Change: more}, {ID: "d", Change: more}, {ID: "e", Change: more}, {ID: "f", Change: more}, {ID: "g", Change: more}},
			"more in a +0.139, b +0.139, c +0.139, d +0.139, e +0.139 and 2 others"},
	} {
		d := &finding.ProfileDiff{Unit: finding.UnitCores, Total: finding.Change{A: 1, B: 1.5}, Classes: c.classes}
		if got, want := DiffVerdict(d), "B used 1.5 CPUs, A 1: "+c.want; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
