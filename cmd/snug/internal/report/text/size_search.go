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

// sizeSearch prints the container that an experiment found, and what was tried.
func (p *Page) sizeSearch(d *finding.Size) {
	f := d.Search
	goal := message.Clean(f.Bound)
	if goal == "" {
		goal = "all requests"
	}
	if f.Rate != nil {
		goal += " at " + units.Exact(*f.Rate) + "/s"
	}
	if f.Shown && d.Memory.Value != nil && d.CPULimit.Value != nil {
		p.line("%s: %s of memory and %s keep %s", message.Clean(d.Target), bytesOf(*d.Memory.Value), units.CPUs(*d.CPULimit.Value), goal)
	} else {
		p.line("%s: %s", message.Clean(d.Target), metric.Readable(d.Memory.Why))
	}
	p.line("")
	rows := [][]string{{"", "needs", "why"}}
	for _, r := range [...]struct {
		name string
		v    *finding.SizeValue
		as   func(float64) string
	}{
		{"memory limit", &d.Memory, bytesOf}, {"GOMEMLIMIT", &d.GOMEMLIMIT, bytesOf}, {"CPU request", &d.CPURequest, units.Number},
		{"CPU limit", &d.CPULimit, units.Number}, {"GOMAXPROCS", &d.GOMAXPROCS, units.Number},
	} {
		if f.Shown {
			rows = append(rows, []string{r.name, printed(r.v.Value, r.as), metric.Readable(r.v.Why)})
		}
	}
	if f.Shown {
		p.table(rows)
		p.line("")
	}
	worst := "WORST"
	m := metric.MetricOf(f.Metric)
	if m != nil {
		worst += " " + m.Head
	}
	rows = [][]string{{"CPUS", "MEMORY", "GOMEMLIMIT", "GOMAXPROCS", "PRICE", "KEPT", "FRESH", worst, ""}}
	for i := range f.Tried {
		t := &f.Tried[i]
		fresh, figure, note := "", "", ""
		if t.Fresh != nil {
			fresh = outOf(t.Fresh.Kept, t.Fresh.Of)
		}
		if m != nil && t.Worst != nil {
			figure = m.Print([]*float64{t.Worst})[0]
		}
		if f.Answer != nil && *f.Answer == i {
			note = "this one; "
		}
		if i == 0 {
			note += "the roomiest, watched; "
		}
		if t.Predicted {
			note += "predicted; "
		}
		if t.Broken != nil && (t.Broken.Code != finding.BrokeBound || t.Worst == nil) {
			note += content.SizeBroke(t, f.Metric) + "; "
		}
		rows = append(rows, []string{units.Number(t.CPU), bytesOf(t.Memory), printed(t.GOMEMLIMIT, bytesOf), printed(t.GOMAXPROCS, units.Number), units.Figures(t.Price, 3),
			outOf(t.Kept, t.Of), fresh, figure, note[:max(0, len(note)-2)]})
	}
	p.table(rows)
	p.line("price: %s a core, %s a GiB (%s)", units.Exact(d.Price.Core), units.Exact(d.Price.GiB), message.Clean(d.Price.From))
	p.line("")
	p.line("runs of %s after %s of load, %s in all; load: %s", units.Seconds(f.Setup.Window), units.Seconds(f.Setup.WarmUp), units.Seconds(f.Setup.Seconds), message.Clean(loadOf(&f.Setup)))
	for _, u := range d.Unseen {
		p.line("not shown: %s", metric.Readable(u))
	}
	p.notes(nil, d.Unknown)
	p.next(d.Next)
}

func loadOf(s *finding.Setup) string {
	if s.LoadCommand != "" {
		return s.LoadCommand
	}
	return s.URL
}

func outOf(kept, of int) string { return strconv.Itoa(kept) + " of " + strconv.Itoa(of) }

// printed formats a number that may be left to Go.
func printed(n *float64, as func(float64) string) string {
	if n == nil {
		return units.None
	}
	return as(*n)
}

func bytesOf(n float64) string { return units.Bytes(int64(n)) }
