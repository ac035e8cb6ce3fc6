// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

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
