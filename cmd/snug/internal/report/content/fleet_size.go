// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// FleetSizeHead is the head of the rows of FleetSizeRow.
var FleetSizeHead = []string{"WORKLOAD", "PODS", "SEEN", "MEMORY", "NEEDS", "CPU REQUEST", "NEEDS", "SAVES", ""}

// FleetSizeRow returns a workload with what it has, needs and saves.
func FleetSizeRow(w *finding.SizedWorkload) []string {
	var notes []string
	for i := range w.Risks {
		notes = append(notes, Reason(&w.Risks[i]))
	}
	if w.Days < 1 {
		notes = append(notes, "seen for less than a day")
	}
	if !w.Modeled && w.Memory.Value != nil {
		notes = append(notes, "all memory in use counts, garbage too")
	}
	return []string{
		message.Clean(WorkloadName(w.Namespace, w.Name, w.Container)), strconv.Itoa(w.Containers), units.Days(w.Days),
		Span(w.HasMemory, inBytes), number(w.Memory.Value, inBytes), Span(w.HasRequest, units.Number),
		number(w.CPURequest.Value, units.Number),
		number(w.Saves, Money), strings.Join(notes, "; "),
	}
}

// Money formats an amount in the unit of a price.
func Money(n float64) string { return units.Figures(n, 3) }

// FleetSizeValues returns the decided values of a workload as rows below SizeValuesHead.
func FleetSizeValues(w *finding.SizedWorkload) [][]string {
	d := finding.Size{Memory: w.Memory, GOMEMLIMIT: w.GOMEMLIMIT, CPURequest: w.CPURequest, CPULimit: w.CPULimit,
		Seen: w.Seen}
	return SizeValues(&d)[:4] // without GOMAXPROCS
}

// FleetSizeSeen returns what was seen of a workload, a line for each kind of figure.
func FleetSizeSeen(w *finding.SizedWorkload) [2]string {
	s := &w.Seen
	return [...]string{
		"seen: live heap " + seen(&s.Live, inBytes) + ", at most " + seen(&s.LiveMost, inBytes) + "; " +
			seen(&s.Allocated, inBytes) + " allocated a second; GC " + seen(&s.GCCores, twoFigures) +
			" CPUs; memory in use at most " + seen(&s.Used, inBytes) + ", of it " + seen(&s.Other, inBytes) + " not Go's",
		"CPU: mean " + seen(&s.CPUMean, twoFigures) + ", 95 % of the time at most " + seen(&s.CPUHigh, twoFigures) +
			"; throttled " + seen(&s.Throttled, units.Share),
	}
}
