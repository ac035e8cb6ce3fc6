// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// maxLanes is the maximum number of Ps in a drawing.
const maxLanes = 32

// Lanes draws what held each P over time, up to end seconds. It returns nil without Ps.
func Lanes(t *finding.Traced, end float64) *Figure {
	l := &t.Ps
	if len(l.Program) == 0 || len(l.Program) != len(l.Collector) || len(l.Program) != len(l.Other) || !(l.Step > 0) ||
		!(end > 0) || units.Odd(end) {
		return nil
	}
	p := plot{class: "lanes", title: "What held each P over " + units.Duration(end), x: fromZero(end, 6, units.Times)}
	for i := range l.Program[:min(len(l.Program), maxLanes)] {
		n := len(l.Program[i])
		if n < 2 || n != len(l.Collector[i]) || n != len(l.Other[i]) {
			return nil
		}
		q := panel{beside: "P " + strconv.Itoa(i), height: min(26, max(5, 200/float64(len(l.Program)))), y: axis{high: 1}}
		if i < len(t.Occupancy.Held) {
			q.beside += " " + units.Share(t.Occupancy.Held[i])
			p.desc += q.beside + ". "
		}
		program, zero, one := l.Program[i], make([]float64, n), slices.Repeat([]float64{1}, n)
		other, collector := make([]float64, n), make([]float64, n)
		for k := range other {
			other[k], collector[k] = min(l.Other[i][k]+program[k], 1), 1-l.Collector[i][k]
		}
		q.lines = []line{
			steps("program", "program", program, zero, program, l.Step), steps("collector", "collector", collector, collector,
				one, l.Step),
			steps("other", "scheduler, system call", program, program, other, l.Step),
		}
		p.panels = append(p.panels, q)
	}
	caption := "What held each P, the right to run Go code, in each step of " + units.Duration(l.Step) +
		": goroutines of the program from below, the collector from above, between them the scheduler and system calls. " +
		"Percent: the share of the run time that it was held. None of it is CPU time."
	if len(t.Occupancy.Held) > len(p.panels) {
		caption += fmt.Sprintf(" The first %d of %d Ps.", len(p.panels), len(t.Occupancy.Held))
	}
	return &Figure{Title: "The Ps", Caption: caption, Charts: p.both()}
}

// steps returns an area of steps.
func steps(class, name string, y, lows, tops []float64, step float64) line {
	l := line{name: name, area: class}
	for i := range y {
		l.x = append(l.x, float64(i)*step, float64(i+1)*step)
		l.y, l.lows, l.tops = append(l.y, y[i], y[i]), append(l.lows, lows[i], lows[i]), append(l.tops, tops[i], tops[i])
	}
	return l
}

// Course draws the heap and the collector over time, up to end seconds and high bytes. It returns nil
// without a timeline.
func Course(t *finding.Traced, end, high float64) *Figure {
	l := &t.Timeline
	n := len(l.Stopped)
	if n < 2 || !(l.Step > 0) || !(end > 0) || units.Odd(end) || len(l.GC) != n || len(l.Goal) != n ||
		len(l.HeapLow) != n || len(l.HeapHigh) != n {
		return nil
	}
	at := make([]float64, n)
	for i := range at {
		at[i] = min((float64(i)+.5)*l.Step, end)
	}
	p := plot{class: "course", title: "Heap and collector over " + units.Duration(end), x: fromZero(end, 6, units.Times),
		panels: []panel{
			{head: "heap", height: 130, y: fromZero(high, 4, units.Sizes), lines: []line{
				{name: "heap", kind: 1, x: at, y: floats(l.HeapHigh), lows: floats(l.HeapLow), tops: floats(l.HeapHigh)},
				{name: "goal", kind: 2, x: at, y: floats(l.Goal)}}},
			{head: "share of time", height: 130, y: fromZero(1, 4, percent), lines: []line{
				{name: "collector", kind: 3, x: at, y: l.GC}, {name: "stopped", kind: 0, x: at, y: l.Stopped}}},
		}}
	return &Figure{Title: "Heap and collector", Charts: p.both(), Caption: "In each step of " + units.Duration(l.Step) +
		": bytes of objects, from the lowest to the highest, and the size at which the next collection should end; the " +
		"share of the Ps' time that the collector held (P-occupancy), and of the time that the world was stopped " +
		"(wall time)."}
}

func floats(values []uint64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

// Spread draws the distributions of a trace. It returns nil if there is too little to draw.
func Spread(t *finding.Traced) *Figure {
	var lines []line
	for i, d := range []struct {
		name  string
		times *finding.TraceTimes
	}{{"from runnable to running", &t.Goroutines.Latency}, {"stops of the world", &t.Wall.Stops},
		{"collections", &t.Wall.GC}} {
		lines = tail(lines, d.name, i, d.times.Histogram)
	}
	if len(lines) == 0 {
		return nil
	}
	return &Figure{Title: "Distributions", Charts: percentiles("Times by percentile", "are at most as long", lines),
		Caption: "Wall time: of goroutines from runnable to running, " +
			"of stops from the request to stop the world until it ran again, of collections from the start to the end of " +
			"marking. A line ends where fewer than ten samples lie above it."}
}
