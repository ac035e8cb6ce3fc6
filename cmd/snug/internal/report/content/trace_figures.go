// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// traceList holds the figures of one kind of time.
type traceList struct {
	title   string
	figures []traceFigure
	more    func([]finding.Traced) [][]string // rows of text: a name, its values
}

// traceFigures returns all figures of the text and of the page.
func traceFigures() []traceList {
	return []traceList{
		{title: "wall time", figures: []traceFigure{
			{"run time", of(func(t *finding.Traced) float64 { return t.Wall.Run }), units.Duration, false},
			{"collections", of(func(t *finding.Traced) float64 { return float64(t.Wall.GCs) }), units.Number, false},
			{"collections, share", of(func(t *finding.Traced) float64 { return t.Wall.GCRun }), units.Share, true},
			{"stop-the-world, total", of(func(t *finding.Traced) float64 { return t.Wall.Stops.Total }), units.Duration, false},
			{"stop-the-world, share", of(func(t *finding.Traced) float64 { return t.Wall.Stopped }), units.Share, true},
			{"stop-the-world, times", of(func(t *finding.Traced) float64 { return float64(t.Wall.Stops.Count) }), units.Number, false},
			{"stop-the-world, mean", func(t *finding.Traced) *float64 { return t.Wall.Stops.Mean }, units.Duration, false},
			{"stop-the-world, P99", func(t *finding.Traced) *float64 { return t.Wall.Stops.P99 }, units.Duration, false},
			{"stop-the-world, longest", func(t *finding.Traced) *float64 { return t.Wall.Stops.Max }, units.Duration, false},
			{"stop-the-world, for GC", of(func(t *finding.Traced) float64 { return t.Wall.GCStopped }), units.Duration, false},
		}},
		{title: "P-occupancy: who held a P, and for how long", figures: []traceFigure{
			{"Ps held", func(t *finding.Traced) *float64 { return t.Occupancy.HeldAll }, units.Share, true},
			{"collector's share", func(t *finding.Traced) *float64 { return t.Occupancy.GC }, units.Share, true},
			{"  mark workers", of(func(t *finding.Traced) float64 { return t.Occupancy.Dedicated + t.Occupancy.Fractional }), units.Duration, false},
			{"  mark assists", of(func(t *finding.Traced) float64 { return t.Occupancy.Assist }), units.Duration, false},
			{"  sweeping", of(func(t *finding.Traced) float64 { return t.Occupancy.Sweep }), units.Duration, false},
			{"idle marking, separate", of(func(t *finding.Traced) float64 { return t.Occupancy.IdleMark }), units.Duration, false},
			{"goroutines running", of(func(t *finding.Traced) float64 { return t.Occupancy.Running }), units.Duration, false},
			{"minimum left to the program in 1 ms", utilisation(1e-3), units.Share, true},
			{"  in 10 ms", utilisation(1e-2), units.Share, true},
			{"  in 100 ms", utilisation(.1), units.Share, true},
			{"  in 1 s", utilisation(1), units.Share, true},
		}, more: func(all []finding.Traced) [][]string {
			procs, held := []string{"GOMAXPROCS"}, []string{"each P held"}
			for i := range all {
				procs = append(procs, procsText(all[i].Procs))
				held = append(held, heldText(all[i].Occupancy.Held))
			}
			return [][]string{procs, held}
		}},
		{title: "goroutines: wall time, summed over all of them", figures: []traceFigure{
			{"scheduler latency, P50", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.P50 }, units.Duration, false},
			{"scheduler latency, P90", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.P90 }, units.Duration, false},
			{"scheduler latency, P99", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.P99 }, units.Duration, false},
			{"scheduler latency, P99.9", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.P999 }, units.Duration, false},
			{"scheduler latency, longest", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.Max }, units.Duration, false},
			{"runnable", of(func(t *finding.Traced) float64 { return t.Goroutines.Runnable }), units.Duration, false},
			{"blocked", of(func(t *finding.Traced) float64 { return t.Goroutines.Blocked }), units.Duration, false},
			{"in system calls", of(func(t *finding.Traced) float64 { return t.Goroutines.Syscall }), units.Duration, false},
			{"created", of(func(t *finding.Traced) float64 { return float64(t.Goroutines.Created) }), units.Number, false},
			{"maximum at once", of(func(t *finding.Traced) float64 { return float64(t.Goroutines.Peak) }), units.Number, false},
		}},
		{title: "heap: objects, including dead ones not yet swept", figures: []traceFigure{
			{"peak", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.Peak }), BytesText, false},
			{"at the end", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.Last }), BytesText, false},
			{"highest goal", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.GoalPeak }), BytesText, false},
			{"goal at the end", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.GoalLast }), BytesText, false},
		}},
	}
}

func of(f func(*finding.Traced) float64) func(*finding.Traced) *float64 {
	return func(t *finding.Traced) *float64 { return new(f(t)) }
}

func bytesOf(f func(*finding.Traced) *uint64) func(*finding.Traced) *float64 {
	return func(t *finding.Traced) *float64 {
		if v := f(t); v != nil {
			return new(float64(*v))
		}
		return nil
	}
}

// utilisation returns the minimum mutator utilisation for a window in seconds.
func utilisation(window float64) func(*finding.Traced) *float64 {
	return func(t *finding.Traced) *float64 {
		for i := range t.Occupancy.MMU {
			if m := &t.Occupancy.MMU[i]; m.Window == window {
				return m.Ratio
			}
		}
		return nil
	}
}

// procsText formats GOMAXPROCS over time.
func procsText(all []finding.TraceProcs) string {
	switch len(all) {
	case 0:
		return units.None
	case 1:
		return strconv.Itoa(all[0].N)
	}
	const shown = 4
	var parts []string
	for i, p := range all[:min(len(all), shown)] {
		text := strconv.Itoa(p.N)
		if i > 0 {
			text += " from " + units.Duration(p.At)
		}
		parts = append(parts, text)
	}
	if n := len(all) - shown; n > 0 {
		parts = append(parts, units.Plural(n, "more change"))
	}
	return strings.Join(parts, ", ")
}

// heldText formats the share of each P, or their range if there are more than 8.
func heldText(held []float64) string {
	if len(held) == 0 {
		return units.None
	}
	if len(held) <= 8 {
		var parts []string
		for _, h := range held {
			parts = append(parts, units.Share(h))
		}
		return strings.Join(parts, ", ")
	}
	low, high, _ := units.Span(held)
	return units.Share(low) + " to " + units.Share(high)
}
