// SPDX-License-Identifier: Apache-2.0

// Package chart draws the results of experiments and traces as SVG. Colours and fonts come from
// the style sheet of the page.
package chart

import (
	"fmt"
	"html"
	"html/template"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// svg is a drawing. Its coordinates are CSS pixels at its natural width; colours and
// fonts come from the page's style sheet, by class.
type svg struct {
	strings.Builder
	w, h float64
}

// Drawing begins a picture of w by h. title names it; desc describes its content for
// screen readers.
func Drawing(class string, w, h float64, title, desc string) *svg {
	s := &svg{w: w, h: h}
	fmt.Fprintf(s, `<svg class="%s" viewBox="0 0 %s %s" role="img" aria-label="%s"><title>%s</title>`,
		class, px(w), px(h), html.EscapeString(title), html.EscapeString(title))
	if desc != "" {
		fmt.Fprintf(s, `<desc>%s</desc>`, html.EscapeString(desc))
	}
	return s
}

func (s *svg) Done() template.HTML {
	s.WriteString("</svg>")
	return template.HTML(s.String())
}

// px formats a coordinate.
func px(x float64) string {
	if units.Odd(x) {
		return "0"
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 1, 64), "0"), ".")
}

func (s *svg) Line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, px(x1), px(y1), px(x2), px(y2))
}

func (s *svg) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(s, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`, class, px(x), px(y), px(max(w, 0)), px(max(h, 0)))
}

func (s *svg) circle(class string, x, y, r float64) {
	fmt.Fprintf(s, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, px(x), px(y), px(r))
}

// text writes text; anchor is start, middle or end.
func (s *svg) text(class, anchor string, x, y float64, words string) {
	fmt.Fprintf(s, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, px(x), px(y), html.EscapeString(words))
}

// textWidth estimates the width of text in CSS pixels, at 12.5 px in a wide font.
func textWidth(words string) float64 {
	w := 0.0
	for _, r := range words {
		switch {
		case strings.ContainsRune(" .,:;|'[]()ijlt-/", r):
			w += 4.8
		case r >= 'A' && r <= 'Z' || strings.ContainsRune("mw%=+\u2212~", r):
			w += 9.8
		default:
			w += 7.9
		}
	}
	return w
}

// fit shortens text to a width. It cuts in the middle, because settings often differ at the end.
func fit(words string, width float64) string {
	r := []rune(words)
	for n := len(r); n > 2 && textWidth(words) > width; {
		n--
		words = string(r[:(n+1)/2]) + "..." + string(r[len(r)-n/2:])
	}
	return words
}

// Path draws a line through points.
func (s *svg) Path(class string, points [][2]float64) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(s, `<path class="%s" d="`, class)
	for i, p := range points {
		c := "L"
		if i == 0 {
			c = "M"
		}
		s.WriteString(c + px(p[0]) + " " + px(p[1]))
	}
	s.WriteString(`"/>`)
}

// kinds is the number of distinct colours, dashes and marks for settings.
const kinds = 8

// mark draws the mark of a setting, which has its own shape as well as its colour.
func (s *svg) mark(kind int, x, y, r float64) {
	class := "mark k" + strconv.Itoa(kind%kinds)
	shape := func(points ...float64) {
		fmt.Fprintf(s, `<path class="%s" d="`, class)
		for i := 0; i < len(points); i += 2 {
			c := "L"
			if i == 0 {
				c = "M"
			}
			s.WriteString(c + px(x+r*points[i]) + " " + px(y+r*points[i+1]))
		}
		s.WriteString(`Z"/>`)
	}
	switch kind % kinds {
	case 0:
		s.circle(class, x, y, r)
	case 1:
		shape(-.9, -.9, .9, -.9, .9, .9, -.9, .9)
	case 2:
		shape(0, -1.15, 1.05, .8, -1.05, .8)
	case 3:
		shape(0, -1.3, 1.3, 0, 0, 1.3, -1.3, 0)
	case 4:
		shape(0, 1.15, 1.05, -.8, -1.05, -.8)
	case 5:
		shape(-.4, -1.2, .4, -1.2, .4, -.4, 1.2, -.4, 1.2, .4, .4, .4, .4, 1.2, -.4, 1.2, -.4, .4, -1.2, .4, -1.2, -.4, -.4, -.4)
	case 6:
		shape(-1.2, -.5, 1.2, -.5, 1.2, .5, -1.2, .5)
	default:
		shape(-.5, -1.2, .5, -1.2, .5, 1.2, -.5, 1.2)
	}
}

// spread moves labels apart, so that their distance is apart or more and they stay between low
// and high. wanted are their preferred heights, in ascending order.
func spread(wanted []float64, apart, low, high float64) []float64 {
	at := make([]float64, len(wanted))
	last := low - apart
	for i, y := range wanted {
		at[i] = max(y, last+apart)
		last = at[i]
	}
	last = high + apart
	for i := len(at) - 1; i >= 0; i-- {
		at[i] = min(at[i], last-apart)
		last = at[i]
	}
	return at
}
