// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"fmt"
	"html/template"
	"math"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// rampPanels are the drawings of a ramp, one below the other.
var rampPanels = []struct {
	figure int
	title  string
	of     []units.Unit
	share  bool
}{
	{content.CourseRPS, "req/s", nil, false},
	{content.CourseP50, "median", units.Times, false},
	{content.CourseP95, "P95", units.Times, false},
	{content.CourseThrottled, "throttled periods", nil, true},
	{content.CourseGCs, "collections per second", nil, false},
}

// Ramp draws the course of a load whose number of users changes: one line for each setting, in
// drawings that share the axis of users and time. It returns nil for any other load.
func Ramp(s *content.Section, cells []finding.Cell, kind map[string]int) *Figure {
	var all []*content.Course
	rounds := 0
	for _, i := range s.Cells {
		if c := content.CourseOf(s, cells, i); c != nil && len(all) < kinds {
			all = append(all, c)
			rounds = max(rounds, content.Counted(&cells[i]))
		}
	}
	if len(all) == 0 || !(float64(len(all[0].Users))*all[0].Step < 1e6) {
		return nil
	}
	caption := "Lines: each setting, the median of its rounds in slices of " + units.Duration(all[0].Step) + "."
	if rounds > 1 {
		caption += " Shades: from the least to the most of the rounds."
	}
	caption += " A request is counted where it ends. Throttled: the share of periods in which the quota was used up. Users wait for each answer, so they ask for less while the service stalls."
	f := &Figure{Title: "The course of the ramp", Caption: caption}
	for _, w := range []float64{wide, narrow} {
		f.Charts = append(f.Charts, rampChart(all, cells, kind, w))
	}
	return f
}

func rampChart(all []*content.Course, cells []finding.Cell, kind map[string]int, w float64) template.HTML {
	const left, panel, gap = plotLeft, 78, 30
	right, class := w-22, "wide"
	if w < 500 {
		class = "narrow"
	}
	at := rampKey(all, w)
	top := at[len(at)-1][1] + 34
	bottom := top + float64(len(rampPanels))*(panel+gap) - gap
	first := all[0]
	end := float64(len(first.Users)) * first.Step
	from, to := first.Users[0], first.Users[len(first.Users)-1]
	d := Drawing("ramp "+class, w, bottom+52, "Throughput, latency, throttling and collections over time",
		fmt.Sprintf("%s, from %.0f to %.0f users in %s.", units.Plural(len(all), "setting"), from, to, units.Duration(end)))
	for i, c := range all {
		n := kindOf(c, cells, kind)
		x, y := at[i][0], at[i][1]
		d.Line("curve s"+n+" d"+n, x, y-4, x+30, y-4)
		d.text("label", "start", x+37, y, fit(c.Name, right-x-37))
	}
	x := scale{low: 0, high: end, from: left, to: right}
	times, _ := fromZero(end, timeTicks(w), units.Times)
	for k := range rampPanels {
		for _, t := range times {
			d.Line("grid", x.at(t), top+float64(k)*(panel+gap), x.at(t), top+float64(k)*(panel+gap)+panel)
		}
		rampPanel(d, all, cells, kind, k, x, top+float64(k)*(panel+gap), panel)
	}
	d.Line("axis", left, bottom, right, bottom)
	timeAxis(d, x, bottom, w)
	d.text("tick", "start", 2, bottom+39, "users")
	marks := 5
	if w < 500 {
		marks = 3
	}
	for i := range marks {
		share := float64(i) / float64(marks-1)
		t := end * share
		step := (to - from) / float64(max(len(first.Users)-1, 1)) // the lists have the middle of each slice
		d.text("tick", "middle", x.at(t), bottom+39, strconv.Itoa(int(math.Round(from-step/2+(to-from+step)*share))))
	}
	return d.Done()
}

// kindOf returns the number of a setting's colour and dash.
func kindOf(c *content.Course, cells []finding.Cell, kind map[string]int) string {
	return strconv.Itoa(kind[content.ArmName(&cells[c.Cell])] % kinds)
}

// rampKey places the names of the settings in lines above the drawings.
func rampKey(all []*content.Course, w float64) [][2]float64 {
	var at [][2]float64
	x, y := 2.0, 14.0
	for _, c := range all {
		need := 37 + min(textWidth(c.Name), w-60) + 22
		if x > 2 && x+need > w {
			x, y = 2, y+20
		}
		at = append(at, [2]float64{x, y})
		x += need
	}
	return at
}

// rampPanel draws one figure of all settings.
func rampPanel(d *svg, all []*content.Course, cells []finding.Cell, kind map[string]int, k int, x scale, top, height float64) {
	p := rampPanels[k]
	values := []float64{0}
	known := false
	for _, c := range all {
		for i, v := range c.Lines[p.figure].High {
			if !units.Odd(v) {
				values, known = append(values, v, c.Lines[p.figure].Low[i]), true
			}
		}
	}
	d.text("head", "start", x.from, top-8, p.title)
	if !known {
		d.text("tick", "start", x.from, top+height/2, "not measured")
		d.Line("axis", x.from, top+height, x.to, top+height)
		return
	}
	y, ticks := linear(values, 2, top+height, top, p.of)
	labels := tickText(ticks, y.unit)
	if p.share {
		y, ticks, labels = scale{low: 0, high: 1, from: top + height, to: top}, []float64{0, .5, 1}, []string{"0 %", "50 %", "100 %"}
	}
	for i, t := range ticks {
		d.Line("grid", x.from, y.at(t), x.to, y.at(t))
		d.text("tick", "end", x.from-8, y.at(t)+4, labels[i])
	}
	for _, c := range all {
		n := kindOf(c, cells, kind)
		l := c.Lines[p.figure]
		at := func(i int) float64 { return x.at((float64(i) + .5) * c.Step) }
		for _, run := range stretches(l.Median) {
			var line, band [][2]float64
			apart := false
			for i := run[0]; i < run[1]; i++ {
				line, band = append(line, [2]float64{at(i), y.at(l.Median[i])}), append(band, [2]float64{at(i), y.at(l.High[i])})
				apart = apart || l.High[i] > l.Low[i]
			}
			for i := run[1] - 1; i >= run[0]; i-- {
				band = append(band, [2]float64{at(i), y.at(l.Low[i])})
			}
			if apart {
				d.Path("shade k"+n, band)
			}
			d.Path("curve s"+n+" d"+n, line)
		}
	}
}

// stretches returns the runs of values that are known: the first and the one behind the last.
func stretches(values []float64) [][2]int {
	var runs [][2]int
	begin := -1
	for i := 0; i <= len(values); i++ {
		ok := i < len(values) && !units.Odd(values[i])
		switch {
		case ok && begin < 0:
			begin = i
		case !ok && begin >= 0:
			runs, begin = append(runs, [2]int{begin, i}), -1
		}
	}
	return runs
}
