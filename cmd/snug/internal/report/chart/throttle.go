// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"html/template"
	"math"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Maximum number of periods of a probe in a strip, wide and narrow.
const (
	widePeriods   = 25
	narrowPeriods = 8
)

// minPeriod is in seconds, a margin below the kernel's minimum period of 1 ms; its
// maximum is 1 s (Linux Documentation/scheduler/sched-bwc.rst).
const minPeriod = 1e-4

// Strips draws when a spinning thread of each setting was off CPU, with the stall that
// the law predicts for each period.
func Strips(cells []finding.Cell) *Figure {
	var part []int
	for _, i := range content.Probed(cells) {
		if st := cells[i].Stall; st.Period >= minPeriod && st.Period <= 1 && st.Span >= st.Period && st.Span < 1e6 && len(part) < maxRows {
			part = append(part, i)
		}
	}
	if len(part) == 0 {
		return nil
	}
	s := content.NewSection(cells, part)
	s.Workload, s.Load, s.Users, s.Memory = false, false, false, false
	f := &Figure{
		Title: "When a spinning thread stalls",
		Caption: "Blocks: one thread did not run. Brackets: the stall by the law T(1\u2212q/N), at the end of each period. " +
			"A gap that is longer than the law also holds waits for a CPU that other threads used. " +
			"Vertical lines are one period apart and stand where long gaps end on average, because the kernel does not say when its periods begin.",
	}
	f.Charts = []template.HTML{stripChart(&s, cells, wide, widePeriods, "wide"), stripChart(&s, cells, narrow, narrowPeriods, "narrow")}
	return f
}

func stripChart(s *content.Section, cells []finding.Cell, w float64, periods int, class string) template.HTML {
	const row, left = 66, 2
	right := w - 2
	long, desc := 0.0, ""
	for _, i := range s.Cells {
		st := cells[i].Stall
		long = max(long, min(st.Span, st.Period*float64(periods)))
		desc += s.Name(&cells[i]) + ": " + stripText(st) + ". "
	}
	height := float64(len(s.Cells)*row + 30)
	d := Drawing("strip "+class, w, height, "Gaps of a spinning thread over "+units.Duration(long)+", with the stall law", desc)
	x := scale{low: 0, high: long, from: side, to: w - side}
	for k, i := range s.Cells {
		c := &cells[i]
		st := c.Stall
		y := float64(k * row)
		d.text("name", "start", left, y+14, fit(s.Name(c), right-12-textWidth(stripText(st))))
		d.text("value", "end", right, y+14, stripText(st))
		end := min(st.Span, st.Period*float64(periods), long)
		d.rect("track", x.at(0), y+32, x.at(end)-x.at(0), 20)
		phase := phase(st)
		for n := 0; n <= periods && phase+float64(n)*st.Period <= end; n++ {
			t := phase + float64(n)*st.Period
			d.Line("grid", x.at(t), y+21, x.at(t), y+55)
			if st.Law > 0 && st.Law <= st.Period && t-st.Law >= 0 {
				d.Path("law", [][2]float64{{x.at(t - st.Law), y + 29}, {x.at(t - st.Law), y + 24}, {x.at(t), y + 24}, {x.at(t), y + 29}})
			}
		}
		for _, g := range st.Gaps {
			if !units.Odd(g[0]) && !units.Odd(g[1]) && g[1] > 0 && g[0] < end && g[0]+g[1] > 0 {
				d.rect("held", x.at(g[0]), y+32, max(x.at(min(g[0]+g[1], end))-x.at(g[0]), .6), 20)
			}
		}
	}
	timeAxis(d, x, height-26, w)
	return d.Done()
}

// stripText gives the stall by the law and the measured one.
func stripText(st *finding.Stall) string {
	law := "law: none"
	if st.Law > 0 {
		law = "law " + units.Duration(st.Law)
	}
	if st.Median == nil {
		return law + ", measured: none"
	}
	text := law + ", measured " + units.Duration(*st.Median)
	if st.Law > 0 {
		if r := *st.Median / st.Law; r < .9 || r > 1.1 {
			text += " (" + strings.ReplaceAll(units.Change(r), "-", "\u2212") + ")"
		}
	}
	return text
}

// phase returns where in a period long gaps end: the circular mean of the ends of gaps at least
// half as long as the law or, without a law, the longest gap. It is 0 without gaps.
func phase(st *finding.Stall) float64 {
	minGap := st.Law / 2
	if minGap == 0 && st.Max != nil {
		minGap = *st.Max / 2
	}
	var re, im float64
	for _, g := range st.Gaps {
		if g[1] >= minGap && !units.Odd(g[0]) && !units.Odd(g[1]) {
			a := 2 * math.Pi * (g[0] + g[1]) / st.Period
			re, im = re+math.Cos(a), im+math.Sin(a)
		}
	}
	if units.Odd(re) || units.Odd(im) || (re == 0 && im == 0) {
		return 0
	}
	a := math.Atan2(im, re)
	if a < 0 {
		a += 2 * math.Pi
	}
	return a / (2 * math.Pi) * st.Period
}
