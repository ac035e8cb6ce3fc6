// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func change(ratio float64) string { return percent(math.Abs(ratio - 1)) }

// percent is a share with two digits, or whole where it has more.
func percent(share float64) string { return number(share*100) + " %" }

func number(x float64) string {
	if x >= 10 {
		return strconv.FormatFloat(math.Round(x), 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

func cpus(n float64) string {
	switch n {
	case 0:
		return "no quota"
	case 1:
		return "1 CPU"
	}
	return strconv.FormatFloat(n, 'g', -1, 64) + " CPUs"
}

func rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return strconv.Itoa(n) + " rounds"
}

// operation is what a workload does many of.
func operation(a finding.Arm) string {
	switch workload, _, _ := strings.Cut(a.Workload, "/"); workload {
	case "http", "command", "url":
		return "request"
	}
	return "operation"
}

func list(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}
