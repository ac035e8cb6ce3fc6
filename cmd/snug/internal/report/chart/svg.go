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

// Figure is drawings with their title and caption.
type Figure struct {
	Title   string
	Caption string
	Charts  []template.HTML
	Grid    bool // place the drawings side by side
}

// narrow is the width of drawings side by side, and of all drawings on a phone; wide
// is the width of a drawing on its own row.
const (
	narrow = 340
	wide   = 760
)

// kinds is the number of distinct colours and dashes of lines.
const kinds = 8

// svg is a drawing. Its coordinates are CSS pixels at its natural width; colours and
// fonts come from the page's style sheet, by class.
type svg struct {
	strings.Builder
	class, title, desc string
	w                  float64
}

// Drawing begins a picture of width w. title names it; desc describes its content for
// screen readers.
func Drawing(class string, w float64, title, desc string) *svg {
	return &svg{class: class, w: w, title: html.EscapeString(title), desc: html.EscapeString(desc)}
}

// Done ends a picture of height h.
func (s *svg) Done(h float64) template.HTML {
	head := fmt.Sprintf(`<svg class="%s" viewBox="0 0 %s %s" role="img" aria-label="%s"><title>%s</title>`, s.class,
		px(s.w), px(h), s.title, s.title)
	head += units.If(s.desc != "", "<desc>"+s.desc+"</desc>")
	return template.HTML(head + s.String() + "</svg>")
}

// px formats a coordinate.
func px(x float64) string {
	if units.Odd(x) {
		return "0"
	}
	return units.Trim(strconv.FormatFloat(x, 'f', 1, 64))
}

func (s *svg) Line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, px(x1), px(y1), px(x2), px(y2))
}

func (s *svg) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(s, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"/>`,
		class, px(x), px(y), px(max(w, 0)), px(max(h, 0)))
}

func (s *svg) circle(class string, x, y, r float64) {
	fmt.Fprintf(s, `<circle class="%s" cx="%s" cy="%s" r="%s"/>`, class, px(x), px(y), px(r))
}

// text writes text, if there is any; anchor is start, middle or end.
func (s *svg) text(class, anchor string, x, y float64, words string) {
	if words == "" {
		return
	}
	fmt.Fprintf(s, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`,
		class, anchor, px(x), px(y), html.EscapeString(words))
}

// Path draws a line through points.
func (s *svg) Path(class string, points [][2]float64) {
	if len(points) == 0 {
		return
	}
	fmt.Fprintf(s, `<path class="%s" d="M`, class)
	for i, p := range points {
		if i > 0 {
			s.WriteString("L")
		}
		s.WriteString(px(p[0]) + " " + px(p[1]))
	}
	s.WriteString(`"/>`)
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

// entry is an entry of a key: a line or an area, and its name.
type entry struct {
	name, class string
	area        bool
}

// key draws the names of lines and areas in rows, and returns the height below.
func (s *svg) key(entries []entry) float64 {
	x, y, below := 2.0, 14.0, 0.0
	for _, e := range entries {
		if e.name == "" {
			continue
		}
		name := fit(e.name, s.w-60)
		if need := 37 + textWidth(name); x > 2 && x+need > s.w {
			x, y = 2, y+20
		}
		if e.area {
			s.rect(e.class, x, y-10, 30, 12)
		} else {
			s.Line(e.class, x, y-4, x+30, y-4)
		}
		s.text("label", "start", x+37, y, name)
		x, below = x+37+textWidth(name)+22, y+10
	}
	return below
}
