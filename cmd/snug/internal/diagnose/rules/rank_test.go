// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestRank: what costs CPU time now comes before a limit that nothing comes near, and neighbours are never more than
// information in this order.
func TestRank(t *testing.T) {
	of := func(id string, s finding.Severity) int { return rank(&finding.Finding{ID: id, Severity: s}) }
	order := []int{
		of("oom-kills", finding.SeverityError), of("gomemlimit-missing", finding.SeverityWarning), of("sched-cpu", finding.SeverityInfo), of("gomemlimit-missing", finding.SeverityInfo),
	}
	if !slices.IsSortedFunc(order, func(a, b int) int { return b - a }) || order[2] == order[3] || of("neighbours", finding.SeverityWarning) != of("sched-cpu", finding.SeverityInfo) {
		t.Error(order)
	}
}
