// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// stallTest compares the measured stalls with the law, if nothing but stalls was
// measured; nil if there are none to compare.
func stallTest(cells []finding.Cell) *finding.StallTest {
	var t finding.StallTest
	for i := range cells {
		s := cells[i].Stall
		switch {
		case s == nil:
		case s.Law == 0:
			t.Free++
		case s.Median != nil:
			if off := *s.Median/s.Law - 1; t.Settings == 0 || math.Abs(off) > math.Abs(t.Off) {
				t.Off = off
			}
			t.Settings++
		}
	}
	if t.Settings == 0 {
		return nil
	}
	return &t
}
