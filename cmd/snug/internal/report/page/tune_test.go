// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
)

// TestWideTablesAreSplit: no column is out of sight, each row keeps its name, and no
// column is lost.
func TestWideTablesAreSplit(t *testing.T) {
	var g content.Grid
	g.Key("setting", []string{"P=1 GOGC=50 GOMEMLIMIT=115MiB"})
	want := ""
	for i := range 20 {
		head := strings.Repeat("x", 6+i%3)
		g.Add(head, []string{"1.00 ms"})
		want += head + " "
	}
	got := ""
	tables := tablesOf("medians", g)
	for i, one := range tables {
		if one.Head[0].Text != "setting" || one.Caption != []string{"medians", "medians, continued"}[min(i, 1)] {
			t.Errorf("table %d begins with %q, caption %q", i, one.Head[0].Text, one.Caption)
		}
		width := 0
		for _, h := range one.Head {
			width += 8*max(len(h.Text), 7) + 18
		}
		if width > tableWidth+8*29 {
			t.Errorf("table %d is %d pixels wide", i, width)
		}
		for _, h := range one.Head[1:] {
			got += h.Text + " "
		}
	}
	if len(tables) < 2 || got != want {
		t.Errorf("%d tables with %q, want %q", len(tables), got, want)
	}
	if n := len(tablesOf("", content.Grid{})); n != 1 {
		t.Errorf("%d tables of nothing", n)
	}
}
