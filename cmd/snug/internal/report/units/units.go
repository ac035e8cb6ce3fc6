// SPDX-License-Identifier: Apache-2.0

// Package units formats all numbers for people: sizes, durations, rates, shares, changes
// and counts, with suitable digits.
package units

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/internal/plan"
)

// None is shown where nothing was measured.
const None = "-"

// Odd reports whether x is NaN or infinite, and so cannot be drawn or printed.
func Odd(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }

// Figures formats x with n significant digits and no exponent; it keeps all digits
// before the point.
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

// Rate formats a number per second.
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

// Unit is a unit of a quantity, with its size in base units and its name.
type Unit struct {
	One  float64
	Name string
}

// Times are the units of durations in seconds, Sizes those of bytes, in ascending order.
var (
	Times = []Unit{{1e-9, "ns"}, {1e-6, "µs"}, {1e-3, "ms"}, {1, "s"}, {60, "min"}, {3600, "h"}}
	Sizes = []Unit{{1, "B"}, {1 << 10, "KiB"}, {1 << 20, "MiB"}, {1 << 30, "GiB"}, {1 << 40, "TiB"}}
)

// Suits returns the largest unit in which x is at least 1, or at least 2 for minutes and
// hours, so that 90 s stays 90 s.
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

// In formats x in a unit.
func (u Unit) In(x float64) string {
	if Odd(x) {
		return None
	}
	if x == 0 {
		return "0"
	}
	return Figures(x/u.One, 3) + " " + u.Name
}

// Duration formats seconds with three digits, in the unit that suits them.
func Duration(s float64) string {
	value, unit, _ := strings.Cut(Suits(s, Times).In(s), " ")
	return strings.TrimSuffix(Trim(value)+" "+unit, " ")
}

// Days formats a time in days for which something was seen, in whole minutes, hours or days.
func Days(n float64) string {
	unit := " days"
	switch {
	case n < 2.0/24:
		n, unit = 24*60*n, " min"
	case n < 2:
		n, unit = 24*n, " h"
	}
	return strconv.FormatFloat(n, 'f', 0, 64) + unit
}

// Trim removes trailing zeros after the point, for sentences.
func Trim(value string) string {
	if !strings.Contains(value, ".") || strings.Contains(value, "e") {
		return value
	}
	return strings.TrimSuffix(strings.TrimRight(value, "0"), ".")
}

// Column formats the values of a column, each in the unit that suits it. A nil value is None.
func Column(values []*float64, of []Unit) []string {
	return Each(values, func(x float64) string { return Suits(x, of).In(x) })
}

// minShare is the smallest share shown as a number; under is shown for less.
const minShare, under = 0.001, "<0.1 %"

// Share formats a ratio as percent with at most three digits.
func Share(r float64) string {
	switch {
	case Odd(r):
		return None
	case r > 0 && r < minShare:
		return under
	}
	return Trim(Figures(r*100, 3)) + " %"
}

// About formats a ratio as percent for a sentence: two digits, or a whole number from 10 on.
func About(r float64) string {
	if r > 0 && r < minShare {
		return under
	}
	return Two(r*100) + " %"
}

// Two formats x with two significant digits, or as a whole number from 10 on.
func Two(x float64) string {
	if x >= 10 {
		return strconv.FormatFloat(math.Round(x), 'f', -1, 64)
	}
	return strconv.FormatFloat(x, 'g', 2, 64)
}

// Change formats a ratio as a difference: +3.5 %, or x12 from a ratio of 3 on.
func Change(ratio float64) string {
	switch {
	case Odd(ratio):
		return None
	case ratio >= 3:
		return "x" + Figures(ratio, 2)
	}
	return Points(ratio) + " %"
}

// Points formats a ratio as a difference in percent, without the % sign: +3.5, -11.
func Points(ratio float64) string {
	p := (ratio - 1) * 100
	decimals := 1
	if math.Abs(p) >= 9.95 {
		decimals = 0
	}
	return Signed(strconv.FormatFloat(p, 'f', decimals, 64), p)
}

