// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"html/template"
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// sizeMark is a value that is marked in a drawing by a line with its name.
type sizeMark struct {
	class, name string
	at          float64
}

// markRow is the height of the name of a mark, in pixels.
const markRow = 18

// afar is how many times larger or smaller than all else a value may be that is drawn in its place; beyond that it is
// named at the edge.
const afar = 3

// maxSizePoints bounds what is drawn of a curve.
const maxSizePoints = 100

// sizeAt adds a mark of a value, if it is known and can be drawn.
func sizeAt(marks []sizeMark, class, name string, at *float64, as func(float64) string) []sizeMark {
	if at == nil || units.Odd(*at) || !(*at > 0) {
		return marks
	}
	return append(marks, sizeMark{class, name + " " + as(*at), *at})
}

// SizeCurve draws the memory limits around the answer against the CPU of collections and the price. It returns nil if there
// is no curve.
func SizeCurve(d *finding.Size) *Figure {
	var points []finding.SizePoint
	below := false
	for _, p := range d.Curve {
		if p.Memory > 0 && p.GCCores >= 0 && !units.Odd(p.Memory) && !units.Odd(p.GCCores) && len(points) < maxSizePoints {
			points = append(points, p)
			below = below || p.Below
		}
	}
	if len(points) < 2 {
		return nil
	}
	f := &Figure{Title: "More memory, fewer collections", Caption: "What the model expects of each memory limit. Ring: the advice."}
	if below {
		f.Caption += " Hollow: less than was used, which may be garbage."
	}
	f.Caption += " Left of the least it might be killed."
	for _, w := range []float64{wide, narrow} {
		f.Charts = append(f.Charts, sizeCurve(d, points, w))
	}
	return f
}

func sizeCurve(d *finding.Size, points []finding.SizePoint, w float64) template.HTML {
	const left, panel, gap = 52, 120, 66
	right, class := w-16, "wide"
	if w < 500 {
		class = "narrow"
	}
	var has *float64
	if limit, ok := d.Seen.Limit.Get(); ok {
		n := float64(limit)
		has = &n
	}
	bytes := func(n float64) string { return units.Bytes(int64(n)) }
	marks := sizeAt(sizeAt(sizeAt(nil, "base", "at least", d.Memory.Least, bytes), "winner", "needs", d.Memory.Value, bytes), "zero", "has", has, bytes)
	low, high := points[0].Memory, points[0].Memory
	most, cheapest := 0.0, math.Inf(1)
	for _, p := range points {
		low, high = min(low, p.Memory), max(high, p.Memory)
		most = max(most, p.GCCores)
		if p.Price > 0 {
			cheapest = min(cheapest, p.Price)
		}
	}
	from, to := low, high
	for _, m := range marks {
		if m.at >= from/afar && m.at <= to*afar {
			low, high = min(low, m.at), max(high, m.at)
		}
	}
	x := scale{low: low / 1.08, high: high * 1.08, from: left, to: right, log: true}
	top := float64(len(marks)*markRow + 34)
	priced := !math.IsInf(cheapest, 1) && !units.Odd(d.Price.Core*most/cheapest) && !units.Odd(high*d.Price.GiB/cheapest)
	bottom := top + panel
	if priced {
		bottom += gap + panel
	}
	g := Drawing("size "+class, w, bottom+40, "Memory limit against the CPU of collections and the price", content.SizeVerdict(d)+".")
	ticks := memoryTicks(x)
	var price scale
	panels := []scale{{high: most * 1.1, from: top + panel, to: top, unit: percent}}
	if priced {
		price = scale{from: bottom, to: bottom - panel, unit: units.Unit{One: 1}}
		for _, p := range points {
			price.high = max(price.high, p.Price/cheapest*1.05)
		}
		panels = append(panels, price)
	}
	for i, y := range panels {
		for _, t := range ticks {
			g.Line("grid", x.at(t), y.from, x.at(t), y.to)
		}
		heights, unit := fromZero(y.high, 4, []units.Unit{y.unit})
		if y.high <= 0 {
			heights = heights[:1]
		}
		for k, label := range tickText(heights, unit) {
			g.Line("grid", left, y.at(heights[k]), right, y.at(heights[k]))
			g.text("tick", "end", left-8, y.at(heights[k])+4, label)
		}
		g.Line("axis", left, y.from, right, y.from)
		for k, m := range marks {
			above := y.to
			if i == 0 {
				above = float64(k*markRow) + 20
			}
			g.Line(m.class, x.at(m.at), above, x.at(m.at), y.from)
		}
	}
	g.text("head label", "start", left, top-10, "CPU of collections, of a core")
	line := func(class string, marked bool, y scale, of func(*finding.SizePoint) float64) {
		var at [][2]float64
		for i := range points {
			at = append(at, [2]float64{x.at(points[i].Memory), y.at(of(&points[i]))})
		}
		g.Path(class, at)
		for i := range points {
			if !marked {
				break
			}
			mark := "point k1"
			if points[i].Below {
				mark = "point open"
			}
			g.circle(mark, at[i][0], at[i][1], 4)
			if points[i].Chosen {
				g.circle("winner", at[i][0], at[i][1], 8)
			}
		}
	}
	line("curve s1", true, panels[0], func(p *finding.SizePoint) float64 { return p.GCCores })
	if priced {
		g.text("head", "start", left, price.to-30, "price, in multiples of the cheapest")
		sizeKey(g, 2, price.to-10)
		line("curve s3 d1", false, price, func(p *finding.SizePoint) float64 { return d.Price.GiB * p.Memory / (1 << 30) / cheapest })
		line("curve s2 d2", false, price, func(p *finding.SizePoint) float64 { return d.Price.Core * p.GCCores / cheapest })
		line("curve s0", true, price, func(p *finding.SizePoint) float64 { return p.Price / cheapest })
	}
	names(g, marks, x)
	for _, t := range ticks {
		g.text("tick", "middle", x.at(t), bottom+17, units.Bytes(int64(t)))
	}
	g.text("tick", "end", right, bottom+35, "memory limit")
	return g.Done()
}

