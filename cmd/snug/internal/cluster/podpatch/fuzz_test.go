// SPDX-License-Identifier: Apache-2.0

package podpatch

import (
	"testing"
)

// FuzzParseMeasured: what is accepted has one text only.
func FuzzParseMeasured(f *testing.F) {
	f.Add("314572800 bytes in 604800 s until 2026-11-27")
	f.Add("1 bytes in 1 s until 2026-06-31")
	f.Fuzz(func(t *testing.T, text string) {
		m, ok := ParseMeasured(text)
		if !ok {
			return
		}
		if again, ok := ParseMeasured(m.String()); !ok || again != m || m.Peak < 0 || m.Seconds < 0 {
			t.Errorf("%q: %+v, again %+v", text, m, again)
		}
	})
}
