// SPDX-License-Identifier: Apache-2.0

package top

import (
	"math"
	"strconv"
	"strings"

	"github.com/clipperhouse/displaywidth"
)

// scaled is a number with a letter for its scale, in at most five cells below
// 1000 of the largest: 999, 1.5k, 12k.
func scaled(x, step float64, letters string) string {
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

// size is a number of bytes in at most five cells, in powers of 1024: 812B, 1.5M, 1023K.
func size(n int64) string {
	if n >= 0 && n < 1000 {
		return strconv.FormatInt(n, 10) + "B"
	}
	return scaled(float64(n), 1024, "KMGTPE")
}

// count is a number in at most so many cells.
func count(x float64, cells int) string {
	if x < 9.95 && x > 0 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	if s := strconv.FormatFloat(x, 'f', 0, 64); len(s) <= cells {
		return s
	}
	return scaled(x, 1000, "kMGTPE")
}

// percent is a share of 0 to 1, without the sign, in at most four cells.
func percent(x float64) string {
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

// short is a number without zeros behind the point, in at most five cells.
func short(x float64) string {
	s := fixed(x, 5)
	if strings.Contains(s, ".") && !strings.ContainsAny(s, "kMGTPE") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// duration is seconds in at most six cells.
func (g *glyphs) duration(s float64) string {
	switch {
	case math.IsNaN(s) || math.IsInf(s, 0):
		return "?"
	case s <= 0:
		return "0"
	case s < 1e-6:
		return "<1" + g.micro
	case s < 999.5e-6:
		return strconv.FormatFloat(s*1e6, 'f', 0, 64) + g.micro
	case s < 9.95e-3:
		return strconv.FormatFloat(s*1e3, 'f', 1, 64) + "ms"
	case s < 999.5e-3:
		return strconv.FormatFloat(s*1e3, 'f', 0, 64) + "ms"
	case s < 99.5:
		return strconv.FormatFloat(s, 'f', 1, 64) + "s"
	}
	return scaled(s, 1000, "kMGTPE") + "s"
}

// fit is text in exactly so many cells, cut where it is longer.
func (g *glyphs) fit(text string, cells int, left bool) string {
	if cells <= 0 {
		return ""
	}
	n := displaywidth.String(text)
	if n > cells {
		tail := g.more
		if cells < 2 {
			tail = ""
		}
		text = displaywidth.TruncateString(text, cells, tail)
		n = displaywidth.String(text)
	}
	pad := strings.Repeat(" ", max(0, cells-n))
	if left {
		return text + pad
	}
	return pad + text
}

// wrap breaks text at blanks into lines of at most so many cells; a longer word is
// cut in pieces.
func wrap(text string, cells int) []string {
	if cells < 1 {
		return nil
	}
	var lines []string
	line, have := "", 0
	for _, word := range strings.Fields(text) {
		for {
			n := displaywidth.String(word)
			if have > 0 && have+1+n <= cells {
				line, have = line+" "+word, have+1+n
				break
			}
			if have > 0 {
				lines, line, have = append(lines, line), "", 0
			}
			if n <= cells {
				line, have = word, n
				break
			}
			head := displaywidth.TruncateString(word, cells, "")
			if head == "" {
				break // one sign that is wider than the screen
			}
			lines, word = append(lines, head), word[len(head):]
		}
	}
	if have > 0 {
		lines = append(lines, line)
	}
	return lines
}
