// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// traceList is the figures of one kind.
type traceList struct {
	title   string
	figures []traceFigure
	more    func([]finding.Traced) [][]string // rows of what is no number: a name, its values
}

// traceFigures are all figures, the table of the text and of the page.
func traceFigures() []traceList {
	return []traceList{
		{title: "wall time", figures: []traceFigure{
			{"run time", of(func(t *finding.Traced) float64 { return t.Wall.Run }), duration, false},
			{"collections", of(func(t *finding.Traced) float64 { return float64(t.Wall.GCs) }), number, false},
			{"a collection under way", of(func(t *finding.Traced) float64 { return t.Wall.GCRun }), share, true},
			{"stop-the-world, total", of(func(t *finding.Traced) float64 { return t.Wall.Stops.Total }), duration, false},
			{"stop-the-world, share", of(func(t *finding.Traced) float64 { return t.Wall.Stopped }), share, true},
			{"stop-the-world, times", of(func(t *finding.Traced) float64 { return float64(t.Wall.Stops.Count) }), number, false},
			{"stop-the-world, mean", func(t *finding.Traced) *float64 { return t.Wall.Stops.Mean }, duration, false},
			{"stop-the-world, P99", func(t *finding.Traced) *float64 { return t.Wall.Stops.P99 }, duration, false},
			{"stop-the-world, longest", func(t *finding.Traced) *float64 { return t.Wall.Stops.Max }, duration, false},
			{"stop-the-world, for GC", of(func(t *finding.Traced) float64 { return t.Wall.GCStopped }), duration, false},
		}},
		{title: "P-occupancy: who held a P, and for how long", figures: []traceFigure{
			{"Ps held", func(t *finding.Traced) *float64 { return t.Occupancy.HeldAll }, share, true},
			{"collector's share", func(t *finding.Traced) *float64 { return t.Occupancy.GC }, share, true},
			{"  mark workers", of(func(t *finding.Traced) float64 { return t.Occupancy.Dedicated + t.Occupancy.Fractional }), duration, false},
			{"  mark assists", of(func(t *finding.Traced) float64 { return t.Occupancy.Assist }), duration, false},
			{"  sweeping", of(func(t *finding.Traced) float64 { return t.Occupancy.Sweep }), duration, false},
			{"idle marking, apart", of(func(t *finding.Traced) float64 { return t.Occupancy.IdleMark }), duration, false},
			{"goroutines running", of(func(t *finding.Traced) float64 { return t.Occupancy.Running }), duration, false},
			{"least left to the program in 1 ms", utilisation(1e-3), share, true},
			{"  in 10 ms", utilisation(1e-2), share, true},
			{"  in 100 ms", utilisation(.1), share, true},
			{"  in 1 s", utilisation(1), share, true},
		}, more: func(all []finding.Traced) [][]string {
			procs, held := []string{"GOMAXPROCS"}, []string{"each P held"}
			for i := range all {
				procs = append(procs, procsText(all[i].Procs))
				held = append(held, heldText(all[i].Occupancy.Held))
			}
			return [][]string{procs, held}
		}},
		{title: "goroutines: wall time, added up over all of them", figures: []traceFigure{
			{"scheduler latency, P50", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.P50 }, duration, false},
			{"scheduler latency, P90", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.P90 }, duration, false},
			{"scheduler latency, P99", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.P99 }, duration, false},
			{"scheduler latency, P99.9", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.P999 }, duration, false},
			{"scheduler latency, longest", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.Max }, duration, false},
			{"runnable", of(func(t *finding.Traced) float64 { return t.Goroutines.Runnable }), duration, false},
			{"blocked", of(func(t *finding.Traced) float64 { return t.Goroutines.Blocked }), duration, false},
			{"in system calls", of(func(t *finding.Traced) float64 { return t.Goroutines.Syscall }), duration, false},
			{"created", of(func(t *finding.Traced) float64 { return float64(t.Goroutines.Created) }), number, false},
			{"most at a time", of(func(t *finding.Traced) float64 { return float64(t.Goroutines.Peak) }), number, false},
		}},
		{title: "heap: objects, dead ones that are not swept among them", figures: []traceFigure{
			{"peak", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.Peak }), bytesText, false},
			{"at the end", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.Last }), bytesText, false},
			{"highest goal", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.GoalPeak }), bytesText, false},
			{"goal at the end", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.GoalLast }), bytesText, false},
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

// utilisation is the minimum mutator utilisation for a window of so many seconds.
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

// procsText is GOMAXPROCS over time.
func procsText(all []finding.TraceProcs) string {
	switch len(all) {
	case 0:
		return none
	case 1:
		return strconv.Itoa(all[0].N)
	}
	const shown = 4
	var parts []string
	for i, p := range all[:min(len(all), shown)] {
		text := strconv.Itoa(p.N)
		if i > 0 {
			text += " from " + duration(p.At)
		}
		parts = append(parts, text)
	}
	if n := len(all) - shown; n > 0 {
		parts = append(parts, plural(n, "more change"))
	}
	return strings.Join(parts, ", ")
}

// heldText is the share of each P, or how they spread where there are many.
func heldText(held []float64) string {
	if len(held) == 0 {
		return none
	}
	if len(held) <= 8 {
		var parts []string
		for _, h := range held {
			parts = append(parts, share(h))
		}
		return strings.Join(parts, ", ")
	}
	low, high, _ := span(held)
	return share(low) + " to " + share(high)
}
