// SPDX-License-Identifier: Apache-2.0

package top

import (
	"strings"

	"github.com/clipperhouse/displaywidth"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// duration is seconds in at most six cells.
func (g *glyphs) duration(s float64) string { return units.NarrowDuration(s, g.micro) }

// fit is text in exactly the given number of cells, cut where it is longer.
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

// wrap breaks text at blanks into lines that fit the given number of cells; a longer word is
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
