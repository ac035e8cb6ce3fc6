// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// SizeVerdict returns the answer of snug size in a line.
func SizeVerdict(d *finding.Size) string {
	target, f := message.Clean(d.Target)+": ", d.Search
	switch {
	case f == nil:
		memory, cpus := number(d.Memory.Value, inBytes), number(d.CPULimit.Value, units.CPUs)
		return units.Join("; ", target+memory+" of memory, "+cpus, growing(d))
	case f.Shown && d.Memory.Value != nil && d.CPULimit.Value != nil:
		return target + inBytes(*d.Memory.Value) + " of memory and " + units.CPUs(*d.CPULimit.Value) + " keep " +
			SizeGoal(f.Bound, f.Rate)
	}
	return target + Reason(&d.Memory.Why)
}

// SetLimit is the cure for a heap that nothing ends.
const SetLimit = "set GOMEMLIMIT to nine tenths of the memory that you can give, and watch it again"

// SizeCaveats returns what goes with values that are written without the rest of the answer, a line each.
func SizeCaveats(d *finding.Size) (all []string) {
	if more := growing(d); more != "" {
		all = append(all, "warning: "+more)
	}
	return append(all, SizeUnseen(d.Unseen, d.Search)...)
}

// SizeUnseen returns what a watch could not show, or an experiment, a line each.
func SizeUnseen(all []finding.Why, search *finding.SizeSearch) []string {
	return units.Texts(all, func(w finding.Why) string {
		return units.If(search == nil, "not seen: ") + units.If(search != nil, "not shown: ") + Reason(&w)
	})
}

// growing says how long the memory lasts if the live heap goes on growing at the pace of the watch; "" = it did not
// grow.
func growing(d *finding.Size) string {
	s := &d.Seen
	if !(s.Growth.N > 0 && d.Seconds > 0) {
		return ""
	}
	more := "its live heap grows by " + inBytes(s.Growth.N*60/d.Seconds) + " a minute"
	if d.Memory.Value != nil {
		room := *d.Memory.Value - s.LiveMost.N - s.Rest.N - s.Other.N
		if n := d.GOMEMLIMIT.Value; n != nil { // above it collections run all the time
			room = min(room, *n-s.LiveMost.N-s.Rest.N)
		}
		if minutes := math.Floor(room / s.Growth.N * d.Seconds / 60); minutes >= 1 {
			more += ", which fills that within " + units.Plural(minutes+1, "minute")
		} else {
			more += ", which fills that within a minute"
		}
	}
	return more
}

// SizeValues returns the decided values as rows below their head.
func SizeValues(d *finding.Size) [][]string {
	rows := [][]string{{"", "needs", "at least", "has", "why"}}
	s := &d.Seen
	for _, r := range []struct {
		name string
		v    *finding.SizeValue
		as   func(float64) string
		has  string
	}{
		{"memory limit", &d.Memory, inBytes, Figure(s.Limit, units.Bytes)},
		{"GOMEMLIMIT", &d.GOMEMLIMIT, inBytes, Figure(s.MemLimit, units.Bytes)},
		{"CPU request", &d.CPURequest, units.Number, ""},
		{"CPU limit", &d.CPULimit, units.Number, Figure(s.Quota, units.Number)},
		{"GOMAXPROCS", &d.GOMAXPROCS, units.Number, Figure(s.Procs, strconv.Itoa)},
	} {
		least := ""
		if r.v.Least != nil {
			least = r.as(*r.v.Least)
		}
		rows = append(rows, []string{r.name, number(r.v.Value, r.as), least, r.has, Reason(&r.v.Why)})
	}
	return rows
}

// SizeCurve returns the memory limits around the answer as rows: limit, GOMEMLIMIT, heap goal, collections a second,
// their CPU, price, and what is special. around is the number of rows on each side; the cheapest is always there.
func SizeCurve(d *finding.Size, around int) [][]string {
	var rows [][]string
	chosen := slices.IndexFunc(d.Curve, func(c finding.SizePoint) bool { return c.Chosen })
	for i := range d.Curve {
		c := &d.Curve[i]
		if (i < chosen-around || i > chosen+around) && !c.Cheapest {
			continue
		}
		note := units.Join("; ", units.If(c.Chosen, "this one"), units.If(c.Cheapest, "cheapest"),
			units.If(c.Below, "less than was used"))
		rows = append(rows, []string{inBytes(c.Memory), number(c.GOMEMLIMIT, inBytes), inBytes(c.Goal), TwoFigures(c.Cycles),
			TwoFigures(c.GCCores), Money(c.Price), note})
	}
	return rows
}

// SizePrice returns the price that the answer is by.
func SizePrice(p *finding.SizePrice) string {
	return units.Exact(p.Core) + " a core, " + units.Exact(p.GiB) + " a GiB (" + message.Clean(p.From) + ")"
}

