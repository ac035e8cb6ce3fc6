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
			{"run time", of(func(t *finding.Traced) float64 { return t.Wall.Run }), units.Duration, false, nil},
			{"collections", of(func(t *finding.Traced) float64 { return float64(t.Wall.GCs) }), units.Number, false, nil},
			{"collections, share", of(func(t *finding.Traced) float64 { return t.Wall.GCRun }), units.Share, true, nil},
			{"stop-the-world, total", of(func(t *finding.Traced) float64 { return t.Wall.Stops.Total }), units.Duration, false,
				nil},
			{"stop-the-world, share", of(func(t *finding.Traced) float64 { return t.Wall.Stopped }), units.Share, true, nil},
			{"stop-the-world, times", of(func(t *finding.Traced) float64 { return float64(t.Wall.Stops.Count) }), units.Number,
				false, nil},
			{"stop-the-world, mean", func(t *finding.Traced) *float64 { return t.Wall.Stops.Mean }, units.Duration, false, nil},
			percentile("stop-the-world", "P99", stops, func(t *finding.TraceTimes) *float64 { return t.P99 }),
			{"stop-the-world, longest", func(t *finding.Traced) *float64 { return t.Wall.Stops.Max }, units.Duration, false,
				nil},
			{"stop-the-world, for GC", of(func(t *finding.Traced) float64 { return t.Wall.GCStopped }), units.Duration, false,
				nil},
		}},
		{title: "P-occupancy: who held a P, and for how long", figures: []traceFigure{
			{"Ps held", func(t *finding.Traced) *float64 { return t.Occupancy.HeldAll }, units.Share, true, nil},
			{"collector's share", func(t *finding.Traced) *float64 { return t.Occupancy.GC }, units.Share, true, nil},
			{"  mark workers", of(func(t *finding.Traced) float64 { return t.Occupancy.Dedicated + t.Occupancy.Fractional }),
				units.Duration, false, nil},
			{"  mark assists", of(func(t *finding.Traced) float64 { return t.Occupancy.Assist }), units.Duration, false, nil},
			{"  sweeping", of(func(t *finding.Traced) float64 { return t.Occupancy.Sweep }), units.Duration, false, nil},
			{"idle marking, separate", of(func(t *finding.Traced) float64 { return t.Occupancy.IdleMark }), units.Duration,
				false, nil},
			{"goroutines running", of(func(t *finding.Traced) float64 { return t.Occupancy.Running }), units.Duration, false,
				nil},
			{"minimum left to the program in 1 ms", utilisation(1e-3), units.Share, true, nil},
			{"  in 10 ms", utilisation(1e-2), units.Share, true, nil},
			{"  in 100 ms", utilisation(.1), units.Share, true, nil},
			{"  in 1 s", utilisation(1), units.Share, true, nil},
		}, more: func(all []finding.Traced) [][]string {
			procs, held := []string{"GOMAXPROCS"}, []string{"each P held"}
			for i := range all {
				procs = append(procs, procsText(all[i].Procs))
				held = append(held, heldText(all[i].Occupancy.Held))
			}
			return [][]string{procs, held}
		}},
		{title: "goroutines: wall time, summed over all of them", figures: []traceFigure{
			percentile("scheduler latency", "P50", latency, func(t *finding.TraceTimes) *float64 { return t.P50 }),
			percentile("scheduler latency", "P90", latency, func(t *finding.TraceTimes) *float64 { return t.P90 }),
			percentile("scheduler latency", "P99", latency, func(t *finding.TraceTimes) *float64 { return t.P99 }),
			percentile("scheduler latency", "P99.9", latency, func(t *finding.TraceTimes) *float64 { return t.P999 }),
			{"scheduler latency, longest", func(t *finding.Traced) *float64 { return t.Goroutines.Latency.Max }, units.Duration,
				false, nil},
			{"runnable", of(func(t *finding.Traced) float64 { return t.Goroutines.Runnable }), units.Duration, false, nil},
			{"blocked", of(func(t *finding.Traced) float64 { return t.Goroutines.Blocked }), units.Duration, false, nil},
			{"in system calls", of(func(t *finding.Traced) float64 { return t.Goroutines.Syscall }), units.Duration, false, nil},
			{"created", of(func(t *finding.Traced) float64 { return float64(t.Goroutines.Created) }), units.Number, false, nil},
			{"maximum at once", of(func(t *finding.Traced) float64 { return float64(t.Goroutines.Peak) }), units.Number, false,
				nil},
		}},
		{title: "heap: objects, including dead ones not yet swept", figures: []traceFigure{
			{"peak", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.Peak }), BytesText, false, nil},
			{"at the end", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.Last }), BytesText, false, nil},
			{"highest goal", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.GoalPeak }), BytesText, false, nil},
			{"goal at the end", bytesOf(func(t *finding.Traced) *uint64 { return t.Heap.GoalLast }), BytesText, false, nil},
		}},
	}
}

func stops(t *finding.Traced) *finding.TraceTimes   { return &t.Wall.Stops }
func latency(t *finding.Traced) *finding.TraceTimes { return &t.Goroutines.Latency }

// percentile is a percentile of durations; it is missing where there are too few of them.
func percentile(name, p string, times func(*finding.Traced) *finding.TraceTimes,
	value func(*finding.TraceTimes) *float64) traceFigure {
	return traceFigure{name + ", " + p, func(t *finding.Traced) *float64 { return value(times(t)) }, units.Duration, false,
		times}
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