// Signed adds a plus to the text of x if it is above 0, and returns 0 for one that is rounded to it.
func Signed(text string, x float64) string {
	switch {
	case strings.Trim(text, "-0.") == "":
		return "0"
	case x > 0:
		return "+" + text
	}
	return text
}

// ChangeBetween formats a ratio and its interval: -3.5 % [-4.1, -2.9].
func ChangeBetween(ratio, low, high float64) string {
	if Odd(low) || Odd(high) {
		return Change(ratio)
	}
	if ratio >= 3 {
		return Change(ratio) + " [" + Figures(low, 2) + ", " + Figures(high, 2) + "]"
	}
	return Change(ratio) + " [" + Points(low) + ", " + Points(high) + "]"
}

// Between formats the interval of a ratio: -3.5 to +2 %, or x0.8 to x12.
func Between(low, high float64) string {
	if high >= 3 {
		return "x" + Figures(low, 2) + " to x" + Figures(high, 2)
	}
	return Points(low) + " to " + Points(high) + " %"
}

// Number formats x with at most three decimals.
func Number(x float64) string { return Trim(strconv.FormatFloat(x, 'f', 3, 64)) }

// ChangeSaid formats a ratio and its interval for a sentence: -11 % (95 % interval -13 to -9 %).
func ChangeSaid(ratio float64, low, high *float64) string {
	text := Points(ratio) + " %"
	if low != nil && high != nil {
		text += " (95 % interval " + Points(*low) + " to " + Points(*high) + " %)"
	}
	return text
}

// Exact formats a number with all its digits.
func Exact(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }

// Plural formats a count: 1 run, 2 runs, 2 processes.
func Plural[T int | int64 | float64](n T, word string) string {
	if n != 1 {
		word += If(strings.HasSuffix(word, "s"), "e") + "s"
	}
	return Number(float64(n)) + " " + word
}

// Bytes formats bytes for people: 512 MiB, 1.5 GiB.
func Bytes(n int64) string { return plan.Bytes(n) }

// CPUs formats a quota; 0 is none.
func CPUs(n float64) string {
	if n == 0 {
		return "no quota"
	}
	return Plural(n, "CPU")
}

// Join joins the texts that are not empty.
func Join(by string, texts ...string) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" }), by)
}

// If returns a text if it is true; else "".
func If(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

// List joins parts as in a sentence: a, b and c.
func List(parts []string) string { return ListBy(parts, "and") }

// ListBy joins parts with word before the last.
func ListBy(parts []string, word string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " " + word + " " + parts[len(parts)-1]
}

// Seconds formats a duration in hours, seconds or milliseconds.
func Seconds(s float64) string {
	switch {
	case s >= 3600:
		return Number(s/3600) + " h"
	case s >= 1:
		return strings.TrimSuffix(strconv.FormatFloat(s, 'f', 2, 64), ".00") + " s"
	}
	return Number(s*1000) + " ms"
}

// Span returns the minimum and maximum of the values that can be drawn; ok = there are any.
func Span(values []float64) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if !Odd(v) && math.Abs(v) < 1e100 {
			low, high = min(low, v), max(high, v)
		}
	}
	return low, high, low <= high
}

// RoundTo rounds x to digits significant digits.
func RoundTo(x float64, digits int) float64 {
	v, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', digits, 64), 64)
	if err != nil {
		return x
	}
	return v
}

// Each formats every value; nil is None.
func Each(values []*float64, print func(float64) string) []string {
	return Texts(values, func(v *float64) string {
		if v == nil {
			return None
		}
		return print(*v)
	})
}

// Texts formats every value.
func Texts[T any](values []T, print func(T) string) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = print(v)
	}
	return all
}

const mib = 1 << 20

