// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/pprof/profile"
)

// TestGraphIsBounded: any profile has at most maxFrames calls, each inside the one above it.
func TestGraphIsBounded(t *testing.T) {
	wide := make([]string, 0, 20000)
	for i := range 20000 {
		wide = append(wide, fmt.Sprintf("main.f%d main.g%d main.main", i, i%1500))
	}
	deep := strings.TrimSpace(strings.Repeat("main.again ", 5000))
	for name, p := range map[string]*profile.Profile{"wide": stacked(1, wide...), "deep": stacked(1, deep), "both": stacked(1, append(wide, deep)...)} {
		g, err := GraphOf(p)
		if err != nil {
			t.Fatal(err)
		}
		calls := g.Calls
		if len(calls) < 2 || len(calls) > maxFrames {
			t.Errorf("%s: %d calls", name, len(calls))
		}
		self := 0.0
		var above [maxDepth + 2]Call
		for _, f := range calls {
			if f.Depth > 0 {
				if a := above[f.Depth-1]; f.Start < a.Start-1e-9 || f.Start+f.Size > a.Start+a.Size+1e-9 {
					t.Fatalf("%s: %+v is not within %+v", name, f, a)
				}
			}
			above[f.Depth] = f
			self += f.Self
		}
		if self > 1+1e-6 {
			t.Errorf("%s: frames themselves are %v of all", name, self)
		}
	}
}
