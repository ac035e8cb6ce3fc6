// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"cmp"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// ParetoFront draws everything that a search measured: CPU against P99, or against
// memory if P99 does not describe a service: the loop is closed, or the workload does not drive
// itself. Settings that no other beats are numbered. The grid is the key to the numbers. It
// returns nil if there is nothing to draw.
func ParetoFront(d *finding.Tune) (*Figure, content.Grid) {
	x, y, what := metric.MetricOf(metric.CPU), metric.MetricOf(metric.Peak), "CPU and memory"
	tails := slices.ContainsFunc(d.Cells, func(c finding.Cell) bool {
		return c.P99 != nil && (c.Load == "self" || strings.HasSuffix(c.Load, "%") || strings.HasSuffix(c.Load, "/s"))
	})
	if tails {
		y, what = metric.MetricOf(metric.P99), "CPU, P99 and memory"
	}
	p := plot{class: "front", title: "Every setting: CPU per operation against " + y.Words,
		under: "CPU per operation, less is better"}
	var best []int
	var xs, ys []float64
	q := panel{height: 250}
	for i := range d.Cells {
		c := &d.Cells[i]
		a, b := x.Of(c), y.Of(c)
		if a == nil || b == nil || units.Odd(*a) || units.Odd(*b) || *a <= 0 || *b <= 0 {
			continue
		}
		xs, ys = append(xs, *a), append(ys, *b)
		if slices.Contains(d.Front, i) {
			best = append(best, i)
		} else {
			q.dots = append(q.dots, dot{class: "apart", x: *a, y: *b, r: 4})
		}
		if slices.Contains(c.Labels, "default") {
			q.dots = append(q.dots, dot{class: "standard", words: "default", x: *a, y: *b, r: 7})
		}
		if d.Verdict.Best != nil && *d.Verdict.Best == i && !d.Verdict.Keep {
			q.dots = append(q.dots, dot{class: "winner", x: *a, y: *b, r: 12})
		}
	}
	if len(xs) < 2 {
		return nil, content.Grid{}
	}
	slices.SortStableFunc(best, func(a, b int) int { return cmp.Compare(*x.Of(&d.Cells[a]), *x.Of(&d.Cells[b])) })
	f := &Figure{}
	var key content.Grid
	var numbers, names []string
	var cpu, tail, peak []*float64
	for k, i := range best {
		c := &d.Cells[i]
		numbers, names = append(numbers, strconv.Itoa(k+1)), append(names, content.ArmName(c))
		q.dots = append(q.dots, dot{class: "chosen", words: numbers[k], x: *x.Of(c), y: *y.Of(c), r: numbered})
		cpu, tail, peak = append(cpu, x.Of(c)), append(tail, c.P99), append(peak, metric.Float(c.Peak))
	}
	p.desc = units.Plural(len(best), "setting") + " of " + strconv.Itoa(len(xs)) + " are on the front: no other is at " +
		"least as good in " + what + "."
	p.x, q.y = linear(xs, 4, units.Times), linear(ys, 5, unitsOf(y))
	p.panels = []panel{q}
	f.Title = "CPU against " + y.Words
	f.Caption = "Numbered: the front, no other setting is at least as good in " + what +
		". Dashed: another setting is, or it failed, lacks a figure or was measured too rarely to be on the front. " +
		"Ring: the default"
	if d.Verdict.Best != nil && !d.Verdict.Keep {
		f.Caption += "; the larger, the winner"
	}
	f.Caption += "."
	f.Charts = []template.HTML{p.draw(narrow, "")}
	key.Add("", numbers)
	key.Key("setting", names)
	key.Add("CPU/op", metric.Durations(cpu))
	if tails {
		key.Add("P99", metric.Durations(tail))
	}
	key.Add("memory", metric.Amounts(peak))
	return f, key
}

// known returns the mark of a value, if it is known and can be drawn.
func known(class, name string, at *float64) []mark {
	if at == nil || units.Odd(*at) || *at <= 0 {
		return nil
	}
	return []mark{{class, name + " " + units.Bytes(int64(*at)), *at}}
}

// maxSizePoints bounds what is drawn of a curve.
const maxSizePoints = 100

// SizeCurve draws the memory limits around the answer against the CPU of collections and the price. It returns nil if
// there
// is no curve.
func SizeCurve(d *finding.Size) *Figure {
	cpu := line{name: "CPU of collections", kind: 1}
	var price, core, memory line
	price.name, core.name, core.kind, memory.name, memory.kind = "price", "of it collections", 2, "of it memory", 3
	var dots []dot
	for _, p := range d.Curve {
		if !(p.Memory > 0) || !(p.GCCores >= 0) || units.Odd(p.Memory) || units.Odd(p.GCCores) || len(dots) == maxSizePoints {
			continue
		}
		cpu.x, cpu.y = append(cpu.x, p.Memory), append(cpu.y, p.GCCores)
		price.y = append(price.y, p.Price)
		core.y, memory.y = append(core.y, d.Price.Core*p.GCCores), append(memory.y, d.Price.GiB*p.Memory/(1<<30))
		at := dot{class: "point", x: p.Memory, y: p.GCCores, r: 4}
		if p.Below {
			at.class = "point open"
		}
		if dots = append(dots, at); p.Chosen {
			dots = append(dots, dot{class: "winner", x: p.Memory, y: p.GCCores, r: 8})
		}
	}
	if len(cpu.x) < 2 {
		return nil
	}
	p := plot{class: "size", title: "Memory limit against the CPU of collections and the price",
		desc: content.SizeVerdict(d) + ".", under: "memory limit"}
	marks := append(known("base", "at least", d.Memory.Least), known("winner", "needs", d.Memory.Value)...)
	all := slices.Clone(cpu.x)
	for _, m := range marks {
		all = append(all, m.at)
	}
	low, high, _ := units.Span(all)
	p.marks = marks // and the limit that it has, which may be far away: the axis does not follow it
	if n, ok := d.Seen.Limit.Get(); ok {
		p.marks = append(marks, known("zero", "has", new(float64(n)))...)
	}
	p.x = axis{low: low / 1.08, high: high * 1.08, log: true}
	for n := 1.0; n < 1<<60; n *= 2 {
		for _, t := range []float64{n, 1.5 * n} {
			if t >= p.x.low && t <= p.x.high {
				p.x.ticks = append(p.x.ticks, tick{t, units.Bytes(int64(t))})
			}
		}
	}
	_, most, _ := units.Span(cpu.y)
	p.panels = []panel{{head: "CPU of collections, of a core", height: 130, y: fromZero(most*1.1, 4, percent),
		lines: []line{cpu}, dots: dots}}
	if cheapest, dearest, _ := units.Span(price.y); cheapest > 0 && !units.Odd(dearest/cheapest) {
		for _, l := range []*line{&price, &core, &memory} {
			l.x = cpu.x
			for i := range l.y {
				l.y[i] /= cheapest
			}
		}
		p.panels = append(p.panels, panel{head: "price, in multiples of the cheapest", height: 130,
			y: fromZero(dearest/cheapest*1.05, 4, nil), lines: []line{price, memory, core}})
	}
	return &Figure{Title: "More memory, fewer collections", Charts: p.both(), Caption: "What the model expects of each " +
		"memory limit. Ring: the advice. " +
		"Hollow: less than was used, which may be garbage. Left of the least it might be killed."}
}
