// SPDX-License-Identifier: Apache-2.0

package content

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// SizeVerdict returns the answer of snug size in a line.
func SizeVerdict(d *finding.Size) string {
	if f := d.Search; f != nil {
		if f.Shown && d.Memory.Value != nil && d.CPULimit.Value != nil {
			return message.Clean(d.Target) + ": " + inBytes(*d.Memory.Value) + " of memory and " +
				units.CPUs(*d.CPULimit.Value) + " keep " + SizeGoal(f.Bound, f.Rate)
		}
		return message.Clean(d.Target) + ": " + Reason(&d.Memory.Why)
	}
	verdict := message.Clean(d.Target) + ": " + number(d.Memory.Value, inBytes) + " of memory, " + number(d.CPULimit.Value,
		units.CPUs)
	if more := growing(d); more != "" {
		verdict += "; " + more
	}
	return verdict
}

// SetLimit is the cure for a heap that nothing ends.
const SetLimit = "set GOMEMLIMIT to nine tenths of the memory that you can give, and watch it again"

// SizeCaveats returns what goes with values that are written without the rest of the answer, a line each.
func SizeCaveats(d *finding.Size) (all []string) {
	not := "not seen: "
	if d.Search != nil {
		not = "not shown: "
	}
	if more := growing(d); more != "" {
		all = append(all, "warning: "+more)
	}
	for i := range d.Unseen {
		all = append(all, not+Reason(&d.Unseen[i]))
	}
	return all
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

// SizeValues returns the decided values as rows below SizeValuesHead.
func SizeValues(d *finding.Size) [][]string {
	var rows [][]string
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
		{"CPU limit", &d.CPULimit, units.Number, seen(&s.Quota, units.Number)},
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

// SizeValuesHead is the head of SizeValues.
var SizeValuesHead = []string{"", "needs", "at least", "has", "why"}

// SizeCurve returns the memory limits around the answer as rows: limit, GOMEMLIMIT, heap goal, collections a second,
// their
// CPU, price, and what is special. around is the number of rows on each side; the cheapest is always there.
func SizeCurve(d *finding.Size, around int) [][]string {
	var rows [][]string
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
		rows = append(rows, []string{inBytes(c.Memory), number(c.GOMEMLIMIT, inBytes), inBytes(c.Goal), twoFigures(c.Cycles),
			twoFigures(c.GCCores), units.Figures(c.Price, 3), note[:max(0, len(note)-2)]})
	}
	return rows
}

// SizePrice returns the price that the answer is by.
func SizePrice(d *finding.Size) string {
	return units.Exact(d.Price.Core) + " a core, " + units.Exact(d.Price.GiB) + " a GiB (" + message.Clean(d.Price.From) +
		")"
}

// SizeSeen returns what was seen of the program, a line for each kind of figure.
func SizeSeen(d *finding.Size) []string {
	s := &d.Seen
	all := []string{
		"seen in " + units.Seconds(d.Seconds) + ": " + units.Plural(d.Collections, "collection") + "; live heap " +
			seen(&s.Live, inBytes) + ", at most " + seen(&s.LiveMost, inBytes) +
			"; " + seen(&s.Allocated, inBytes) + " allocated a second; GC " + seen(&s.GCCores, twoFigures) + " CPUs",
		"memory in use at most " + seen(&s.Used, inBytes) + ", of it " + seen(&s.Other, inBytes) +
			" not Go's; Go beside objects at least " + seen(&s.Rest, inBytes),
		"CPU: mean " + seen(&s.CPUMean, twoFigures) + ", 95 % of the seconds at most " + seen(&s.CPUHigh, twoFigures) +
			", 99 % of the periods of 100 ms at most " + seen(&s.CPUMost, twoFigures) +
			"; throttled " + seen(&s.Throttled, units.Share),
	}
	if d.Model.Known() {
		all = append(all, twoFigures(d.Model.N)+" of the way from the live heap to the heap goal was allocated "+
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
// GOMAXPROCS
// that Go chooses by itself is left out.
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
	env := ""
	if c.GOMAXPROCS != "" {
		env = "  - name: GOMAXPROCS\n    value: \"" + c.GOMAXPROCS + "\"\n"
	}
	if c.GOMEMLIMIT != "" {
		if strings.Trim(c.GOMEMLIMIT, "0123456789") == "" {
			c.GOMEMLIMIT = strconv.Quote(c.GOMEMLIMIT) // YAML's numbers are no text
		}
		env += "  - name: GOMEMLIMIT\n    value: " + c.GOMEMLIMIT + "\n"
	}
	if env != "" {
		text += "env:\n" + env
	}
	return text, nil
}

// number formats a number that may be unknown.
func number(n *float64, as func(float64) string) string {
	if n == nil {
		return units.None
	}
	return as(*n)
}

// seen is Figure, once for all figures.
//
//go:noinline
func seen(f *figure.Of[float64], as func(float64) string) string { return Figure(*f, as) }

func inBytes(n float64) string { return units.Bytes(int64(n)) }

func twoFigures(x float64) string { return units.Figures(x, 2) }
