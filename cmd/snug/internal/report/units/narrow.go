// SPDX-License-Identifier: Apache-2.0

package units

import (
	"math"
	"strconv"
	"strings"
)

// narrowScaled formats a number with a letter for its scale, in at most five cells up
// to 1000 of the largest scale: 999, 1.5k, 12k.
func narrowScaled(x, step float64, letters string) string {
	if math.IsNaN(x) || math.IsInf(x, 0) {
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
func NarrowNumber(x float64) string {
	s := NarrowFixed(x, 5)
	if strings.Contains(s, ".") && !strings.ContainsAny(s, "kMGTPE") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// NarrowDuration formats seconds in at most six cells; micro is the sign for microseconds.
func NarrowDuration(s float64, micro string) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
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
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return "?"
	}
	for decimals := 2; decimals >= 0; decimals-- {
		if s := strconv.FormatFloat(x, 'f', decimals, 64); len(s) <= cells {
			return s
		}
	}
	return narrowScaled(x, 1000, "kMGTPE")
}
