// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// plot draws lines, areas and points in panels below each other, over one axis and with one key.
type plot struct {
	class       string
	title, desc string // for screen readers
	x           axis
	under       string // what the axis is of
	marks       []mark // lines through all panels
	panels      []panel
}

type panel struct {
	head   string  // above it
	beside string  // instead of the labels of y
	height float64 // in pixels
	y      axis
	lines  []line
	dots   []dot
}

// line is a line with an area around it. NaN is a gap.
type line struct {
	name       string // in the key, once for all lines of this name
	kind       int    // of its colour and dash
	area       string // class of an area without a line
	x, y       []float64
	lows, tops []float64 // of the area; nil = none
}

// dot is a circle with words: a number in a large one, or else a label above.
type dot struct {
	class, words string
	x, y, r      float64
}

// numbered is the radius of a dot with a number in it.
const numbered = 9

func (l *line) class() string {
	n := strconv.Itoa(l.kind % kinds)
	return "curve s" + n + " d" + n
}

// both draws for a screen and for a phone.
func (p *plot) both() []template.HTML {
	return []template.HTML{p.draw(wide, " wide"), p.draw(narrow, " narrow")}
}

func (p *plot) draw(w float64, size string) template.HTML {
	d := Drawing(p.class+size, w, p.title, p.desc)
	x := p.x.between(76, w-26)
	entries := keyOf(p.marks, &x)
	for i := range p.panels {
		for k := range p.panels[i].lines {
			l := &p.panels[i].lines[k]
			e := entry{l.name, l.class(), false}
			if l.area != "" {
				e = entry{l.name, l.area, true}
			}
			if !slices.ContainsFunc(entries, func(o entry) bool { return o.name == l.name }) {
				entries = append(entries, e)
			}
		}
	}
	bottom := d.key(entries)
	for i := range p.panels {
		bottom = p.panels[i].draw(d, &x, p.marks, bottom)
	}
	for _, t := range x.ticks {
		d.text("tick", "middle", x.at(t.at), bottom+17, t.label)
	}
	if p.under != "" {
		bottom += 18
		d.text("tick", "end", x.to+24, bottom+17, p.under)
	}
	return d.Done(bottom + 24)
}

// draw draws a panel below top, and returns where it ends.
func (q *panel) draw(d *svg, x *axis, marks []mark, top float64) float64 {
	top += 8
	if q.head != "" {
		d.text("head", "start", 2, top+12, q.head)
		top += 22
	}
	y := q.y
	y.from, y.to = top+q.height, top
	d.text("tick", "end", x.from-8, top+q.height/2+4, q.beside)
	if len(q.lines) == 0 && len(q.dots) == 0 {
		d.text("tick", "start", x.from, top+q.height/2, "not measured")
		y.ticks = nil
	}
	for _, t := range x.ticks {
		d.Line("grid", x.at(t.at), y.from, x.at(t.at), y.to)
	}
	for _, t := range y.ticks {
		d.Line("grid", x.from, y.at(t.at), x.to, y.at(t.at))
		d.text("tick", "end", x.from-8, y.at(t.at)+4, t.label)
	}
	d.Line("axis", x.from, y.from, x.to, y.from)
	for _, m := range marks {
		d.Line(m.class, x.at(m.at), y.from, x.at(m.at), y.to)
	}
	for i := range q.lines {
		q.lines[i].draw(d, x, &y)
	}
	q.drawDots(d, x, &y)
	return y.from
}

func (l *line) draw(d *svg, x, y *axis) {
	for from := 0; from < len(l.x); {
		to := from
		for to < len(l.x) && !units.Odd(l.y[to]) {
			to++
		}
		var points, area [][2]float64
		apart := false
		for i := from; i < to; i++ {
			at := [2]float64{x.at(l.x[i]), y.at(l.y[i])}
			// What lies less than a pixel from the point before is not seen.
			if n := len(points); n == 0 || i == to-1 || math.Abs(at[0]-points[n-1][0])+math.Abs(at[1]-points[n-1][1]) >= 1 {
				points = append(points, at)
			}
			if l.tops != nil {
				area = append(area, [2]float64{at[0], y.at(l.tops[i])})
				apart = apart || l.tops[i] > l.lows[i]
			}
		}
		for i := to - 1; i >= from && apart; i-- {
			area = append(area, [2]float64{x.at(l.x[i]), y.at(l.lows[i])})
		}
		switch {
		case !apart:
		case l.area != "":
			d.Path(l.area, area)
		default:
			d.Path("shade k"+strconv.Itoa(l.kind%kinds), area)
		}
		if l.area == "" {
			d.Path(l.class(), points)
		}
		from = to + 1
	}
}

// drawDots draws the points. One with a number stands beside its place if others are there.
func (q *panel) drawDots(d *svg, x, y *axis) {
	var discs [][2]float64
	for _, o := range q.dots {
		at := [2]float64{x.at(o.x), y.at(o.y)}
		if o.r != numbered {
			d.circle(o.class, at[0], at[1], o.r)
			d.text("label", "middle", at[0], at[1]-o.r-5, o.words)
			continue
		}
		free := apartFrom(discs, at, [4]float64{x.from + 10, y.to, x.to, y.from - 10})
		if free != at {
			d.circle(o.class, at[0], at[1], 3)
			d.Line("leader", at[0], at[1], free[0], free[1])
		}
		discs = append(discs, free)
		d.circle(o.class, free[0], free[1], numbered)
		d.text("number", "middle", free[0], free[1]+4, o.words)
	}
}

