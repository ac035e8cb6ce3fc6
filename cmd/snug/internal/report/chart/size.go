// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

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
