// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestHeld: the pages of memory and goroutines, with names that are markup.
func TestHeld(t *testing.T) {
	const evil = "main.<script>alert(1)</script>"
	calls := cpuprof.CallsOf(stacked(10, "main.put main.main", evil+" main.main", "runtime.malg"), 1)
	stack := []finding.Call{{Function: evil, File: "x.go", Line: 1}}
	for what, write := range map[string]func(b *strings.Builder) error{
		"Width is live bytes": func(b *strings.Builder) error {
			return Heap(b, calls, &finding.Heap{Target: evil, Live: 1 << 20, Top: []finding.Holder{{Live: 5, Stack: stack}}})
		},
		">9 of 100 goroutines<": func(b *strings.Builder) error {
			return Goroutines(b, calls, &finding.Goroutines{Total: 9, Left: 91})
		},
		"Width is goroutines": func(b *strings.Builder) error {
			return Goroutines(b, calls, &finding.Goroutines{Target: evil, Total: 3, Unread: 2, Groups: []finding.GoroutineGroup{{Count: 3, State: evil, Stack: stack, Creator: &stack[0]}}})
		},
	} {
		var b strings.Builder
		if err := write(&b); err != nil {
			t.Fatal(err)
		}
		got := b.String()
		if !strings.Contains(got, what) || !strings.Contains(got, "main.put") || !strings.Contains(got, `<g class="f r"`) || strings.Contains(got, "<script>alert") {
			t.Errorf("%s\n%s", what, got)
		}
	}
	var b strings.Builder
	if err := Heap(&b, nil, &finding.Heap{}); err != nil || !strings.Contains(b.String(), "nothing in this profile") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
