// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"html/template"
	"math"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Margins of the drawings over time, whose axes are below each other.
const plotLeft, plotRight = 62, 112

// Lines draws figures over time on one scale from zero.
type Lines struct {
	Title     string
	Step, End float64      // seconds
	High      float64      // top of the scale; 0 = fit the values
	Of        []units.Unit // nil = percent
	All       []Plotted
}

// Plotted is one line, with Per values for each step.
type Plotted struct {
	Name   string
	Kind   int // of line and mark
	Values []float64
	Per    int // values per step; 2 = minimum and maximum
	Dashed bool
}

func (l Lines) Any() bool {
	for _, p := range l.All {
		if len(p.Values) > p.Per {
			return l.Step > 0 && l.End > 0
		}
	}
	return false
}

func (l Lines) Figure(caption string) *Figure {
	return &Figure{Title: l.Title, Caption: caption, Charts: []template.HTML{l.chart(wide, 260, "wide"), l.chart(narrow, 240, "narrow")}}
}

func (l Lines) chart(w, h float64, size string) template.HTML {
	const top, bottom, left = 12, 34, plotLeft
	right := w - plotRight
	high := l.High
	if high == 0 {
		for _, p := range l.All {
			if _, top, ok := units.Span(p.Values); ok {
				high = max(high, top*1.05)
			}
		}
	}
	if high == 0 {
		high = 1
	}
	x := scale{low: 0, high: l.End, from: left, to: right}
	y := scale{low: 0, high: high, from: h - bottom, to: top}
	desc := ""
	for _, p := range l.All {
		if low, top, ok := units.Span(p.Values); ok {
			desc += p.Name + " from " + l.value(low) + " to " + l.value(top) + ". "
		}
	}
	d := Drawing("course "+size, w, h, l.Title+" over "+units.Duration(l.End), desc)
	ticks, unit := fromZero(high, 4, l.Of)
	labels := tickText(ticks, unit)
	for i, t := range ticks {
		if l.Of == nil {
			labels[i] = units.Share(t)
		}
		d.Line("grid", left, y.at(t), right, y.at(t))
		d.text("tick", "end", left-8, y.at(t)+4, labels[i])
	}
	timeAxis(d, x, h-bottom, w)
	var ends []float64
	for _, p := range l.All {
		if n := len(p.Values); n > 0 {
			ends = append(ends, y.at(p.Values[n-1]))
		} else {
			ends = append(ends, 0)
		}
	}
	at := apart(ends, 16, top+4, h-bottom)
	for i, p := range l.All {
		if len(p.Values) == 0 {
			continue
		}
		points := make([][2]float64, len(p.Values))
		for k, v := range p.Values {
			points[k] = [2]float64{x.at(min((float64(k/p.Per)+.5)*l.Step, l.End)), y.at(v)}
		}
		look := class("curve s", p.Kind)
		if p.Dashed {
			look += " d1"
		}
		d.Path(look, thin(points))
		if last := points[len(points)-1]; last[0] < right-1 { // this trace is shorter than the other
			d.Line("leader", last[0], last[1], right, ends[i])
		}
		d.Path(class("curve s", p.Kind), [][2]float64{{right + 2, ends[i]}, {right + 9, at[i]}}) // connects the name to its line
		d.text("label", "start", right+13, at[i]+4, p.Name)
	}
	return d.Done()
}

// timeAxis draws the ticks of seconds from 0 on, at a height of a drawing of width w.
func timeAxis(d *svg, x scale, y, w float64) {
	ticks, unit := fromZero(x.high, timeTicks(w), units.Times)
	for i, label := range tickText(ticks, unit) {
		d.Line("axis", x.at(ticks[i]), y, x.at(ticks[i]), y+5)
		d.text("tick", "middle", x.at(ticks[i]), y+19, label)
	}
}

// timeTicks returns about how many ticks of time a drawing of width w has room for.
func timeTicks(w float64) int {
	if w < 500 {
		return 3
	}
	return 6
}

func (l Lines) value(x float64) string {
	if l.Of == nil {
		return units.Share(x)
	}
	return units.Suits(x, l.Of).In(x)
}

// apart is spread for heights in any order.
func apart(wanted []float64, distance, low, high float64) []float64 {
	if len(wanted) == 2 && wanted[0] > wanted[1] {
		s := spread([]float64{wanted[1], wanted[0]}, distance, low, high)
		return []float64{s[1], s[0]}
	}
	return spread(wanted, distance, low, high)
}

// fromZero returns about n ticks from zero up, at round numbers of the unit that suits high.
func fromZero(high float64, n int, of []units.Unit) ([]float64, units.Unit) {
	unit := unitOf(high, of)
	step := nice(high/unit.One/float64(n)) * unit.One
	var ticks []float64
	for k := 0; k <= 4*n && float64(k)*step <= high*(1+1e-9); k++ {
		ticks = append(ticks, float64(k)*step)
	}
	return ticks, unit
}

// thousands are the units of counts.
var thousands = []units.Unit{{One: 1}, {One: 1e3, Name: "k"}, {One: 1e6, Name: "M"}, {One: 1e9, Name: "G"}}

// maxBars is the maximum number of bars of a histogram.
const maxBars = 48

// Bars draws a histogram on a logarithmic axis, with its classes merged into bars of
// equal ratio; "" if there is too little to draw.
func Bars(h *finding.Histogram, title string) template.HTML {
	if h == nil || len(h.Seconds) != len(h.Counts) {
		return ""
	}
	var values []float64
	for i, s := range h.Seconds {
		if h.Counts[i] > 0 && s > 0 && !units.Odd(s) {
			values = append(values, s)
		}
	}
	low, high, ok := units.Span(values)
	if !ok || len(values) < 2 || high <= low {
		return ""
	}
	const w, height, top, bottom, left, right = narrow, 200, 10, 34, 44, narrow - side
	ratio := max(math.Pow(high/low, 1./maxBars), math.Pow(2, .25))
	var heights [maxBars + 2]float64
	highest := 0.0
	for i, s := range h.Seconds {
		if n := h.Counts[i]; n > 0 && !units.Odd(s) {
			k := min(max(int(math.Log(max(s, low)/low)/math.Log(ratio)), 0), len(heights)-1)
			heights[k] += float64(n)
			highest = max(highest, heights[k])
		}
	}
	d := Drawing("hist", w, height, title, "from "+units.Duration(low)+" to "+units.Duration(high))
	x, ticks := logarithmic([]float64{low, high * ratio}, left, right)
	y := scale{low: 0, high: highest, from: height - bottom, to: top}
	up, unit := fromZero(highest, 3, thousands)
	for i, label := range tickText(up, unit) {
		d.Line("grid", left, y.at(up[i]), right, y.at(up[i]))
		d.text("tick", "end", left-6, y.at(up[i])+4, label)
	}
	for k, n := range heights {
		if n > 0 {
			from, to := x.at(low*math.Pow(ratio, float64(k))), x.at(low*math.Pow(ratio, float64(k+1)))
			d.rect("held", from, y.at(n), max(to-from-.6, .6), y.from-y.at(n))
		}
	}
	last := math.Inf(-1)
	for _, t := range ticks {
		if at := x.at(t); at-last > 44 {
			d.Line("axis", at, height-bottom, at, height-bottom+5)
			d.text("tick", "middle", at, height-bottom+19, units.Duration(t))
			last = at
		}
	}
	return d.Done()
}

// class returns a class of the style sheet for a setting or a line.
func class(prefix string, kind int) string { return prefix + strconv.Itoa(kind%kinds) }
