// SPDX-License-Identifier: Apache-2.0

package report

import (
	"html/template"
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// lines are figures over time on one scale from zero.
type lines struct {
	title     string
	step, end float64 // seconds
	high      float64 // of the scale; 0 is what the values need
	of        []unit  // nil is percent
	all       []plotted
}

// plotted is one line: so many values to each step.
type plotted struct {
	name   string
	kind   int
	values []float64
	per    int
	dashed bool
}

func (l lines) any() bool {
	for _, p := range l.all {
		if len(p.values) > p.per {
			return l.step > 0 && l.end > 0
		}
	}
	return false
}

func (l lines) figure(caption string) *figure {
	return &figure{Title: l.title, Caption: caption, Charts: []template.HTML{l.chart(wide, 260, "wide"), l.chart(narrow, 240, "narrow")}}
}

func (l lines) chart(w, h float64, size string) template.HTML {
	const top, bottom, left = 12, 34, 62
	right := w - 100
	high := l.high
	if high == 0 {
		for _, p := range l.all {
			if _, most, ok := span(p.values); ok {
				high = max(high, most*1.05)
			}
		}
	}
	if high == 0 {
		high = 1
	}
	x := scale{low: 0, high: l.end, from: left, to: right}
	y := scale{low: 0, high: high, from: h - bottom, to: top}
	desc := ""
	for _, p := range l.all {
		if low, most, ok := span(p.values); ok {
			desc += p.name + " from " + l.value(low) + " to " + l.value(most) + ". "
		}
	}
	d := drawing("course "+size, w, h, l.title+" over "+duration(l.end), desc)
	ticks := fromZero(high, 4, l.of)
	labels := make([]string, len(ticks))
	if l.of != nil {
		labels = tickText(ticks, l.of)
	}
	for i, t := range ticks {
		if l.of == nil {
			labels[i] = share(t)
		}
		d.line("grid", left, y.at(t), right, y.at(t))
		d.text("tick", "end", left-8, y.at(t)+4, labels[i])
	}
	some := 6
	if w < 500 {
		some = 3
	}
	across := fromZero(l.end, some, times)
	for i, label := range tickText(across, times) {
		d.line("axis", x.at(across[i]), h-bottom, x.at(across[i]), h-bottom+5)
		d.text("tick", "middle", x.at(across[i]), h-bottom+19, label)
	}
	var ends []float64
	for _, p := range l.all {
		if n := len(p.values); n > 0 {
			ends = append(ends, y.at(p.values[n-1]))
		} else {
			ends = append(ends, 0)
		}
	}
	at := apart(ends, 16, top+4, h-bottom)
	for i, p := range l.all {
		if len(p.values) == 0 {
			continue
		}
		points := make([][2]float64, len(p.values))
		for k, v := range p.values {
			points[k] = [2]float64{x.at(min((float64(k/p.per)+.5)*l.step, l.end)), y.at(v)}
		}
		look := class("curve s", p.kind)
		if p.dashed {
			look += " d1"
		}
		d.path(look, thin(points))
		if last := points[len(points)-1]; last[0] < right-1 { // a trace that is shorter than the other
			d.line("leader", last[0], last[1], right, ends[i])
		}
		d.path(class("curve s", p.kind), [][2]float64{{right + 2, ends[i]}, {right + 9, at[i]}}) // which line the name is of
		d.text("label", "start", right+13, at[i]+4, p.name)
	}
	return d.done()
}

func (l lines) value(x float64) string {
	if l.of == nil {
		return share(x)
	}
	return suits(x, l.of).in(x)
}

// apart is spread for heights in any order.
func apart(wanted []float64, least, low, high float64) []float64 {
	if len(wanted) == 2 && wanted[0] > wanted[1] {
		s := spread([]float64{wanted[1], wanted[0]}, least, low, high)
		return []float64{s[1], s[0]}
	}
	return spread(wanted, least, low, high)
}

// fromZero are about n round ticks from zero up, round in the unit that suits them.
func fromZero(high float64, n int, of []unit) []float64 {
	one := 1.0
	if of != nil {
		one = suits(high/2, of).one
	}
	step := nice(high/one/float64(n)) * one
	var ticks []float64
	for k := 0; k <= 4*n && float64(k)*step <= high*(1+1e-9); k++ {
		ticks = append(ticks, float64(k)*step)
	}
	return ticks
}

// thousands are the units of numbers of things.
var thousands = []unit{{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}}

// mostBars is how many bars a histogram has at most.
const mostBars = 48

// bars draws a histogram on a logarithmic axis, its classes put together to bars of the
// same ratio; "" when there is too little to draw.
func bars(h *finding.Histogram, title string) template.HTML {
	if h == nil || len(h.Seconds) != len(h.Counts) {
		return ""
	}
	var values []float64
	for i, s := range h.Seconds {
		if h.Counts[i] > 0 && s > 0 && !odd(s) {
			values = append(values, s)
		}
	}
	low, high, ok := span(values)
	if !ok || len(values) < 2 || high <= low {
		return ""
	}
	const w, height, top, bottom, left, right = narrow, 200, 10, 34, 44, narrow - 6
	ratio := max(math.Pow(high/low, 1./mostBars), math.Pow(2, .25))
	var heights [mostBars + 2]float64
	most := 0.0
	for i, s := range h.Seconds {
		if n := h.Counts[i]; n > 0 && !odd(s) {
			k := min(max(int(math.Log(max(s, low)/low)/math.Log(ratio)), 0), len(heights)-1)
			heights[k] += float64(n)
			most = max(most, heights[k])
		}
	}
	d := drawing("hist", w, height, title, "from "+duration(low)+" to "+duration(high))
	x, ticks := logarithmic([]float64{low, high * ratio}, left, right)
	y := scale{low: 0, high: most, from: height - bottom, to: top}
	up := fromZero(most, 3, thousands)
	for i, label := range tickText(up, thousands) {
		d.line("grid", left, y.at(up[i]), right, y.at(up[i]))
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
			d.line("axis", at, height-bottom, at, height-bottom+5)
			d.text("tick", "middle", at, height-bottom+19, duration(t))
			last = at
		}
	}
	return d.done()
}
