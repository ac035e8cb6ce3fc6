// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
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

// front is the drawing of a search's compromises, with the key to its numbers.
type front struct {
	Figure
	Key content.Grid
}

// tailed reports whether P99 describes a service: the loop is open, or the workload
// drives itself.
func tailed(cells []finding.Cell) bool {
	return slices.ContainsFunc(cells, func(c finding.Cell) bool {
		return c.P99 != nil && (c.Load == "self" || strings.HasSuffix(c.Load, "%") || strings.HasSuffix(c.Load, "/s"))
	})
}

// ParetoFront draws everything that a search measured: CPU against P99, or against
// memory if P99 does not describe a service. Settings that no other beats are numbered.
// It returns nil if there is nothing to draw.
func ParetoFront(d *finding.Tune) *front {
	x, m, memory := metric.MetricOf("cpu_seconds_per_op"), metric.MetricOf("p99_seconds"), metric.MetricOf("memory_peak_bytes")
	compared, what := []*metric.Metric{x, m, memory}, "CPU, P99 and memory"
	tails := tailed(d.Cells)
	if !tails {
		m, compared, what = memory, []*metric.Metric{x, memory}, "CPU and memory"
	}
	var part []int
	var xs, ys []float64
	for i := range d.Cells {
		a, b := x.Of(&d.Cells[i]), m.Of(&d.Cells[i])
		if a != nil && b != nil && !units.Odd(*a) && !units.Odd(*b) && *a > 0 && *b > 0 {
			part, xs, ys = append(part, i), append(xs, *a), append(ys, *b)
		}
	}
	if len(part) < 2 {
		return nil
	}
	cell := func(i int) (float64, float64) { return *x.Of(&d.Cells[i]), *m.Of(&d.Cells[i]) }
	var best []int
	for _, i := range d.Front {
		if slices.Contains(part, i) && !slices.Contains(best, i) {
			best = append(best, i)
		}
	}
	slices.SortStableFunc(best, func(a, b int) int {
		xa, _ := cell(a)
		xb, _ := cell(b)
		return cmp.Compare(xa, xb)
	})
	const h, top, left, bottom, right = 300, 12, 62, 40, narrow - side
	g := Drawing("front", narrow, h, "Every setting: CPU per operation against "+m.Words,
		units.Plural(len(best), "setting")+" of "+strconv.Itoa(len(part))+" are on the front: no other is at least as good in "+what+".")
	sx, xt := linear(xs, 4, left, right, units.Times)
	sy, yt := linear(ys, 5, h-bottom, top, unitsOf(m))
	for k, label := range tickText(xt, sx.unit) {
		g.Line("grid", sx.at(xt[k]), top, sx.at(xt[k]), h-bottom)
		g.text("tick", "middle", sx.at(xt[k]), h-bottom+17, label)
	}
	for k, label := range tickText(yt, sy.unit) {
		g.Line("grid", left, sy.at(yt[k]), right, sy.at(yt[k]))
		g.text("tick", "end", left-6, sy.at(yt[k])+4, label)
	}
	g.text("tick", "end", right, h-4, "CPU per operation, less is better")
	hollow, apart, once := false, false, true
	for _, i := range part {
		a, b := cell(i)
		switch {
		case slices.Contains(best, i):
		case slices.ContainsFunc(best, func(o int) bool { return beats(&d.Cells[o], &d.Cells[i], compared) }):
			g.circle("dominated", sx.at(a), sy.at(b), 4)
			hollow = true
		default:
			g.circle("apart", sx.at(a), sy.at(b), 4)
			apart = true
			once = once && content.Counted(&d.Cells[i]) < 2
		}
	}
	var numbers, names []string
	var discs [][2]float64
	for k, i := range best {
		a, b := cell(i)
		at := [2]float64{sx.at(a), sy.at(b)}
		free := apartFrom(discs, at, [4]float64{left + 10, top, right, h - bottom - 10})
		if free != at {
			g.circle("chosen", at[0], at[1], 3)
			g.Line("leader", at[0], at[1], free[0], free[1])
		}
		discs = append(discs, free)
		g.circle("chosen", free[0], free[1], 9)
		g.text("number", "middle", free[0], free[1]+4, strconv.Itoa(k+1))
		numbers, names = append(numbers, strconv.Itoa(k+1)), append(names, content.ArmName(&d.Cells[i]))
	}
	for _, i := range part {
		a, b := cell(i)
		if slices.Contains(d.Cells[i].Labels, "default") {
			g.rect("standard", sx.at(a)-6, sy.at(b)-6, 12, 12)
			g.text("label", anchor(sx.at(a), narrow), sx.at(a), sy.at(b)-11, "default")
		}
		if d.Verdict.Best != nil && *d.Verdict.Best == i && !d.Verdict.Keep {
			g.circle("winner", sx.at(a), sy.at(b), 12)
		}
	}
	f := &front{}
	f.Title = "CPU against " + m.Words
	f.Caption = "Numbered: the front, no other setting is at least as good in " + what + "."
	if hollow {
		f.Caption += " Hollow: not on the front, another setting is at least as good in " + what + "."
	}
	switch {
	case apart && once:
		f.Caption += " Dashed: measured once, so it cannot be on the front."
	case apart:
		f.Caption += " Dashed: it failed, lacks a figure or was measured too rarely to be on the front."
	}
	f.Caption += " Square: the default."
	if d.Verdict.Best != nil && !d.Verdict.Keep {
		f.Caption += " Ring: the winner."
	}
	f.Charts = []template.HTML{g.Done()}
	var cpu, tail, peak []*float64
	for _, i := range best {
		c := &d.Cells[i]
		cpu, tail, peak = append(cpu, x.Of(c)), append(tail, c.P99), append(peak, metric.Float(c.Peak))
	}
	f.Key.Add("", numbers)
	f.Key.Key("setting", names)
	f.Key.Add("CPU/op", metric.Durations(cpu))
	if tails {
		f.Key.Add("P99", metric.Durations(tail))
	}
	f.Key.Add("memory", metric.Amounts(peak))
	return f
}

// apartFrom returns a place near the wanted one for a disc with a number that is in a box, left,
// top, right and bottom, and does not cover others.
func apartFrom(others [][2]float64, wanted [2]float64, box [4]float64) [2]float64 {
	covers := func(at [2]float64) bool {
		return slices.ContainsFunc(others, func(o [2]float64) bool { return math.Hypot(o[0]-at[0], o[1]-at[1]) < 20 })
	}
	for away := 0.0; away < 120 && covers(wanted); away += 10 {
		for turn := range 12 {
			angle := float64(turn) * math.Pi / 6
			at := [2]float64{wanted[0] + away*math.Cos(angle), wanted[1] - away*math.Sin(angle)}
			if at[0] >= box[0] && at[1] >= box[1] && at[0] <= box[2] && at[1] <= box[3] && !covers(at) {
				return at
			}
		}
	}
	return wanted
}

// beats reports whether a is at least as good as b in all the given metrics, and both
// have them.
func beats(a, b *finding.Cell, in []*metric.Metric) bool {
	for _, m := range in {
		x, y := m.Of(a), m.Of(b)
		if x == nil || y == nil || !(*x <= *y) {
			return false
		}
	}
	return true
}
