// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// scale maps a quantity to a coordinate of a drawing.
type scale struct {
	low, high float64 // of the quantity
	from, to  float64 // of the drawing
	log       bool
	unit      units.Unit // of the ticks
}

// at returns the coordinate of x; values outside the scale are drawn at the edge.
func (s scale) at(x float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, x = math.Log10(low), math.Log10(high), math.Log10(max(x, math.SmallestNonzeroFloat64))
	}
	if units.Odd(x) || high <= low {
		return s.from
	}
	return s.from + min(max((x-low)/(high-low), 0), 1)*(s.to-s.from)
}

// linear returns a scale around values with about n ticks at round numbers of the unit that
// suits them; of is nil for plain numbers. It need not begin at zero, because it shows
// positions, not lengths of bars.
func linear(values []float64, n int, from, to float64, of []units.Unit) (scale, []float64) {
	low, high, ok := units.Span(values)
	if !ok {
		return scale{low: 0, high: 1, from: from, to: to, unit: unitOf(1, of)}, nil
	}
	pad := (high - low) * .06
	if high-low < math.Abs(high)*.02 { // do not magnify noise
		pad = math.Abs(high) * .02
	}
	if pad == 0 {
		pad = 1
	}
	if low-pad < 0 && low >= 0 {
		low = 0
	} else {
		low -= pad
	}
	high += pad
	s := scale{low: low, high: high, from: from, to: to, unit: unitOf(max(math.Abs(low), math.Abs(high)), of)}
	step := nice((high-low)/s.unit.One/float64(max(n, 1))) * s.unit.One
	var ticks []float64
	for k := math.Ceil(low / step); k*step <= high && len(ticks) < 4*n; k++ {
		ticks = append(ticks, k*step)
	}
	return s, ticks
}

// logarithmic returns a scale around positive values, with ticks at 1, 2 and 5 of
// each decade, or only at 1 if there are many decades.
func logarithmic(values []float64, from, to float64) (scale, []float64) {
	var positive []float64
	for _, v := range values {
		if v > 0 {
			positive = append(positive, v)
		}
	}
	low, high, ok := units.Span(positive)
	if !ok {
		return scale{low: 1, high: 10, from: from, to: to, log: true}, nil
	}
	low, high = low/1.15, high*1.15
	if high/low < 3 {
		middle := math.Sqrt(low) * math.Sqrt(high)
		low, high = middle/1.8, middle*1.8
	}
	s := scale{low: low, high: high, from: from, to: to, log: true}
	first, last := int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))
	marks := []float64{1, 2, 5}
	every := 1
	if math.Log10(high)-math.Log10(low) > 3.2 {
		marks = marks[:1]
		every = (last-first)/8 + 1
	}
	var ticks []float64
	for e := first; e <= last; e += every {
		for _, m := range marks {
			if v := m * math.Pow10(e); v >= low && v <= high {
				ticks = append(ticks, v)
			}
		}
	}
	return s, ticks
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

// unitOf returns the unit for the ticks of an axis up to high.
func unitOf(high float64, of []units.Unit) units.Unit {
	if len(of) == 0 {
		return units.Unit{One: 1}
	}
	return units.Suits(high/2, of)
}

// tickText formats the ticks of an axis in one unit, with as few digits as possible.
func tickText(ticks []float64, u units.Unit) []string {
	texts := make([]string, len(ticks))
	for i, t := range ticks {
		texts[i] = "0"
		if math.Abs(t) > 1e-12*u.One {
			texts[i] = strings.TrimSpace(strconv.FormatFloat(units.RoundTo(t/u.One, 6), 'f', -1, 64) + " " + u.Name)
		}
	}
	return texts
}

// ratioScale returns a scale of ratios that contains 1, and its ticks: in percent of difference,
// or logarithmic in multiples if the ratios are far apart.
func ratioScale(values []float64, from, to float64) (scale, []float64, []string) {
	low, high := 1.0, 1.0
	for _, v := range values {
		if v > 0 && !units.Odd(v) {
			low, high = min(low, max(v, 1e-6)), max(high, min(v, 1e6))
		}
	}
	if high < 2.5 && low > .2 {
		s, ticks := linear([]float64{low, high}, 4, from, to, nil)
		labels := make([]string, len(ticks))
		for i, t := range ticks {
			labels[i] = strings.ReplaceAll(units.Change(units.RoundTo(t, 6)), "-", "\u2212")
		}
		return s, ticks, labels
	}
	s, all := logarithmic([]float64{low, high}, from, to)
	var ticks []float64
	var labels []string
	last := math.Inf(-1)
	for _, t := range all {
		if at := s.at(t); t == 1 || at-last >= 34 && math.Abs(at-s.at(1)) >= 34 {
			ticks, labels, last = append(ticks, t), append(labels, "x"+units.Exact(units.RoundTo(t, 3))), at
		}
	}
	return s, ticks, labels
}