// SizeSeen returns what was seen of the program, a line for each kind of figure.
func SizeSeen(d *finding.Size) []string {
	s := &d.Seen
	all := []string{
		"seen in " + units.Seconds(d.Seconds) + ": " + units.Plural(d.Collections, "collection") + "; live heap " +
			Figure(s.Live, inBytes) + ", at most " + Figure(s.LiveMost, inBytes) +
			"; " + Figure(s.Allocated, inBytes) + " allocated a second; GC " + Figure(s.GCCores, TwoFigures) + " CPUs",
		"memory in use at most " + Figure(s.Used, inBytes) + ", of it " + Figure(s.Other, inBytes) +
			" not Go's; Go beside objects at least " + Figure(s.Rest, inBytes),
		"CPU: mean " + Figure(s.CPUMean, TwoFigures) + ", 95 % of the seconds at most " + Figure(s.CPUHigh, TwoFigures) +
			", 99 % of the periods of 100 ms at most " + Figure(s.CPUMost, TwoFigures) +
			"; throttled " + Figure(s.Throttled, units.Share),
	}
	if d.Model.Known() {
		all = append(all, TwoFigures(d.Model.N)+" of the way from the live heap to the heap goal was allocated "+
			"between collections")
	}
	return all
}

// SizeContainer is an answer in the words of a container of Kubernetes; "" = left out.
type SizeContainer struct {
	CPURequest, CPULimit, Memory string // Memory is both the request and the limit
	GOMAXPROCS, GOMEMLIMIT       string
}

// SizeContainerOf returns an answer in the words of Kubernetes, or why a value of it is missing; nil = none is. A
// GOMAXPROCS that Go chooses by itself is left out.
func SizeContainerOf(d *finding.Size) (c SizeContainer, why *finding.Why) {
	for _, v := range [...]*finding.SizeValue{&d.Memory, &d.CPURequest, &d.CPULimit} {
		if v.Value == nil {
			return c, &v.Why
		}
	}
	milli := func(cores float64) string { return strconv.FormatFloat(cores*1000, 'f', 0, 64) + "m" }
	c.CPURequest, c.CPULimit = milli(*d.CPURequest.Value), milli(*d.CPULimit.Value)
	c.Memory = strconv.FormatInt(int64(*d.Memory.Value)>>20, 10) + "Mi"
	if n := d.GOMAXPROCS.Value; n != nil && !d.ByGo {
		c.GOMAXPROCS = strconv.FormatFloat(*n, 'f', 0, 64)
	}
	if n := d.GOMEMLIMIT.Value; n != nil {
		c.GOMEMLIMIT = units.GoMebibytes(int64(*n))
	}
	return c, nil
}

// SizePatch returns an answer as a part of a container in a manifest, or why a value of it is missing.
func SizePatch(d *finding.Size) (text string, why *finding.Why) {
	c, why := SizeContainerOf(d)
	if why != nil {
		return "", why
	}
	text = "resources:\n  requests:\n    cpu: " + c.CPURequest + "\n    memory: " + c.Memory + "\n  limits:\n    cpu: " +
		c.CPULimit + "\n    memory: " + c.Memory + "\n"
	env := units.If(c.GOMAXPROCS != "", "  - name: GOMAXPROCS\n    value: \""+c.GOMAXPROCS+"\"\n")
	if c.GOMEMLIMIT != "" {
		if strings.Trim(c.GOMEMLIMIT, "0123456789") == "" {
			c.GOMEMLIMIT = strconv.Quote(c.GOMEMLIMIT) // YAML's numbers are no text
		}
		env += "  - name: GOMEMLIMIT\n    value: " + c.GOMEMLIMIT + "\n"
	}
	text += units.If(env != "", "env:\n"+env)
	return text, nil
}

// number formats a number that may be unknown.
func number(n *float64, as func(float64) string) string { return units.Each([]*float64{n}, as)[0] }

func inBytes(n float64) string { return units.Bytes(int64(n)) }

func TwoFigures(x float64) string { return units.Figures(x, 2) }

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

// SizeTried returns the containers that an experiment tried as rows below their head.
func SizeTried(d *finding.Size) [][]string {
	f := d.Search
	worst := "worst"
	m := metric.MetricOf(f.Metric)
	if m != nil {
		worst += " " + m.Head
	}
	rows := [][]string{{"CPUs", "memory", "GOMEMLIMIT", "GOMAXPROCS", "price", "kept", "fresh", worst, ""}}
	for i := range f.Tried {
		t := &f.Tried[i]
		fresh, figure, broke := "", "", ""
		if t.Fresh != nil {
			fresh = outOf(t.Fresh.Kept, t.Fresh.Of)
		}
		if m != nil && t.Worst != nil {
			figure = m.Print([]*float64{t.Worst})[0]
		}
		if t.Broken != nil && (t.Broken.Code != finding.BrokeBound || t.Worst == nil) {
			broke = SizeBroke(t, f.Metric)
		}
		note := units.Join("; ", units.If(f.Answer != nil && *f.Answer == i, "this one"),
			units.If(i == 0, "the roomiest, watched"), units.If(t.Predicted, "predicted"), broke)
		rows = append(rows, []string{units.Number(t.CPU), inBytes(t.Memory), number(t.GOMEMLIMIT, inBytes),
			number(t.GOMAXPROCS, units.Number), Money(t.Price), outOf(t.Kept, t.Of), fresh, figure, note})
	}
	return rows
}

func outOf(kept, of int) string { return strconv.Itoa(kept) + " of " + strconv.Itoa(of) }

// SizeRuns describes the runs of an experiment.
func SizeRuns(f *finding.SizeSearch) string {
	s := &f.Setup
	return "runs of " + units.Seconds(s.Window) + " after " + units.Seconds(s.WarmUp) + " of load, " +
		units.Seconds(s.Seconds) + " in all; load: " + message.Clean(cmp.Or(s.LoadCommand, s.URL))
}