// apartFrom returns a place near the wanted one for a disc with a number that is in a box, left,
// top, right and bottom, and does not cover others.
func apartFrom(others [][2]float64, wanted [2]float64, box [4]float64) [2]float64 {
	covers := func(at [2]float64) bool {
		return slices.ContainsFunc(others, func(o [2]float64) bool { return math.Hypot(o[0]-at[0], o[1]-at[1]) < 20 })
	}
	for away := 0.0; away < 120 && covers(wanted); away += 10 {
		for turn := range 12 {
			angle := float64(turn) * math.Pi / 6
			at := [2]float64{wanted[0] + away*math.Cos(angle), wanted[1] - away*math.Sin(angle)}
			if at[0] >= box[0] && at[1] >= box[1] && at[0] <= box[2] && at[1] <= box[3] && !covers(at) {
				return at
			}
		}
	}
	return wanted
}

// axis maps a quantity to a coordinate of a drawing, with labels at round numbers.
type axis struct {
	low, high float64 // of the quantity
	from, to  float64 // of the drawing
	log       bool
	ticks     []tick
}

type tick struct {
	at    float64
	label string
}

// at returns the coordinate of x; values outside the axis are drawn at the edge.
func (a *axis) at(x float64) float64 {
	low, high := a.low, a.high
	if a.log {
		low, high, x = math.Log10(low), math.Log10(high), math.Log10(max(x, math.SmallestNonzeroFloat64))
	}
	if units.Odd(x) || !(high > low) {
		return a.from
	}
	return a.from + min(max((x-low)/(high-low), 0), 1)*(a.to-a.from)
}

// between places a horizontal axis, without the ticks whose labels would lie over the one before.
func (a axis) between(from, to float64) axis {
	all, last := a.ticks, math.Inf(-1)
	a.from, a.to, a.ticks = from, to, nil
	for _, t := range all {
		if w := textWidth(t.label)/2 + 3; a.at(t.at)-w > last {
			a.ticks, last = append(a.ticks, t), a.at(t.at)+w
		}
	}
	return a
}

// mark sets ticks at multiples of a round number of the unit that suits the axis, about n; of is
// nil for plain numbers.
func (a axis) mark(n int, of []units.Unit) axis {
	unit := units.Unit{One: 1}
	if len(of) > 0 {
		unit = units.Suits(max(math.Abs(a.low), math.Abs(a.high))/2, of)
	}
	step := nice((a.high-a.low)/unit.One/float64(n)) * unit.One
	for k := math.Ceil(a.low / step); k*step <= a.high*(1+1e-9) && len(a.ticks) < 4*n; k++ {
		label := "0"
		if k != 0 {
			label = strings.TrimSpace(units.Exact(units.RoundTo(k*step/unit.One, 6)) + " " + unit.Name)
		}
		a.ticks = append(a.ticks, tick{k * step, label})
	}
	return a
}

// fromZero returns an axis from zero up.
func fromZero(high float64, n int, of []units.Unit) axis {
	if !(high > 0) {
		return axis{high: 1, ticks: []tick{{0, "0"}}}
	}
	return axis{high: high}.mark(n, of)
}

// linear returns an axis around values. It need not begin at zero, because it shows positions, not
// lengths of bars.
func linear(values []float64, n int, of []units.Unit) axis {
	low, high, ok := units.Span(values)
	if !ok {
		return axis{high: 1}
	}
	pad := max((high-low)*.06, math.Abs(high)*.02) // do not magnify noise
	if pad == 0 {
		pad = 1
	}
	if low -= pad; low < 0 && low+pad >= 0 {
		low = 0
	}
	return axis{low: low, high: high + pad}.mark(n, of)
}

// logarithmic returns an axis around positive values, with ticks at 1, 2 and 5 of
// each decade, or only at 1 if there are many decades.
func logarithmic(values []float64, print func(float64) string) axis {
	var positive []float64
	for _, v := range values {
		if v > 0 {
			positive = append(positive, v)
		}
	}
	low, high, ok := units.Span(positive)
	if !ok {
		return axis{low: 1, high: 10, log: true}
	}
	low, high = low/1.15, high*1.15
	if high/low < 3 {
		middle := math.Sqrt(low) * math.Sqrt(high)
		low, high = middle/1.8, middle*1.8
	}
	a := axis{low: low, high: high, log: true}
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	marks, every := []float64{1, 2, 5}, 1
	if math.Log10(high)-math.Log10(low) > 3.2 {
		marks, every = marks[:1], (last-first)/8+1
	}
	for e := first; e <= last; e += every {
		for _, m := range marks {
			if v := m * math.Pow10(e); v >= low && v <= high {
				a.ticks = append(a.ticks, tick{v, print(v)})
			}
		}
	}
	return a
}

// nice returns the next step above x of 1, 2 or 5 times a power of ten.
func nice(x float64) float64 {
	if units.Odd(x) || x <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(x)))
	for _, m := range []float64{1, 2, 5} {
		if x <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// ratios returns an axis of ratios that contains 1: in percent of difference, or logarithmic in
// multiples if the ratios are far apart.
func ratios(values []float64) axis {
	low, high := 1.0, 1.0
	for _, v := range values {
		if v > 0 && !units.Odd(v) {
			low, high = min(low, max(v, 1e-6)), max(high, min(v, 1e6))
		}
	}
	if high >= 2.5 || low <= .2 {
		return logarithmic([]float64{low, high}, func(x float64) string { return "x" + strconv.FormatFloat(x, 'g', 3, 64) })
	}
	a := linear([]float64{low, high}, 4, nil)
	for i := range a.ticks {
		a.ticks[i].label = minus(units.Change(units.RoundTo(a.ticks[i].at, 6)))
	}
	return a
}

// minus turns hyphens into minus signs.
func minus(s string) string { return strings.ReplaceAll(s, "-", "\u2212") }

// percent is the unit of shares.
var percent = []units.Unit{{One: .01, Name: "%"}}
