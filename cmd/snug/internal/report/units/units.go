// SPDX-License-Identifier: Apache-2.0

// Package units is the one place that prints numbers for people: sizes, durations, rates,
// shares, changes and counts, each with the digits that it deserves. narrow.go has those of narrow columns, gosize.go sizes as GOMEMLIMIT has them.
package units

import (
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/plan"
)

// None is what stands where nothing was measured.
const None = "-"

// Odd reports whether a number cannot be drawn or printed as one.
func Odd(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// Figures prints x with n significant digits and no exponent; digits before the
// point are all kept.
func Figures(x float64, n int) string {
	if Odd(x) {
		return None
	}
	if x == 0 {
		return "0"
	}
	if a := math.Abs(x); a >= 1e15 || a < 1e-9 {
		return strconv.FormatFloat(x, 'g', n, 64)
	}
	rounded := math.Abs(RoundTo(x, n)) // 99.95 has as many digits before the point as 100
	decimals := n - 1 - int(math.Floor(math.Log10(rounded)))
	return strconv.FormatFloat(x, 'f', max(decimals, 0), 64)
}

// Rate prints a number of things per second.
func Rate(x float64) string {
	switch a := math.Abs(x); {
	case Odd(x):
		return None
	case a >= 1e15:
		return Figures(x, 3)
	case a >= 999.5e6:
		return Figures(x/1e9, 3) + " G"
	case a >= 999.5e3:
		return Figures(x/1e6, 3) + " M"
	case a >= 99.95e3:
		return Figures(x/1e3, 3) + " k"
	}
	return Figures(x, 3)
}

// Unit is a scale of a quantity: how much one of it is, and its name.
type Unit struct {
	One  float64
	Name string
}

// Times are the units of durations, from the finest on; sizes those of bytes.
var (
	Times = []Unit{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}}
	Sizes = []Unit{{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}}
)

// Suits is the largest of the units in which x is at least 1; a minute is one
// only from two on, so that 90 s stay 90 s.
func Suits(x float64, of []Unit) Unit {
	best := of[0]
	for _, u := range of[1:] {
		from := u.One * 0.9995
		if u.One >= 60 && of[0].Name == "ns" {
			from = 2 * u.One
		}
		if math.Abs(x) >= from {
			best = u
		}
	}
	return best
}

// In prints x in a unit.
func (u Unit) In(x float64) string {
	if Odd(x) {
		return None
	}
	if x == 0 {
		return "0"
	}
	return Figures(x/u.One, 3) + " " + u.Name
}

// Duration prints seconds with three digits, in the unit that suits them.
func Duration(s float64) string {
	value, unit, _ := strings.Cut(Suits(s, Times).In(s), " ")
	return strings.TrimSuffix(Trim(value)+" "+unit, " ")
}

// Trim takes off zeros after the point, which a sentence can do without.
func Trim(value string) string {
	if !strings.Contains(value, ".") || strings.Contains(value, "e") {
		return value
	}
	return strings.TrimSuffix(strings.TrimRight(value, "0"), ".")
}

// Column prints the values of a column, each in the unit that suits it, so that
// none has zeros to count. nil is none.
func Column(values []*float64, of []Unit) []string {
	return Each(values, func(x float64) string { return Suits(x, of).In(x) })
}

// least is the smallest share that is printed as a number; under is what stands for less.
const least, under = 0.001, "<0.1 %"

// Share prints a ratio as percent with at most three digits.
func Share(r float64) string {
	switch {
	case Odd(r):
		return None
	case r > 0 && r < least:
		return under
	}
	return Trim(Figures(r*100, 3)) + " %"
}

// About prints a ratio as percent for a sentence: two digits, or whole where it has more.
func About(r float64) string {
	if r > 0 && r < least {
		return under
	}
	return Two(r*100) + " %"
}

// Two prints two significant digits, or a whole number where it has more.
func Two(x float64) string {
	if x >= 10 {
		return strconv.FormatFloat(math.Round(x), 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// Change prints a ratio as a difference: +3.5 %, and x12 from three times on.
func Change(ratio float64) string {
	switch {
	case Odd(ratio):
		return None
	case ratio >= 3:
		return "x" + Figures(ratio, 2)
	}
	return Points(ratio) + " %"
}

// Points prints a ratio as a difference in percent, without the sign for it: +3.5, -11.
func Points(ratio float64) string {
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

// ChangeBetween prints a ratio and its interval: -3.5 % [-4.1, -2.9].
func ChangeBetween(ratio, low, high float64) string {
	if Odd(low) || Odd(high) {
		return Change(ratio)
	}
	if ratio >= 3 {
		return Change(ratio) + " [" + Figures(low, 2) + ", " + Figures(high, 2) + "]"
	}
	return Change(ratio) + " [" + Points(low) + ", " + Points(high) + "]"
}

// Number prints at most three decimals.
func Number(x float64) string {
	s := strconv.FormatFloat(x, 'f', 3, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// ChangeSaid prints a ratio and its interval in a sentence: -11 % (95 % interval -13 to -9 %).
func ChangeSaid(ratio float64, low, high *float64) string {
	text := Points(ratio) + " %"
	if low != nil && high != nil {
		text += " (95 % interval " + Points(*low) + " to " + Points(*high) + " %)"
	}
	return text
}

// Exact prints a number with all its digits.
func Exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Plural prints a number of things: 1 run, 2 runs.
func Plural[T int | int64 | float64](n T, word string) string {
	if n != 1 {
		word += "s"
	}
	return Number(float64(n)) + " " + word
}

// Bytes prints bytes for people: 512 MiB, 1.5 GiB.
func Bytes(n int64) string { return plan.Bytes(n) }

// CPUs prints a quota in a sentence; 0 is none.
func CPUs(n float64) string {
	switch n {
	case 0:
		return "no quota"
	case 1:
		return "1 CPU"
	}
	return strconv.FormatFloat(n, 'g', -1, 64) + " CPUs"
}

// List joins parts as a sentence does: a, b and c.
func List(parts []string) string { return ListBy(parts, "and") }

// ListBy joins parts with another word before the last.
func ListBy(parts []string, word string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " " + word + " " + parts[len(parts)-1]
}

// Seconds prints a duration in the unit that suits it.
func Seconds(s float64) string {
	switch {
	case s >= 3600:
		return Number(s/3600) + " h"
	case s >= 1:
		return strings.TrimSuffix(strconv.FormatFloat(s, 'f', 2, 64), ".00") + " s"
	}
	return Number(s*1000) + " ms"
}

// Span is the least and the largest value that can be drawn.
func Span(values []float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !Odd(v) && math.Abs(v) < 1e100 {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high, low <= high
}

// RoundTo takes away what binary fractions add to round numbers.
func RoundTo(x float64, digits int) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return v
}

// Each prints every value, None where there is none.
func Each(values []*float64, print func(float64) string) []string {
	cells := make([]string, len(values))
	for i, v := range values {
		cells[i] = None
		if v != nil {
			cells[i] = print(*v)
		}
	}
	return cells
}
