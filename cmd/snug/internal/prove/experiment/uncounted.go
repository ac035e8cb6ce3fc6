// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// Uncounted returns how many of the runs, with repetitions, do not count, and why: the
// most frequent kind of reason, with the figures of its first run, such as "the load
// generator was late (7.7 ms at the 99th percentile)". why is "" if all of them count.
func Uncounted(runs []finding.Run) (n, of int, why string) {
	count := map[string]int{}
	most := 0
	for _, r := range runs {
		if r.Invalid != "" {
			n++
			kind, _, _ := strings.Cut(r.Invalid, ": ")
			count[kind]++
			most = max(most, count[kind])
		}
	}
	for _, r := range runs {
		kind, figures, ok := strings.Cut(r.Invalid, ": ")
		if r.Invalid == "" || count[kind] < most {
			continue
		}
		if ok {
			kind += " (" + figures + ")"
		}
		return n, len(runs), kind
	}
	return n, len(runs), ""
}

func rawRuns(cells []finding.Cell) []finding.Run {
	var all []finding.Run
	for _, c := range cells {
		all = append(all, c.Rounds...)
	}
	return all
}

// uncounted returns how many runs do not count if that is a quarter of them or more; nil
// if it is less.
func uncounted(cells []finding.Cell) []finding.Unshown {
	runs := rawRuns(cells)
	n, of, why := Uncounted(runs)
	if n == 0 || 4*n < of {
		return nil
	}
	late := strings.Contains(why, "generator was late") && !realTime(runs)
	return []finding.Unshown{{Code: finding.UnshownRuns, Runs: n, Of: of, Why: why, Late: late}}
}

// realTime reports whether a load generator already had real-time priority.
func realTime(runs []finding.Run) bool {
	for _, r := range runs {
		if r.Generator != nil && (r.Generator.Policy == "SCHED_RR" || r.Generator.Policy == "SCHED_FIFO") {
			return true
		}
	}
	return false
}
