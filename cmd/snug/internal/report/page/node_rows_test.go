// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strings"
	"testing"
	"time"
)

// TestSparkline: gaps stay gaps, and a single known figure draws no line.
func TestSparkline(t *testing.T) {
	if s := sparkline("throttled", []float32{-1, 0.5, -1}, 1, time.Second); s != "" {
		t.Errorf("one point: %s", s)
	}
	s := string(sparkline("throttled", []float32{0, 1, -1, 1, 0}, 1, 15*time.Second))
	if strings.Count(s, "<path") != 2 || !strings.Contains(s, "M0 29") || !strings.Contains(s, "throttled in the last 1 min") && !strings.Contains(s, "throttled in the last 60") {
		t.Error(s)
	}
}
