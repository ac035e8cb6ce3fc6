// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// SizeBroke says what was reached in a container that did not keep its bound on a metric, "" = it did.
func SizeBroke(t *finding.SizeTrial, bounded string) string {
	if t.Broken == nil {
		return ""
	}
	switch t.Broken.Code {
	case finding.BrokeBound:
		m := metric.MetricOf(bounded)
		if m == nil || t.Worst == nil {
			return message.Clean(t.Broken.Bound) + " was not measured"
		}
		return m.Words + " " + m.Print([]*float64{t.Worst})[0]
	case finding.BrokeErrors:
		for i := range t.Runs {
			if r := &t.Runs[i]; r.Errors > 0 {
				return strconv.FormatInt(r.Errors, 10) + " of " + units.Plural(int(r.Ops+r.Errors), "request") + " failed: " +
					message.Clean(r.Error)
			}
		}
	case finding.BrokeLoad:
		for i := range t.Runs {
			if r := &t.Runs[i]; r.RPS != nil && r.Invalid == "" {
				return "served " + units.Rate(*r.RPS) + "/s"
			}
		}
	case finding.BrokeNothing:
		for i := range t.Runs {
			if r := &t.Runs[i]; r.Error != "" {
				return message.Clean(r.Error)
			}
		}
	}
	return brokenText(t.Broken)
}

// SizeGoal describes what a container must keep; rate is in requests a second, nil = that of the load command.
func SizeGoal(bound string, rate *float64) string {
	goal := cmp.Or(message.Clean(bound), "all requests")
	if rate != nil {
		goal += " at " + units.Exact(*rate) + "/s"
	}
	return goal
}

// SizeTried returns the containers that an experiment tried as rows, and their head.
func SizeTried(d *finding.Size) (head []string, rows [][]string) {
	f := d.Search
	worst := "worst"
	m := metric.MetricOf(f.Metric)
	if m != nil {
		worst += " " + m.Head
	}
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
			note += SizeBroke(t, f.Metric) + "; "
		}
		rows = append(rows, []string{units.Number(t.CPU), inBytes(t.Memory), number(t.GOMEMLIMIT, inBytes),
			number(t.GOMAXPROCS, units.Number), units.Figures(t.Price, 3),
			outOf(t.Kept, t.Of), fresh, figure, note[:max(0, len(note)-2)]})
	}
	return []string{"CPUs", "memory", "GOMEMLIMIT", "GOMAXPROCS", "price", "kept", "fresh", worst, ""}, rows
}

func outOf(kept, of int) string { return strconv.Itoa(kept) + " of " + strconv.Itoa(of) }

// SizeRuns describes the runs of an experiment.
func SizeRuns(f *finding.SizeSearch) string {
	s := &f.Setup
	return "runs of " + units.Seconds(s.Window) + " after " + units.Seconds(s.WarmUp) + " of load, " +
		units.Seconds(s.Seconds) + " in all; load: " + message.Clean(cmp.Or(s.LoadCommand, s.URL))
}
