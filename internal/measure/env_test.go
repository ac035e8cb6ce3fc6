// SPDX-License-Identifier: Apache-2.0

package measure

import (
	"testing"

	"github.com/snug-go/snug/internal/follow"
)

func TestReadEnvGC(t *testing.T) {
	for text, want := range map[string]float64{
		"5%": 0.05, "1%": 0.01, "2.5%": 0.025, "50%": 0.5,
		// Invalid values keep the program's option.
		"0.9%": 0.03, "51%": 0.03, "-5%": 0.03, "5": 0.03, "%": 0.03, "NaN%": 0.03, "off": 0.03,
		"cost": 0.03, "cost:5%": 0.03, "headroom": 0.03, "headroom:4": 0.03,
	} {
		c := follow.Measure{}
		c.GC.Share = 0.03
		bad := ReadEnv(func(name string) string {
			if name == "SNUG_GC" {
				return text
			}
			return ""
		}, &c)
		if c.GC.Share != want {
			t.Errorf("SNUG_GC=%s: share %v, want %v", text, c.GC.Share, want)
		}
		if invalid := want == 0.03; invalid != (len(bad) == 1) {
			t.Errorf("SNUG_GC=%s: warnings %v", text, bad)
		}
	}
}
