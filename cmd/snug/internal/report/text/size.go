// SPDX-License-Identifier: Apache-2.0

package text

import (
	"slices"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// around is how many rows of the curve are printed on each side of the answer.
const around = 2

// size prints the container that a program needs, and the curve that it is a point of.
func (p *Page) size(d *finding.Size) {
	s := &d.Seen
	p.line("%s: %s of memory, %s", message.Clean(d.Target), known(d.Memory.Value, inBytes), known(d.CPULimit.Value, units.CPUs))
	p.line("")
	rows := [][]string{{"", "needs", "at least", "has", "why"}}
	for _, r := range []struct {
		name string
		v    *finding.SizeValue
		as   func(float64) string
		has  string
	}{
		{"memory limit", &d.Memory, inBytes, content.Figure(s.Limit, units.Bytes)},
		{"GOMEMLIMIT", &d.GOMEMLIMIT, inBytes, content.Figure(s.MemLimit, units.Bytes)},
		{"CPU request", &d.CPURequest, units.Number, ""},
		{"CPU limit", &d.CPULimit, units.Number, seen(&s.Quota, units.Number)},
		{"GOMAXPROCS", &d.GOMAXPROCS, units.Number, content.Figure(s.Procs, strconv.Itoa)},
	} {
		least := ""
		if r.v.Least != nil {
			least = r.as(*r.v.Least)
		}
		rows = append(rows, []string{r.name, known(r.v.Value, r.as), least, r.has, metric.Readable(r.v.Why)})
	}
	p.table(rows)
	if len(d.Curve) > 0 {
		p.line("")
		rows = [][]string{{"MEMORY", "GOMEMLIMIT", "HEAP GOAL", "COLLECTIONS/S", "GC CPU", "PRICE", ""}}
		chosen := slices.IndexFunc(d.Curve, func(c finding.SizePoint) bool { return c.Chosen })
		for i := range d.Curve {
			c, note := &d.Curve[i], ""
			if (i < chosen-around || i > chosen+around) && !c.Cheapest {
				continue
			}
			if c.Chosen {
				note = "this one; "
			}
			if c.Cheapest {
				note += "cheapest; "
			}
			if c.Below {
				note += "less than was used; "
			}
			rows = append(rows, []string{inBytes(c.Memory), known(c.GOMEMLIMIT, inBytes), inBytes(c.Goal), two(c.Cycles), two(c.GCCores), units.Figures(c.Price, 3), note[:max(0, len(note)-2)]})
		}
		p.table(rows)
		p.line("price: %s a core, %s a GiB (%s)", units.Exact(d.Price.Core), units.Exact(d.Price.GiB), message.Clean(d.Price.From))
	}
	p.line("")
	p.line("seen in %s: %s; live heap %s, at most %s; %s allocated a second; GC %s CPUs", units.Seconds(d.Seconds), units.Plural(d.Collections, "collection"),
		seen(&s.Live, inBytes), seen(&s.LiveMost, inBytes), seen(&s.Allocated, inBytes), seen(&s.GCCores, two))
	p.line("memory in use at most %s, of it %s not Go's; Go beside objects at least %s", seen(&s.Used, inBytes), seen(&s.Other, inBytes), seen(&s.Rest, inBytes))
	p.line("CPU: mean %s, 95 %% of the seconds at most %s, 99 %% of the periods of 100 ms at most %s; throttled %s", seen(&s.CPUMean, two), seen(&s.CPUHigh, two), seen(&s.CPUMost, two), seen(&s.Throttled, units.Share))
	if d.Model.Known() {
		p.line("%s of the way from the live heap to the heap goal was allocated between collections", two(d.Model.N))
	}
	for _, u := range d.Unseen {
		p.line("not seen: %s", metric.Readable(u))
	}
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}

// known formats a number that may be unknown.
func known(n *float64, as func(float64) string) string {
	if n == nil {
		return units.None
	}
	return as(*n)
}

// seen is content.Figure, once for all figures.
//
//go:noinline
func seen(f *figure.Of[float64], as func(float64) string) string { return content.Figure(*f, as) }

func inBytes(n float64) string { return units.Bytes(int64(n)) }

func two(x float64) string { return units.Figures(x, 2) }
