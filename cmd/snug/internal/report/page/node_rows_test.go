// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// TestSparkline: gaps stay gaps, and a single known figure draws no line.
func TestSparkline(t *testing.T) {
	if s, scale := sparkline("throttled", []float32{-1, 0.5, -1}, 1, time.Second, units.Share); s != "" || scale != "" {
		t.Errorf("one point: %s, %s", s, scale)
	}
	drawing, scale := sparkline("throttled", []float32{0, 1, -1, 1, 0}, 1, 15*time.Second, units.Share)
	if scale != "0 to 100 %, 60 s" {
		t.Error(scale)
	}
	s := string(drawing)
	if strings.Count(s, "<path") != 2 || !strings.Contains(s, "M0 29") || !strings.Contains(s, "throttled in the last 1 min") && !strings.Contains(s, "throttled in the last 60") {
		t.Error(s)
	}
}
