// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// heldView holds the fields of the template.
type heldView struct {
	shell
	Heading, Width string
	Graph          template.HTML
	Columns        []string
	Rows           [][]string
	Notes          []string
}

// Heap writes a heap profile as one self-contained page: a flame graph of the live bytes with
// the outermost calls on top, and the largest call stacks. calls are of live bytes.
func Heap(w io.Writer, calls []cpuprof.Call, d *finding.Heap) error {
	v := heldView{
		shell:   shell{Facts: []string{"about " + units.Bytes(d.Live) + " live", "in " + units.Plural(d.Objects, "object"), units.Plural(d.Samples, "sample")}},
		Heading: "Who allocated what is live", Width: "Width is live bytes, as estimated.",
		Columns: []string{"live", "share", "objects", "samples", "allocated by"},
		Notes:   []string{"As of the last completed collection, by the runtime's own heap profile: " + d.Source + "."},
	}
	if d.SinceStart {
		v.Notes[0] = "No collection has completed yet: all allocations count as live."
	}
	if d.Rate > 1 {
		v.Notes = append(v.Notes, "Estimated: one allocation in "+units.Bytes(d.Rate)+" is sampled on average. Few samples are chance.")
	}
	for _, h := range d.Top {
		v.Rows = append(v.Rows, []string{units.Bytes(h.Live), units.Share(h.Ratio), strconv.FormatInt(h.Objects, 10), strconv.FormatInt(h.Samples, 10), content.Calls(h.Stack)})
	}
	return v.held(w, "heap", d.Target, calls, func(share float64) string { return units.Bytes(int64(share * float64(d.Live))) })
}

// Goroutines writes a goroutine profile as such a page. calls are of goroutines.
func Goroutines(w io.Writer, calls []cpuprof.Call, d *finding.Goroutines) error {
	v := heldView{
		shell:   shell{Facts: []string{content.Goroutines(d)}},
		Heading: "Where the goroutines are", Width: "Width is goroutines.",
		Columns: []string{"goroutines", "state", "in", "created by"},
		Notes:   []string{"Each goroutine was read by itself, without a stop: " + d.Source + ". The calls of a running one are unknown."},
	}
	if d.Runtime != nil {
		v.Facts = append(v.Facts, fmt.Sprintf("%d more of the runtime", *d.Runtime))
	} else {
		v.Notes[0] = "As " + d.Source + "."
	}
	if d.Left > 0 {
		v.Notes = append(v.Notes, "Not looked at: "+units.Plural(d.Left, "goroutine")+", which are too many.")
	}
	if d.Unread > 0 {
		v.Notes = append(v.Notes, "Not shown: "+units.Plural(d.Unread, "goroutine")+" that changed with every read.")
	}
	for _, g := range d.Groups {
		by := ""
		if g.Creator != nil {
			by = content.Call(*g.Creator)
		}
		v.Rows = append(v.Rows, []string{strconv.Itoa(g.Count), cpuprof.CleanName(g.State), content.Calls(g.Stack), by})
	}
	return v.held(w, "goroutines", d.Target, calls, func(share float64) string {
		return units.Plural(int64(share*float64(d.Total)+.5), "goroutine")
	})
}

func (v *heldView) held(w io.Writer, kind, target string, calls []cpuprof.Call, amount func(share float64) string) error {
	title := cpuprof.CleanName(target)
	v.Class, v.Kind, v.Title, v.Verdict = "flame", kind, title, title
	if len(calls) > 0 {
		v.Graph = drawing(heldFrames(calls, amount))
		if err := v.run("flame.js"); err != nil {
			return err
		}
	}
	return v.write(w, "held.tmpl", v, "flame.css")
}

// heldFrames returns calls with their amounts. Only the runtime's own have another colour.
func heldFrames(calls []cpuprof.Call, amount func(share float64) string) []frame {
	frames := make([]frame, len(calls))
	for i, c := range calls {
		f := frame{Call: c, group: "u", about: units.Share(c.Size) + ", " + amount(c.Size)}
		if strings.HasPrefix(c.Name, "runtime.") {
			f.group = "r"
		}
		if c.Depth > 0 && c.Self > 0 && !c.Merged {
			f.about += "; itself " + units.Share(c.Self)
		}
		frames[i] = f
	}
	return frames
}
