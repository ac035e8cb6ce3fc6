// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"fmt"
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// lawText compares the stalls that were measured with the law, where stalls are
// all that was measured; "" where there are none to compare.
func lawText(cells []finding.Cell) string {
	held, none, worst := 0, 0, 0.0
	var at *finding.Cell
	for i := range cells {
		s := cells[i].Stall
		if s == nil {
			continue
		}
		if s.Law == 0 {
			none++
			continue
		}
		if s.Median == nil {
			continue
		}
		held++
		if off := *s.Median/s.Law - 1; at == nil || math.Abs(off) > math.Abs(worst) {
			worst, at = off, &cells[i]
		}
	}
	if at == nil {
		return ""
	}
	far := units.About(math.Round(math.Abs(worst)*1000) / 1000)
	text := fmt.Sprintf("the median gap is within %s of the stall law T(1-q/N) in each of %d settings", far, held)
	if held == 1 {
		text = fmt.Sprintf("the median gap is within %s of the stall law T(1-q/N)", far)
	}
	if math.Abs(worst) > 0.25 {
		text = fmt.Sprintf("the median gap differs from the stall law T(1-q/N) by up to %s: other programs probably had the CPUs", far)
	}
	if none > 0 {
		text += fmt.Sprintf("; in %d more the quota is enough for all threads", none)
	}
	return text
}
