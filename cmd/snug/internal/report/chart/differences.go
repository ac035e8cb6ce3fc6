// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// side is the width of the margins beside the plots of rows, so that the label of a tick at
// their edge stays centered below it.
const side = 28

// Differences draws what the verdict is about: for each metric that a section's settings are
// compared in, the paired difference of each setting from its baseline, with its interval, the
// rounds, a line at no difference and a band for the margin. It returns nil without comparisons.
func Differences(s *content.Section, cells []finding.Cell, all []finding.Comparison) *Figure {
	mine := slices.DeleteFunc(s.Comparisons(cells, all), func(c finding.Comparison) bool { return units.Odd(c.Ratio) || c.Ratio <= 0 })
	if len(mine) == 0 {
		return nil
	}
	f := &Figure{
		Title: "Paired differences",
		Caption: "Each setting against " + content.Baselines(cells, mine) + ", round by round. The line through 0 is no difference; a difference within the " +
			"grey band is too small to count. Bar: the 95 % interval. Circles: rounds. A filled mark is a shown difference or a shown equality; a hollow one, with ~, is neither.",
	}
	left := 0
	for _, key := range content.Compared(mine) {
		d := differences{s: s, cells: cells, key: key}
		for _, c := range mine {
			if c.Metric == key {
				d.rows = append(d.rows, c)
			}
		}
		if n := len(d.rows) - maxRows; n > 0 {
			d.rows, left = d.rows[:maxRows], max(left, n)
		}
		f.Charts = append(f.Charts, d.draw())
	}
	if left > 0 {
		f.Caption += fmt.Sprintf(" %d more are in the table.", left)
	}
	return f
}

// differences is the drawing of one metric.
type differences struct {
	s     *content.Section
	cells []finding.Cell
	key   string
	rows  []finding.Comparison
}

// name returns the name of a row: the setting, and the Go benchmark.
func (d *differences) name(c *finding.Comparison) string {
	name := d.s.Name(&d.cells[c.Cell])
	if c.Benchmark != "" {
		name = message.Clean(c.Benchmark) + ", " + name
	}
	return name
}

// rounds returns the ratio of each round in which both settings have the metric. Runs that were
// OOM-killed are not compared.
func (d *differences) rounds(c *finding.Comparison) []float64 {
	m := metric.MetricOf(d.key)
	if m == nil || m.Run == nil || c.Benchmark != "" { // the figures of single benchmarks are in the tables
		return nil
	}
	figures := func(cell *finding.Cell) map[int]float64 {
		of := map[int]float64{}
		for k := range cell.Rounds {
			r := &cell.Rounds[k]
			if _, again := of[r.Round]; again || r.Invalid != "" || r.OOMKills != nil && *r.OOMKills > 0 {
				continue
			}
			if v := m.Run(r); v != nil && !units.Odd(*v) && *v > 0 {
				of[r.Round] = *v
			}
		}
		return of
	}
	base := figures(&d.cells[c.Baseline])
	var ratios []float64
	for round, v := range figures(&d.cells[c.Cell]) {
		if b, ok := base[round]; ok {
			ratios = append(ratios, v/b)
		}
	}
	slices.Sort(ratios)
	return ratios
}

// wordClass returns the class of a verdict on one comparison.
func wordClass(word string) string {
	switch word {
	case finding.Better, finding.Worse, finding.Same:
		return word
	}
	return "open"
}

// draw draws the rows.
func (d *differences) draw() template.HTML {
	more := "less is better"
	m := metric.MetricOf(d.key)
	if m != nil && m.More {
		more = "more is better"
	}
	values := []float64{1}
	texts, desc, split := make([]string, len(d.rows)), "", false
	rounds := make([][]float64, len(d.rows))
	for i := range d.rows {
		c := &d.rows[i]
		rounds[i] = d.rounds(c)
		values = append(values, rounds[i]...)
		values = append(values, c.Ratio)
		for _, end := range []*float64{c.Low, c.High} {
			if end != nil && *end > 0 {
				values = append(values, *end)
			}
		}
		if c.Margin > 0 && c.Margin < 1 {
			values = append(values, 1-c.Margin, 1+c.Margin)
		}
		texts[i] = strings.ReplaceAll(content.Outcome(c), "-", "\u2212")
		name := d.name(c)
		split = split || textWidth(name)+textWidth(texts[i]) > narrow-12
		desc += name + ": " + texts[i] + ". "
	}
	const top = 30
	row, text := 46.0, 31.0 // height of a row, and of its bar below its top
	if split {
		row, text = 62, 47
	}
	height := top + row*float64(len(d.rows)) + 30
	head := metric.Heading(d.key, d.s.Requests)
	g := Drawing("diff", narrow, height, head+": paired differences; "+more, desc)
	g.text("head", "start", 2, 14, head)
	if margin := d.rows[0].Margin; margin > 0 {
		more += "; margin " + units.Share(margin)
	}
	g.text("tick", "end", narrow-2, 14, more)
	x, ticks, labels := ratioScale(values, side, narrow-side)
	for i, t := range ticks {
		g.text("tick", "middle", x.at(t), height-8, labels[i])
	}
	for i := range d.rows {
		c := &d.rows[i]
		y := top + row*float64(i) + text
		// Line, band and grid end above the text of the next row, which they would cross.
		if c.Margin > 0 && c.Margin < 1 {
			from := x.at(1 - c.Margin)
			g.rect("band", from, y-9, x.at(1+c.Margin)-from, 24)
		}
		for _, t := range ticks {
			g.Line("grid", x.at(t), y-9, x.at(t), y+15)
		}
		g.Line("zero", x.at(1), y-9, x.at(1), y+15)
		name := d.name(c)
		if split {
			g.text("name", "start", 2, y-30, fit(name, narrow-4))
		} else {
			g.text("name", "start", 2, y-15, name)
		}
		look := wordClass(c.Word)
		g.text("value "+look, "end", narrow-2, y-15, texts[i])
		for _, r := range rounds[i] {
			g.circle("round", x.at(r), y+10, 2.2)
		}
		if c.Low != nil && c.High != nil {
			g.Line("whisker "+look, x.at(*c.Low), y, x.at(*c.High), y)
			g.Line("whisker "+look, x.at(*c.Low), y-4, x.at(*c.Low), y+4)
			g.Line("whisker "+look, x.at(*c.High), y-4, x.at(*c.High), y+4)
		}
		g.circle("point "+look, x.at(c.Ratio), y, 5)
	}
	return g.Done()
}
