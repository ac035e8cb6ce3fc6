// SPDX-License-Identifier: Apache-2.0

package content

import (
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestLeftOut(t *testing.T) {
	below := func(peak string) string {
		return "the predicted peak of " + peak + " stays below it: the same as without"
	}
	for _, c := range []struct {
		name string
		all  []finding.Pruned
		want []string
	}{
		{"one", []finding.Pruned{{What: "GOGC", Why: "x"}}, []string{"GOGC: x"}},
		{"the same reason", []finding.Pruned{{What: "GOGC=50, 100 with GOMEMLIMIT=204MiB", Why: below("9 MiB")}, {What: "GOGC=50 with GOMEMLIMIT=188743680B", Why: below("12 MiB")}},
			[]string{"3 settings with GOMEMLIMIT 180 MiB to 204MiB: the predicted peak stays below it: the same as without"}},
		{"another reason", []finding.Pruned{{What: "GOGC=50 with GOMEMLIMIT=204MiB", Why: "x"}, {What: "GOGC=off with GOMEMLIMIT=204MiB", Why: "y"}},
			[]string{"GOGC=50 with GOMEMLIMIT=204MiB: x", "GOGC=off with GOMEMLIMIT=204MiB: y"}},
		{"another knob", []finding.Pruned{{What: "GOGC=50", Why: "x"}, {What: "GOMAXPROCS=4", Why: "x"}}, []string{"GOGC=50: x", "GOMAXPROCS=4: x"}},
		{"no value", []finding.Pruned{{What: "GOGC", Why: "x 1"}, {What: "GOMEMLIMIT", Why: "x 2"}}, []string{"GOGC: x 1", "GOMEMLIMIT: x 2"}},
	} {
		var got []string
		for _, x := range PrunedGroups(c.all) {
			got = append(got, x.What+": "+x.Why)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