// GoBytes formats a size in the shortest form that GOMEMLIMIT allows: 124MiB, 1000B.
func GoBytes(n int64) string {
	if n%mib == 0 {
		return strconv.FormatInt(n/mib, 10) + "MiB"
	}
	return strconv.FormatInt(n, 10) + "B"
}

// GoMebibytes formats a size for GOMEMLIMIT: from 16 MiB on rounded down to whole MiB,
// where 1 MiB does not matter, and below that in bytes.
func GoMebibytes(n int64) string {
	if n >= 16*mib {
		return strconv.FormatInt(n/mib, 10) + "MiB"
	}
	return strconv.FormatInt(n, 10)
}

// ParseGoBytes parses a size in the syntax of GOMEMLIMIT: digits, then B, KiB, MiB, GiB,
// TiB or nothing.
func ParseGoBytes(text string) (int64, bool) { return plan.ParseGoBytes(text) }

// narrowScaled formats a number with a letter for its scale, in at most five cells up
// to 1000 of the largest scale: 999, 1.5k, 12k.
func narrowScaled(x, step float64, letters string) string {
	if Odd(x) {
		return "?"
	}
	i := -1
	for math.Abs(x) >= step*0.9995 && i < len(letters)-1 {
		x, i = x/step, i+1
	}
	if i < 0 {
		return strconv.FormatFloat(x, 'f', 0, 64)
	}
	decimals := 0
	if math.Abs(x) < 9.95 {
		decimals = 1
	}
	return strconv.FormatFloat(x, 'f', decimals, 64) + letters[i:i+1]
}

// NarrowBytes formats bytes in at most five cells, in powers of 1024: 812B, 1.5M, 1023K.
func NarrowBytes(n int64) string {
	if n >= 0 && n < 1000 {
		return strconv.FormatInt(n, 10) + "B"
	}
	return narrowScaled(float64(n), 1024, "KMGTPE")
}

// NarrowCount formats a number in at most the given number of cells.
func NarrowCount(x float64, cells int) string {
	if x < 9.95 && x > 0 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	if s := strconv.FormatFloat(x, 'f', 0, 64); len(s) <= cells {
		return s
	}
	return narrowScaled(x, 1000, "kMGTPE")
}

// NarrowShare formats a share of 0 to 1 in percent, without the % sign, in at most four cells.
func NarrowShare(x float64) string {
	switch {
	case math.IsNaN(x):
		return "?"
	case x > 0 && x < 0.0005:
		return "<.1"
	case x > 0 && x < 0.0995:
		return strconv.FormatFloat(x*100, 'f', 1, 64)
	}
	return strconv.FormatFloat(x*100, 'f', 0, 64)
}

// NarrowNumber formats a number in at most five cells, without trailing zeros.
func NarrowNumber(x float64) string { return Trim(NarrowFixed(x, 5)) }

// NarrowDuration formats seconds in at most six cells; micro is the sign for microseconds.
func NarrowDuration(s float64, micro string) string {
	switch {
	case Odd(s):
		return "?"
	case s <= 0:
		return "0"
	case s < 1e-6:
		return "<1" + micro
	case s < 999.5e-6:
		return strconv.FormatFloat(s*1e6, 'f', 0, 64) + micro
	case s < 9.95e-3:
		return strconv.FormatFloat(s*1e3, 'f', 1, 64) + "ms"
	case s < 999.5e-3:
		return strconv.FormatFloat(s*1e3, 'f', 0, 64) + "ms"
	case s < 99.5:
		return strconv.FormatFloat(s, 'f', 1, 64) + "s"
	}
	return narrowScaled(s, 1000, "kMGTPE") + "s"
}

// NarrowFixed formats a number in at most the given number of cells, with at most two decimals.
func NarrowFixed(x float64, cells int) string {
	if Odd(x) {
		return "?"
	}
	for decimals := 2; decimals >= 0; decimals-- {
		if s := strconv.FormatFloat(x, 'f', decimals, 64); len(s) <= cells {
			return s
		}
	}
	return narrowScaled(x, 1000, "kMGTPE")
}
