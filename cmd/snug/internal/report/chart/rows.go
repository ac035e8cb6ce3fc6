// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"html/template"
)

// side is the width of the margins beside rows, so that the label of a tick at their edge stays
// centered below it.
const side = 28

// maxRows is the maximum number of rows in one drawing.
const maxRows = 24

// rows draws figures below each other on one axis: each with its name, its value in words, a mark, an
// interval and the single values behind it.
type rows struct {
	title, desc string // for screen readers
	head, more  string // above the drawing, left and right
	x           axis
	marks       []mark // lines through all rows
	rows        []row
}

// mark is a value marked by a line, with a name in the key.
type mark struct {
	class, name string
	at          float64
}

type row struct {
	name, value, look string
	at                float64
	low, high         *float64   // of the interval; nil = none
	band              [2]float64 // an area behind the mark; 0 = none
	rounds            []float64
}

// values returns everything that is drawn of rows.
func values(all []row) []float64 {
	var v []float64
	for i := range all {
		r := &all[i]
		v = append(append(v, r.at), r.rounds...)
		for _, end := range []*float64{r.low, r.high} {
			if end != nil {
				v = append(v, *end)
			}
		}
		if r.band[1] > 0 {
			v = append(v, r.band[:]...)
		}
	}
	return v
}

func (p *rows) draw() template.HTML {
	d := Drawing("rows", narrow, p.title, p.desc)
	x := p.x.between(side, narrow-side)
	top := d.key(keyOf(p.marks, &x))
	if p.head != "" {
		d.text("head", "start", 2, top+14, p.head)
		d.text("tick", "end", narrow-2, top+14, p.more)
		top += 22
	}
	for i := range p.rows[:min(len(p.rows), maxRows)] {
		r := &p.rows[i]
		if textWidth(r.name)+textWidth(r.value) > narrow-12 { // the value gets a line of its own
			d.text("name", "start", 2, top+14, fit(r.name, narrow-4))
			top += 16
		} else {
			d.text("name", "start", 2, top+14, r.name)
		}
		d.text("value "+r.look, "end", narrow-2, top+14, r.value)
		top += 46
		y := top - 16
		// Lines, band and grid end above the text of the next row, which they would cross.
		if r.band[1] > 0 {
			d.rect("band", x.at(r.band[0]), y-9, x.at(r.band[1])-x.at(r.band[0]), 24)
		}
		for _, t := range x.ticks {
			d.Line("grid", x.at(t.at), y-9, x.at(t.at), y+15)
		}
		for _, m := range p.marks {
			d.Line(m.class, x.at(m.at), y-9, x.at(m.at), y+15)
		}
		for _, v := range r.rounds {
			d.circle("round", x.at(v), y+10, 2.2)
		}
		if r.low != nil && r.high != nil {
			low, high := x.at(*r.low), x.at(*r.high)
			d.Line("whisker "+r.look, low, y, high, y)
			d.Line("whisker "+r.look, low, y-4, low, y+4)
			d.Line("whisker "+r.look, high, y-4, high, y+4)
		}
		d.circle("point "+r.look, x.at(r.at), y, 5)
	}
	for _, t := range x.ticks {
		d.text("tick", "middle", x.at(t.at), top+16, t.label)
	}
	if n := len(p.rows) - maxRows; n > 0 {
		top += 18
		d.text("tick", "start", 2, top+16, fmt.Sprintf("%d more are in the table", n))
	}
	return d.Done(top + 22)
}

// keyOf returns the entries of marks. An arrow points at one that is outside.
func keyOf(marks []mark, x *axis) []entry {
	var all []entry
	for _, m := range marks {
		name := m.name
		switch {
		case name == "":
		case m.at > x.high:
			name += " \u2192"
		case m.at < x.low:
			name = "\u2190 " + name
		}
		all = append(all, entry{name: name, class: m.class})
	}
	return all
}
