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
