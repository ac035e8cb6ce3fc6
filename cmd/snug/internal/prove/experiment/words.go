// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

func change(ratio float64) string { return units.About(math.Abs(ratio - 1)) }

// operation is what a workload does many of.
func operation(a finding.Arm) string {
	switch workload, _, _ := strings.Cut(a.Workload, "/"); workload {
	case "http", "command", "url":
		return "request"
	}
	return "operation"
}
