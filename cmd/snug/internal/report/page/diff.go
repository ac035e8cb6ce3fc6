// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// FlameDiff writes a comparison of two CPU profiles as one self-contained page like that of Flame. The
// drawing is of both profiles added up, so that what only one of them does has its place. Colours
// and signs show in which profile a call takes more CPU time, if that can be shown.
func FlameDiff(w io.Writer, c *cpuprof.Comparison, d *finding.ProfileDiff) error {
	v := profileView("profile", d.A.Target+" and "+d.B.Target, "A: "+content.ProfiledText(&d.A),
		"B: "+content.ProfiledText(&d.B))
	v.Verdict, v.Next = content.DiffVerdict(d), d.Next
	var rows [][]string
	var shades []string
	add := func(c *finding.Change, name string, words ...string) {
		rows = append(rows, append(append([]string{name}, content.ChangeCells(d, c)...), words...))
		shades = append(shades, shade(c.A, c.B, c.Shown))
	}
	part := func(caption, what string, words ...string) { // has the rows that were added
		head := append([]string{what, "A", "B", "difference", "interval"}, words...)
		if len(rows) > 0 {
			v.Parts = append(v.Parts, Part{Title: caption, Intro: "Amounts are " + content.DiffUnit(d) +
				"; ~ is no difference that can be shown.", Tables: []table{named(worded(caption, head, rows), shades)}})
		}
		rows, shades = nil, nil
	}
	for i := range d.Classes {
		add(&d.Classes[i].Change, d.Classes[i].ID, d.Classes[i].Words)
	}
	part("What the CPU time went to", "class", "what it is")
	if len(d.Classes) > 0 {
		for _, sum := range content.Sums(d) {
			add(sum.Change, sum.Name, sum.Of)
		}
	}
	part("Sums of classes", "class", "what it is")
	for i := range d.Functions {
		add(&d.Functions[i].Change, d.Functions[i].Function)
	}
	part("Functions of the program, with the work of the runtime and the kernel for them", "function")
	v.Notes = append([]string{"Each list of intervals, and all frames of the drawing, hold as a whole with " +
		units.Share(d.Confidence) + " confidence."}, d.Caveats...)
	frames := make([]frame, len(c.Calls))
	for i, call := range c.Calls {
		x := Change(call.Change)
		cells := content.ChangeCells(d, &x)
		f := frame{Call: call.Call, group: shade(call.A, call.B, call.Shown())}
		f.about = strings.TrimSuffix("A "+cells[0]+", B "+cells[1]+": "+cells[2]+" "+cells[3], " ")
		if call.Depth > 0 {
			f.about += "; " + string(call.Class)
			if call.Shown() && call.Difference() > 0 {
				f.tag = "+ "
			} else if call.Shown() {
				f.tag = "− "
			}
		}
		frames[i] = f
	}
	return v.flame(w, graph{Title: "Who called whom", Intro: "Width is the CPU time of A and B together; a call stands " +
		"under its caller. Colour and sign show in which of them a call takes more.", Key: []colour{
		{[]string{"more1", "more2", "more3"}, "+ more in B: up to 2 times, up to 5 times, more"},
		{[]string{"less1", "less2", "less3"}, "− more in A, likewise"},
		{[]string{"even"}, "no difference that can be shown"},
	}}, frames)
}

// shade returns the colour of a change: how many times as much the larger amount is, in three steps.
func shade(a, b float64, shown bool) string {
	if !shown {
		return "even"
	}
	way, step := "more", 3
	if b < a {
		way = "less"
	}
	switch times := max(a, b) / min(a, b); {
	case times <= 2:
		step = 1
	case times <= 5:
		step = 2
	}
	return way + strconv.Itoa(step)
}

// Change returns a change as documents have it.
func Change(c cpuprof.Change) finding.Change {
	d := finding.Change{A: c.A, B: c.B, Difference: c.Difference(), Shown: c.Shown()}
	if !math.IsNaN(c.Low) {
		d.Low, d.High = &c.Low, &c.High
	}
	return d
}

// Heap writes a heap profile as one self-contained page: a flame graph of the live bytes, and the
// largest call stacks. calls are of live bytes.
func Heap(w io.Writer, calls []cpuprof.Call, d *finding.Heap) error {
	v := profileView("heap", d.Target, "about "+units.Bytes(d.Live)+" live", "in "+units.Plural(d.Objects, "object"),
		units.Plural(d.Samples, "sample"))
	v.Notes = []string{"As of the last completed collection, by the runtime's own heap profile: " + d.Source + "."}
	if d.SinceStart {
		v.Notes[0] = "No collection has completed yet: all allocations count as live."
	}
	if d.Rate > 1 {
		v.Notes = append(v.Notes, "Estimated: one allocation in "+units.Bytes(d.Rate)+" is sampled on average. Few "+
			"samples are chance.")
	}
	var rows [][]string
	for _, h := range d.Top {
		rows = append(rows, []string{units.Bytes(h.Live), units.Share(h.Ratio), strconv.FormatInt(h.Objects, 10),
			strconv.FormatInt(h.Samples, 10), content.Calls(h.Stack)})
	}
	return v.held(w, graph{Title: "Who allocated what is live", Intro: "Width is live bytes, as estimated."}, calls,
		[]string{"live", "share", "objects", "samples", "allocated by"}, rows,
		func(share float64) string { return units.Bytes(int64(share * float64(d.Live))) })
}

// Goroutines writes a goroutine profile as such a page. calls are of goroutines.
func Goroutines(w io.Writer, calls []cpuprof.Call, d *finding.Goroutines) error {
	v := profileView("goroutines", d.Target, content.Goroutines(d))
	v.Notes = []string{"As " + d.Source + "."}
	if d.Runtime != nil {
		v.Facts = append(v.Facts, fmt.Sprintf("%d more of the runtime", *d.Runtime))
		v.Notes[0] = "Each goroutine was read by itself, without a stop: " + d.Source + ". The calls of a running one " +
			"are unknown."
	}
	if d.Left > 0 {
		v.Notes = append(v.Notes, "Not looked at: "+units.Plural(d.Left, "goroutine")+", which are too many.")
	}
	if d.Unread > 0 {
		v.Notes = append(v.Notes, "Not shown: "+units.Plural(d.Unread, "goroutine")+" that changed with every read.")
	}
	var rows [][]string
	for _, g := range d.Groups {
		by := ""
		if g.Creator != nil {
			by = content.Call(*g.Creator)
		}
		rows = append(rows, []string{strconv.Itoa(g.Count), cpuprof.CleanName(g.State), content.Calls(g.Stack), by})
	}
	return v.held(w, graph{Title: "Where the goroutines are", Intro: "Width is goroutines."}, calls, []string{"goroutines",
		"state", "in", "created by"}, rows,
		func(share float64) string { return units.Plural(int64(share*float64(d.Total)+.5), "goroutine") })
}

// held writes a page of calls with their amounts. Only the runtime's own have another colour.
func (v *view) held(w io.Writer, g graph, calls []cpuprof.Call, head []string, rows [][]string,
	amount func(share float64) string) error {
	g.Intro += " A call stands under its caller; the runtime's own are grey."
	frames := make([]frame, len(calls))
	for i, c := range calls {
		frames[i] = held(c, "u", amount(c.Size))
		if strings.HasPrefix(c.Name, "runtime.") {
			frames[i].group = "r"
		}
	}
	if len(calls) > 0 {
		v.Parts = []Part{{Title: "The largest", Tables: []table{tableOf("The largest", content.GridOf(head, rows))}}}
	}
	return v.flame(w, g, frames)
}
