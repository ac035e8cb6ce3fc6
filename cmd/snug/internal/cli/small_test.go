// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/cli/small"
	"github.com/snug-go/snug/cmd/snug/internal/cli/ui"
)

// TestWhole: snug-run names exactly the commands that snug has and it does not have.
func TestWhole(t *testing.T) {
	u := &ui.UI{Getenv: func(string) string { return "" }}
	var want []string
	for _, c := range program(u).Command(u).Commands() {
		if name := c.Name(); !slices.Contains([]string{"limits", "plan", "run", "version", "help"}, name) {
			want = append(want, name)
		}
	}
	slices.Sort(want)
	if !slices.Equal(small.Whole, want) {
		t.Errorf("%q, want %q", small.Whole, want)
	}
}
