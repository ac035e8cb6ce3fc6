// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// size prints the container that a program needs, and the curve that it is a point of.
func (p *Page) size(d *finding.Size) {
	bytes := func(n *int64) string {
		if n == nil {
			return units.None
		}
		return units.Bytes(*n)
	}
	number := func(n *float64) string {
		if n == nil {
			return units.None
		}
		return units.Number(*n)
	}
	p.line("%s: %s of memory, %s CPUs", message.Clean(d.Target), bytes(d.Memory.Value), number(d.CPULimit.Value))
	p.line("")
	procs := units.None
	if n := d.GOMAXPROCS.Value; n != nil {
		procs = strconv.FormatInt(*n, 10)
	}
	s := &d.Seen
	said := func(n float64) string { return units.Bytes(int64(n)) }
	p.table([][]string{
		{"", "needs", "has", "why"},
		{"memory limit", bytes(d.Memory.Value), content.Figure(s.Limit, units.Bytes), metric.Readable(d.Memory.Why)},
		{"GOMEMLIMIT", bytes(d.GOMEMLIMIT.Value), content.Figure(s.MemLimit, units.Bytes), metric.Readable(d.GOMEMLIMIT.Why)},
		{"CPU request", number(d.CPURequest.Value), "", metric.Readable(d.CPURequest.Why)},
		{"CPU limit", number(d.CPULimit.Value), content.Figure(s.Quota, units.Number), metric.Readable(d.CPULimit.Why)},
		{"GOMAXPROCS", procs, content.Figure(s.Procs, strconv.Itoa), metric.Readable(d.GOMAXPROCS.Why)},
	})
	if len(d.Curve) > 0 {
		p.line("")
		rows := [][]string{{"MEMORY", "GOMEMLIMIT", "HEAP GOAL", "COLLECTIONS/S", "GC CPU", "PRICE", ""}}
		for i := range d.Curve {
			c := &d.Curve[i]
			note := ""
			switch {
			case c.Chosen && c.Cheapest:
				note = "this one, the cheapest"
			case c.Chosen:
				note = "this one"
			case c.Cheapest && c.Below:
				note = "cheapest; less than was used"
			case c.Cheapest:
				note = "cheapest"
			case c.Below:
				note = "less than was used"
			}
			cost := []string{"no end", units.None, units.None}
			if c.Cycles != nil && c.GCCores != nil && c.Price != nil {
				cost = []string{units.Figures(*c.Cycles, 2), units.Figures(*c.GCCores, 2), units.Figures(*c.Price, 3)}
			}
			rows = append(rows, append(append([]string{units.Bytes(c.Memory), bytes(c.GOMEMLIMIT), units.Bytes(c.Goal)}, cost...), note))
		}
		p.table(rows)
		p.line("price: %s a core, %s a GiB (%s)", units.Exact(d.Price.Core), units.Exact(d.Price.GiB), message.Clean(d.Price.From))
	}
	p.line("")
	p.line("seen in %s: %s; live heap %s, at most %s; %s allocated a second; GC %s CPUs", units.Seconds(d.Seconds), units.Plural(d.Collections, "collection"),
		content.Figure(s.Live, said), content.Figure(s.LiveMost, said), content.Figure(s.Allocated, said), content.Figure(s.GCCores, two))
	p.line("memory in use at most %s, of it %s not Go's; Go beside objects at least %s", content.Figure(s.Used, said), content.Figure(s.Other, said), content.Figure(s.Rest, said))
	p.line("CPU: mean %s, 95 %% of the seconds at most %s, 99 %% of the periods of 100 ms at most %s; throttled %s", content.Figure(s.CPUMean, two), content.Figure(s.CPUHigh, two), content.Figure(s.CPUMost, two), content.Figure(s.Throttled, units.Share))
	if m := d.Model; m.Known() {
		p.line("%s of the way from the live heap to the heap goal was allocated between collections", two(m.N))
	}
	for _, u := range d.Unseen {
		p.line("not seen: %s", metric.Readable(u))
	}
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}

func two(x float64) string { return units.Figures(x, 2) }
