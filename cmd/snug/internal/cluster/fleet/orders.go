// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"cmp"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Orders are the orders of workloads, the more interesting ones first.
var Orders = map[string]func(a, b *finding.Workload) int{
	"finding": func(a, b *finding.Workload) int {
		return cmp.Or(cmp.Compare(b.Worst().Level(), a.Worst().Level()), cmp.Compare(len(b.Findings), len(a.Findings)))
	},
	"name":      func(a, b *finding.Workload) int { return 0 },
	"cpu":       func(a, b *finding.Workload) int { return figure.Compare(b.Used, a.Used) },
	"throttled": func(a, b *finding.Workload) int { return figure.Compare(b.Throttled.Most, a.Throttled.Most) },
	"memory":    func(a, b *finding.Workload) int { return figure.Compare(b.Filled.Most, a.Filled.Most) },
	"gc":        func(a, b *finding.Workload) int { return figure.Compare(b.GC.Most, a.GC.Most) },
	"procs":     func(a, b *finding.Workload) int { return figure.Compare(b.GOMAXPROCS.Most, a.GOMAXPROCS.Most) },
}
