// SPDX-License-Identifier: Apache-2.0

package report

import (
	"math"
	"strconv"
	"strings"
)

// none is what stands where nothing was measured.
const none = "-"

// odd reports whether a number cannot be drawn or printed as one.
func odd(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// figures prints x with n significant digits and no exponent; digits before the
// point are all kept.
func figures(x float64, n int) string {
	if odd(x) {
		return none
	}
	if x == 0 {
		return "0"
	}
	if a := math.Abs(x); a >= 1e15 || a < 1e-9 {
		return strconv.FormatFloat(x, 'g', n, 64)
	}
	rounded := math.Abs(roundTo(x, n)) // 99.95 has as many digits before the point as 100
	decimals := n - 1 - int(math.Floor(math.Log10(rounded)))
	return strconv.FormatFloat(x, 'f', max(decimals, 0), 64)
}

// rate prints a number of things per second.
func rate(x float64) string {
	switch a := math.Abs(x); {
	case odd(x):
		return none
	case a >= 1e15:
		return figures(x, 3)
	case a >= 999.5e6:
		return figures(x/1e9, 3) + " G"
	case a >= 999.5e3:
		return figures(x/1e6, 3) + " M"
	case a >= 99.95e3:
		return figures(x/1e3, 3) + " k"
	}
	return figures(x, 3)
}

// unit is a scale of a quantity: how much one of it is, and its name.
type unit struct {
	one  float64
	name string
}

// times are the units of durations, from the finest on; sizes those of bytes.
var (
	times = []unit{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}}
	sizes = []unit{{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}}
)

// suits is the largest of the units in which x is at least 1; a minute is one
// only from two on, so that 90 s stay 90 s.
func suits(x float64, of []unit) unit {
	best := of[0]
	for _, u := range of[1:] {
		least := u.one * 0.9995
		if u.one >= 60 && of[0].name == "ns" {
			least = 2 * u.one
		}
		if math.Abs(x) >= least {
			best = u
		}
	}
	return best
}

// in prints x in a unit.
func (u unit) in(x float64) string {
	if odd(x) {
		return none
	}
	if x == 0 {
		return "0"
	}
	return figures(x/u.one, 3) + " " + u.name
}

// duration prints seconds with three digits, in the unit that suits them.
func duration(s float64) string {
	value, unit, _ := strings.Cut(suits(s, times).in(s), " ")
	return strings.TrimSuffix(trim(value)+" "+unit, " ")
}

// trim takes off zeros after the point, which a sentence can do without.
func trim(value string) string {
	if !strings.Contains(value, ".") || strings.Contains(value, "e") {
		return value
	}
	return strings.TrimSuffix(strings.TrimRight(value, "0"), ".")
}

// column prints the values of a column, each in the unit that suits it, so that
// none has zeros to count. nil is none.
func column(values []*float64, of []unit) []string {
	return each(values, func(x float64) string { return suits(x, of).in(x) })
}

// share prints a ratio as percent with at most three digits.
func share(r float64) string {
	switch {
	case odd(r):
		return none
	case r > 0 && r < 0.001:
		return "<0.1 %"
	}
	return trim(figures(r*100, 3)) + " %"
}

// change prints a ratio as a difference: +3.5 %, and x12 from three times on.
func change(ratio float64) string {
	switch {
	case odd(ratio):
		return none
	case ratio >= 3:
		return "x" + figures(ratio, 2)
	}
	return points(ratio) + " %"
}

func points(ratio float64) string {
	p := (ratio - 1) * 100
	decimals := 1
	if math.Abs(p) >= 9.95 {
		decimals = 0
	}
	s := strconv.FormatFloat(p, 'f', decimals, 64)
	switch {
	case strings.Trim(s, "-0.") == "":
		return "0"
	case p > 0:
		return "+" + s
	}
	return s
}

// changeBetween prints a ratio and its interval: -3.5 % [-4.1, -2.9].
func changeBetween(ratio, low, high float64) string {
	if odd(low) || odd(high) {
		return change(ratio)
	}
	if ratio >= 3 {
		return change(ratio) + " [" + figures(low, 2) + ", " + figures(high, 2) + "]"
	}
	return change(ratio) + " [" + points(low) + ", " + points(high) + "]"
}