// percent is the unit of shares of a core.
var percent = units.Unit{One: .01, Name: "%"}

// sizeKey names the lines of the price.
func sizeKey(g *svg, x, y float64) {
	for _, k := range []struct{ class, name string }{{"curve s0", "together"}, {"curve s3 d1", "memory"}, {"curve s2 d2", "collections"}} {
		g.Line(k.class, x, y-4, x+22, y-4)
		g.text("tick", "start", x+28, y, k.name)
		x += 28 + textWidth(k.name) + 16
	}
}

// names writes the names of marks in rows above a drawing, each beside its line. An arrow points at one that is outside.
func names(g *svg, marks []sizeMark, x scale) {
	for i, m := range marks {
		at, y, from, name := x.at(m.at), float64(i*markRow)+14, "start", m.name
		switch {
		case m.at > x.high:
			name += " \u2192"
		case m.at < x.low:
			name = "\u2190 " + name
		}
		if shift := textWidth(name) + 6; at+shift > x.to+14 {
			from, at = "end", at-6
		} else {
			at += 6
		}
		g.text("label", from, at, y, name)
	}
}

// memoryTicks returns round sizes on a logarithmic axis, far enough from each other for their labels.
func memoryTicks(x scale) []float64 {
	var ticks []float64
	for n := 1.0; n < 1<<60 && len(ticks) < 100; n *= 2 {
		for _, t := range []float64{n, 1.5 * n} {
			if t >= x.low && t <= x.high {
				ticks = append(ticks, t)
			}
		}
	}
	return distant(ticks, x, 66)
}

// SizeCPU draws the CPU that a program used against the request and limit of the answer, and the limit that it has. It returns
// nil if the CPU used is unknown.
func SizeCPU(d *finding.Size) *Figure {
	s := &d.Seen
	rows := []struct {
		name string
		n    float64
		ok   bool
	}{
		{"mean", s.CPUMean.N, s.CPUMean.Known()},
		{"95 % of the seconds at most", s.CPUHigh.N, s.CPUHigh.Known()},
		{"99 % of the periods of 100 ms at most", s.CPUMost.N, s.CPUMost.Known()},
	}
	var quota *float64
	if n, ok := s.Quota.Get(); ok {
		quota = &n
	}
	marks := sizeAt(sizeAt(sizeAt(nil, "base", "request", d.CPURequest.Value, units.Number), "winner", "limit", d.CPULimit.Value, units.Number), "zero", "has", quota, units.Number)
	most := 0.0
	for _, r := range rows {
		if r.ok && r.n > most && !units.Odd(r.n) {
			most = r.n
		}
	}
	if most <= 0 {
		return nil
	}
	high := most
	for _, m := range marks {
		if m.class != "zero" || m.at <= afar*high { // the request is drawn before the limit that it has
			high = max(high, m.at)
		}
	}
	if units.Odd(high * 1.1) {
		return nil
	}
	f := &Figure{Title: "CPU used, in cores", Caption: "Bars: what was used. Lines: the request and limit that it needs, and the limit that it has now."}
	switch {
	case s.Quota.Known() && s.Throttled.Known():
		f.Caption += " " + units.Share(s.Throttled.N) + " of the periods were throttled."
	case s.Quota.Read() && !s.Quota.Known():
		f.Caption += " It has no CPU limit now, so nothing was throttled."
	default:
		f.Caption += " Whether it was throttled is unknown."
	}
	for _, w := range []float64{wide, narrow} {
		const left, row = 2, 42
		right, class := w-16, "wide"
		if w < 500 {
			class = "narrow"
		}
		top := float64(len(marks)*markRow + 14)
		bottom := top + float64(len(rows)*row) + 4
		g := Drawing("size "+class, w, bottom+36, "CPU used against the request and the limit", f.Caption)
		x := scale{high: high * 1.06, from: left, to: right}
		ticks, unit := fromZero(x.high, 5, nil)
		for k, label := range tickText(ticks, unit) {
			g.Line("grid", x.at(ticks[k]), top, x.at(ticks[k]), bottom)
			g.text("tick", anchor(x.at(ticks[k]), w), x.at(ticks[k]), bottom+17, label)
		}
		for i, r := range rows {
			if r.ok {
				g.rect("held", left, top+float64(i*row)+22, max(x.at(r.n)-left, 1), 12)
			}
		}
		g.Line("axis", left, bottom, right, bottom)
		for i, m := range marks {
			g.Line(m.class, x.at(m.at), float64(i*markRow)+20, x.at(m.at), bottom)
		}
		for i, r := range rows {
			value := "unknown"
			if r.ok {
				value = units.Figures(r.n, 2)
			}
			g.text("name", "start", left, top+float64(i*row)+17, r.name+": "+value)
		}
		names(g, marks, x)
		g.text("tick", "end", right, bottom+33, "cores")
		f.Charts = append(f.Charts, g.Done())
	}
	return f
}
