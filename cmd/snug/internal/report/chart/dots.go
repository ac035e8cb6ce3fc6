// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Figure is a drawing with its title and caption.
type Figure struct {
	Title   string
	Caption string
	Charts  []template.HTML
}

// narrow is the width of drawings side by side, and of all drawings on a phone; wide
// is the width of a drawing on its own row.
const (
	narrow = 340
	wide   = 760
)

// maxRows is the maximum number of cells in one drawing of dots.
const maxRows = 24

// Dots draws one metric of a section: for each cell the median, its interval and every valid
// round, with the baseline as a line. It returns nil if the metric was not measured.
func Dots(s *content.Section, cells []finding.Cell, m *metric.Metric, kind map[string]int, base int) *Figure {
	var part []int
	var values []float64
	for _, i := range s.Cells {
		v := m.Of(&cells[i])
		if v == nil || units.Odd(*v) || len(part) == maxRows {
			continue
		}
		part = append(part, i)
		values = append(values, *v)
		if iv, ok := cells[i].Intervals[m.Key]; ok {
			values = append(values, iv.Low, iv.High)
		}
		values = append(values, valid(m, &cells[i])...)
	}
	if _, high, _ := units.Span(values); len(part) == 0 || high == 0 {
		return nil
	}
	const left, right, row = 2, narrow - 2, 46
	title := metric.Heading(m.Key, s.Requests)
	if strings.HasPrefix(m.Key, "stw_") {
		title += ": " + m.Words
	}
	better := "Less is better"
	if m.More {
		better = "More is better"
	}
	height := float64(len(part)*row + 38)
	medians := make([]*float64, len(part))
	for k, i := range part {
		medians[k] = m.Of(&cells[i])
	}
	texts := m.Print(medians)
	desc := ""
	for k, i := range part {
		desc += s.Name(&cells[i]) + ": " + texts[k] + ". "
	}
	d := Drawing("dots", narrow, height, title+" by setting; "+better, desc)
	x, ticks := linear(values, 4, side, narrow-side, unitsOf(m))
	labels := tickText(ticks, x.unit)
	if low, high, ok := units.Span(values); ok && m.Unit == metric.Seconds && low >= 0 && high > 20*low {
		x, ticks = logarithmic(values, side, narrow-side)
		ticks = distant(ticks, x, 50)
		labels = perTick(ticks)
	}
	for k, t := range ticks {
		d.text("tick", "middle", x.at(t), height-8, labels[k])
	}
	dashed, bars, circles := false, false, false
	if base >= 0 {
		if v := m.Of(&cells[base]); v != nil {
			dashed = true
		}
	}
	for k, i := range part {
		c := &cells[i]
		y := float64(k*row) + 31
		for _, t := range ticks {
			d.Line("grid", x.at(t), y-9, x.at(t), y+15)
		}
		if dashed {
			at := x.at(*m.Of(&cells[base]))
			d.Line("base", at, y-9, at, y+15)
		}
		d.text("name", "start", left, y-15, fit(s.Name(c), narrow-12-textWidth(texts[k])))
		d.text("value", "end", right, y-15, texts[k])
		for _, r := range valid(m, c) {
			circles = true
			d.circle("round", x.at(r), y+10, 2.2)
		}
		n := kind[content.ArmName(c)]
		if iv, ok := c.Intervals[m.Key]; ok {
			bars = true
			class := "whisker s" + strconv.Itoa(n%kinds)
			d.Line(class, x.at(iv.Low), y, x.at(iv.High), y)
			d.Line(class, x.at(iv.Low), y-4, x.at(iv.Low), y+4)
			d.Line(class, x.at(iv.High), y-4, x.at(iv.High), y+4)
		}
		d.mark(n, x.at(*medians[k]), y, 5)
	}
	f := &Figure{Title: title, Caption: better + ".", Charts: []template.HTML{d.Done()}}
	if bars {
		f.Caption += " Bar: interval of the median."
	}
	if m.Key == "stw_max_seconds" {
		f.Caption += " Mark: the longest of all rounds."
	}
	if circles {
		f.Caption += " Circles: rounds."
	}
	if dashed {
		f.Caption += " Dashed: " + content.Short(s.Name(&cells[base]), 30) + "."
	}
	if rest := len(s.Cells) - len(part); rest > 0 && len(part) == maxRows {
		f.Caption += fmt.Sprintf(" %d more are in the table.", rest)
	}
	return f
}

// valid returns a metric's values in the valid rounds.
func valid(m *metric.Metric, c *finding.Cell) []float64 {
	var values []float64
	if m.Run == nil {
		return nil
	}
	for k := range c.Rounds {
		if r := &c.Rounds[k]; r.Invalid == "" {
			if v := m.Run(r); v != nil && !units.Odd(*v) {
				values = append(values, *v)
			}
		}
	}
	return values
}

// unitsOf returns the units of a metric's axis; nil for plain numbers.
func unitsOf(m *metric.Metric) []units.Unit {
	switch m.Key {
	case "rps", "gc_per_second", "throttled_ratio", "error_ratio":
		return nil
	case "peak_heap_bytes", "memory_peak_bytes":
		return units.Sizes
	}
	return units.Times
}

// distant returns the ticks whose labels lie at least apart from the one before.
func distant(ticks []float64, x scale, apart float64) []float64 {
	last := math.Inf(-1)
	return slices.DeleteFunc(ticks, func(t float64) bool {
		if math.Abs(x.at(t)-last) < apart {
			return true
		}
		last = x.at(t)
		return false
	})
}

// anchor keeps a label inside the drawing.
func anchor(x, w float64) string {
	switch {
	case x < 24:
		return "start"
	case x > w-24:
		return "end"
	}
	return "middle"
}
