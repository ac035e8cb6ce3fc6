// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"html/template"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// maxLanes is the maximum number of Ps in a drawing.
const maxLanes = 32

// Lanes draws what held each P over time, up to end seconds. It returns nil without Ps.
func Lanes(t *finding.Traced, end float64) *Figure {
	l := &t.Ps
	if len(l.Program) == 0 || len(l.Program) != len(l.Collector) || len(l.Program) != len(l.Other) || !(l.Step > 0) || !(end > 0) || units.Odd(end) {
		return nil
	}
	for p := range l.Program {
		if n := len(l.Program[p]); n < 2 || n != len(l.Collector[p]) || n != len(l.Other[p]) {
			return nil
		}
	}
	caption := "What held each P, the right to run Go code, in each step of " + units.Duration(l.Step) +
		": goroutines of the program from below, the collector from above, between them the scheduler and system calls. Percent: the share of the run time that it was held. None of it is CPU time."
	if shown := min(len(l.Program), maxLanes); len(t.Occupancy.Held) > shown {
		caption += fmt.Sprintf(" The first %d of %d Ps.", shown, len(t.Occupancy.Held))
	}
	return &Figure{Title: "The Ps", Caption: caption, Charts: []template.HTML{laneChart(t, end, wide, 256, "wide"), laneChart(t, end, narrow, 96, "narrow")}}
}

// laneKey is the key of the drawing: class and words.
var laneKey = [][2]string{{"program", "program"}, {"collector", "collector"}, {"other", "scheduler, system call"}, {"idle", "idle"}}

func laneChart(t *finding.Traced, end, w float64, columns int, size string) template.HTML {
	l := &t.Ps
	rows := min(len(l.Program), maxLanes)
	high, gap := 26.0, 6.0
	switch {
	case rows > 16:
		high, gap = 9, 2
	case rows > 8:
		high, gap = 13, 3
	}
	const left = plotLeft
	right := w - plotRight
	top := 26.0
	if w < 500 {
		top = 46 // a key of two lines
	}
	bottom := top + float64(rows)*(high+gap)
	desc := ""
	for p := range min(rows, 8) {
		desc += "P " + strconv.Itoa(p) + ": " + heldText(t, p) + ". "
	}
	d := Drawing("lanes "+size, w, bottom+34, "What held each P over "+units.Duration(end), desc)
	x, y := float64(left), 12.0
	for i, k := range laneKey {
		if w < 500 && i == 2 {
			x, y = left, 32
		}
		d.rect(k[0], x, y-10, 12, 12)
		d.text("tick", "start", x+17, y, k[1])
		x += 34 + 6.6*float64(len(k[1]))
	}
	across := scale{low: 0, high: end, from: left, to: right}
	every := (len(l.Program[0]) + columns - 1) / columns
	last := -100.0
	for p := range rows {
		y := top + float64(p)*(high+gap)
		if y-last >= 13 {
			d.text("tick", "end", left-8, y+high/2+4, "P "+strconv.Itoa(p))
			d.text("tick", "start", right+10, y+high/2+4, heldText(t, p))
			last = y
		}
		d.rect("idle", left, y, across.at(min(l.Step*float64(len(l.Program[p])), end))-left, high)
		program, other, collector := means(l.Program[p], every), means(l.Other[p], every), means(l.Collector[p], every)
		for i := range other {
			other[i] = min(other[i]+program[i], 1)
		}
		step := l.Step * float64(every)
		d.area("other", across, step, other, y+high, -high)
		d.area("program", across, step, program, y+high, -high)
		d.area("collector", across, step, collector, y, high)
	}
	timeAxis(d, across, bottom+gap, w)
	return d.Done()
}

// heldText returns the share of the run time that a P was held.
func heldText(t *finding.Traced, p int) string {
	if p >= len(t.Occupancy.Held) {
		return ""
	}
	return units.Share(t.Occupancy.Held[p])
}

// means returns the mean of each so many values.
func means(values []float64, every int) []float64 {
	var out []float64
	for i := 0; i < len(values); i += every {
		sum, n := 0.0, 0
		for _, v := range values[i:min(i+every, len(values))] {
			if !units.Odd(v) {
				sum += min(max(v, 0), 1)
				n++
			}
		}
		out = append(out, sum/float64(max(n, 1)))
	}
	return out
}

// area fills between a line at y and steps of height times each value from it.
func (s *svg) area(class string, x scale, step float64, values []float64, y, height float64) {
	s.WriteString(`<path class="` + class + `" d="`)
	at := y
	open := false
	for i, v := range values {
		to := y + height*v
		if px(to) == px(at) {
			continue
		}
		from := px(x.at(float64(i) * step))
		switch {
		case !open:
			s.WriteString("M" + from + " " + px(y) + "V" + px(to))
			open = true
		default:
			s.WriteString("H" + from + "V" + px(to))
		}
		at = to
	}
	if open {
		s.WriteString("H" + px(x.at(float64(len(values))*step)) + "V" + px(y) + "Z")
	}
	s.WriteString(`"/>`)
}
