// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

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
