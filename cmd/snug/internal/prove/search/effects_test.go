// SPDX-License-Identifier: Apache-2.0

package search

import (
	"math"
	"testing"
)

// TestEffects: an effect is that of settings that differ in nothing else.
func TestEffects(t *testing.T) {
	in := input(t, "cpu")
	in.Budget = runs(400)
	out := search1(t, in, newWorld(0.001, 1, gogcHelps))
	got := map[string]float64{}
	for _, e := range out.Effects {
		got[e.Knob+"="+e.Value] = e.Ratio
	}
	if len(got) != 12 {
		t.Errorf("effects of %d values: %v", len(got), got)
	}
	for _, c := range []struct {
		a, b string
		want float64
	}{
		{"GOGC=400", "GOGC=", math.Exp(-0.16)}, {"GOGC=50", "GOGC=", math.Exp(0.1)}, {"GOMAXPROCS=8", "GOMAXPROCS=", math.Exp(0.1)},
		{"GOMEMLIMIT=400MiB", "GOMEMLIMIT=", 1},
	} {
		if ratio := got[c.a] / got[c.b]; math.Abs(ratio-c.want) > 0.01 {
			t.Errorf("%s over %s: %.3f, want %.3f", c.a, c.b, ratio, c.want)
		}
	}
}
