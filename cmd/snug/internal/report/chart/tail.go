// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"html/template"
	"math"
	"slices"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// tailSamples is the minimum number of samples above a percentile to draw it, as for
// the P99.9 of a table.
const tailSamples = 10

// percentiles of the axis, which is logarithmic in 1/(1-p), as HdrHistogram draws it:
// each decade of rarity has the same width.
var percentiles = []struct {
	p    float64
	name string
}{{.5, "50 %"}, {.9, "90"}, {.99, "99"}, {.999, "99.9"}, {.9999, "99.99"}, {.99999, "99.999"}}

func rarity(p float64) float64 { return -math.Log10(1 - p) }

// tail returns the points of a distribution from the median on: rarity and seconds. It
// ends where fewer than tailSamples samples lie above.
func tail(h *finding.Histogram) [][2]float64 {
	if h == nil || len(h.Seconds) != len(h.Counts) {
		return nil
	}
	total := 0.0
	for _, n := range h.Counts {
		total += float64(max(n, 0))
	}
	var points [][2]float64
	below, last := 0.0, 0.0
	for i, n := range h.Counts {
		before := below
		below += float64(max(n, 0))
		v := h.Seconds[i]
		if n <= 0 || units.Odd(v) || v <= 0 || v < last {
			continue
		}
		last = v
		if below < total/2 {
			continue
		}
		if len(points) == 0 {
			points = append(points, [2]float64{rarity(.5), v})
		}
		if total-below < tailSamples {
			if p := 1 - tailSamples/total; p > .5 && p > before/total {
				points = append(points, [2]float64{rarity(p), v})
			}
			break
		}
		points = append(points, [2]float64{rarity(below / total), v})
	}
	return points
}

// curve is the line of one setting.
type curve struct {
	name   string
	kind   int
	points [][2]float64
}

// Tails draws latency by percentile for one section, wide and narrow. It returns nil if
// nothing was measured in an open loop.
func Tails(s *content.Section, cells []finding.Cell, kind map[string]int) *Figure {
	var curves []curve
	for _, i := range s.Cells {
		c := &cells[i]
		if c.Load == "saturated" || len(curves) == kinds {
			continue // its latency is queueing of its own callers
		}
		if p := tail(c.Latency); len(p) > 1 {
			curves = append(curves, curve{s.Name(c), kind[content.ArmName(c)], p})
		}
	}
	if len(curves) == 0 {
		return nil
	}
	slices.SortStableFunc(curves, func(a, b curve) int {
		return cmp.Compare(a.points[len(a.points)-1][1], b.points[len(b.points)-1][1])
	})
	f := &Figure{Title: "Latency by percentile", Caption: s.Title + ". From the intended start of each request. A line ends where fewer than ten samples lie above it."}
	if s.Users || s.Ramp || cells[s.Cells[0]].Loop() == finding.LoopClosed {
		f.Caption = s.Title + ". A closed loop hides stalls: users who wait send no requests. A line ends where fewer than ten samples lie above it."
	}
	f.Charts = []template.HTML{tailChart(curves, wide, 360, "wide"), tailChart(curves, narrow, 320, "narrow")}
	return f
}

func tailChart(curves []curve, w, h float64, class string) template.HTML {
	const top, bottom, left = 12, 34, 56
	room := 170.0
	if w < 500 {
		room = 108
	}
	right := w - room
	var values []float64
	last, desc := rarity(.99), ""
	for _, c := range curves {
		for _, p := range c.points {
			values = append(values, p[1])
			last = max(last, p[0])
		}
		end := c.points[len(c.points)-1]
		desc += c.name + " ends at " + units.Duration(end[1]) + ". "
	}
	d := Drawing("tail "+class, w, h, "Latency by percentile, one line per setting", desc)
	x := scale{low: rarity(.5), high: last, from: left, to: right}
	y, ticks := logarithmic(values, h-bottom, top)
	for k, label := range perTick(ticks) {
		d.Line("grid", left, y.at(ticks[k]), right, y.at(ticks[k]))
		d.text("tick", "end", left-8, y.at(ticks[k])+4, label)
	}
	for _, p := range percentiles {
		if r := rarity(p.p); r <= last+1e-9 {
			d.Line("grid", x.at(r), top, x.at(r), h-bottom)
			d.text("tick", "middle", x.at(r), h-bottom+18, p.name)
		}
	}
	d.text("tick", "end", right, h-2, "of requests are at least as fast")
	heights := make([]float64, len(curves))
	for i, c := range curves { // bottom up, so the slowest is last
		heights[len(curves)-1-i] = y.at(c.points[len(c.points)-1][1])
	}
	slices.Sort(heights)
	heights = spread(heights, 16, top+4, h-bottom)
	for i, c := range curves {
		points := make([][2]float64, len(c.points))
		for k, p := range c.points {
			points[k] = [2]float64{x.at(p[0]), y.at(p[1])}
		}
		n := strconv.Itoa(c.kind % kinds)
		d.Path("curve s"+n+" d"+n, thin(points))
		end, at := points[len(points)-1], heights[len(curves)-1-i]
		d.mark(c.kind, end[0], end[1], 4)
		d.Line("leader", end[0]+6, end[1], right+10, at)
		d.text("label", "start", right+13, at+4, fit(c.name, room-13))
	}
	return d.Done()
}

// perTick formats each latency in its own unit, because an axis of decades spans several.
func perTick(ticks []float64) []string {
	texts := make([]string, len(ticks))
	for i, t := range ticks {
		texts[i] = units.Duration(t)
	}
	return texts
}

// thin removes points less than a pixel from the previous one.
func thin(points [][2]float64) [][2]float64 {
	kept := points[:1:1]
	for i, p := range points {
		q := kept[len(kept)-1]
		if i == len(points)-1 || math.Abs(p[0]-q[0])+math.Abs(p[1]-q[1]) >= 1 {
			kept = append(kept, p)
		}
	}
	return kept
}
