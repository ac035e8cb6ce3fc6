// SPDX-License-Identifier: Apache-2.0

package look

import (
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestAfterPS: the next command is about the worst, in whatever order they are.
func TestAfterPS(t *testing.T) {
	all := []finding.Process{{PID: 1, Findings: []finding.Finding{{Severity: finding.SeverityInfo}}}, {PID: 2, Findings: []finding.Finding{{Severity: finding.SeverityError}}}, {PID: 3}}
	if got := AfterPS(all); got != "snug doctor 2" {
		t.Error(got)
	}
	if got := AfterPS(nil); got != "" {
		t.Error(got)
	}
}
