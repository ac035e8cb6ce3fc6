// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"html"
	"html/template"
	"io"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// graph is a flame graph with the outermost calls on top.
type graph struct {
	Title, Intro string
	Key          []colour
	Drawing      template.HTML
}

// colour is an entry of the key: classes of the style sheet, and what they mean.
type colour struct {
	Classes []string
	Text    string
}

// frame is a drawn call.
type frame struct {
	cpuprof.Call
	group string // colour
	tag   string // prefix of its label
	about string // its figures
}

// profileView begins the page of a profile.
func profileView(kind, title string, facts ...string) *view {
	title = cpuprof.CleanName(title)
	return &view{shell: shell{Class: "flame", Kind: kind, Title: title, Verdict: title, Facts: facts}}
}

// flame writes the page with a graph of frames; without frames it says so. The script only zooms and
// searches; the drawing works without it and in print. The size of the page is bounded to a few MiB
// for any profile.
func (v *view) flame(w io.Writer, g graph, frames []frame) error {
	if len(frames) == 0 {
		v.Lead = "There is nothing in this profile: no CPU time, no memory, no goroutine"
		return v.write(w, "page.tmpl", v, "flame.css")
	}
	g.Drawing = drawing(frames)
	v.Graph = &g
	v.Notes = append(v.Notes, "Frames under 0.05 % of the whole, or beyond the maximum number, are merged as "+
		"“smaller”.")
	if err := v.run("flame.js"); err != nil {
		return err
	}
	return v.write(w, "page.tmpl", v, "flame.css")
}

// Flame writes a CPU profile as one self-contained page: a flame graph, CPU time by class, and the
// largest functions.
func Flame(w io.Writer, g *cpuprof.Graph, title string) error {
	s := g.Summary
	v := profileView("profile", title, units.Duration(s.CPUSeconds)+" of CPU time")
	if s.Duration > 0 {
		wall := s.Duration.Seconds()
		v.Facts = append(v.Facts, "in "+units.Duration(wall), units.Figures(s.CPUSeconds/wall, 3)+" CPUs on average")
	}
	if s.Samples > 0 {
		v.Facts = append(v.Facts, units.Plural(s.Samples, "sample"))
	}
	v.Facts = append(v.Facts, "sampled by "+string(s.Source))
	var rows [][]string
	var colours []string
	for _, share := range s.Shares {
		colours = append(colours, groupOf(share.Class))
		rows = append(rows, []string{string(share.Class), units.Share(share.Ratio), units.Duration(share.Seconds),
			share.Class.Words()})
	}
	if len(rows) > 0 {
		classes := named(worded("CPU time by class", []string{"class", "share", "CPU time", "what it is"}, rows), colours)
		v.Parts = append(v.Parts, Part{Title: "What the CPU time went to", Tables: []table{classes},
			Intro: "What grows with a GOMAXPROCS that is too large (sched, sched.timers, gc.idle-mark, gc.stw, sysmon): " +
				units.Share(g.OverSize()) +
				". What grows with too little memory (gc.mark, gc.assist, gc.sweep, gc.scavenge, gc.barrier): " +
				units.Share(g.GC()) + ". Collections in total, gc.idle-mark and gc.stw included: " + units.Share(g.AllGC()) + "."})
	}
	const minSamples = 3 // of a function in the table: fewer are chance
	few := 0
	rows = nil
	for _, f := range g.Top {
		if max(f.Self, f.Caused)*float64(g.Samples) < minSamples-.5 && g.Samples > 0 {
			few++
			continue
		}
		rows = append(rows, []string{f.Name, units.Share(f.Self), units.Share(f.Caused)})
	}
	if len(g.Top) > 0 {
		p := Part{Title: "Largest functions of the program", Intro: "“With what it caused” includes the work of the " +
			"runtime and the kernel for it, such as allocation."}
		p.Intro += units.If(few > 0, fmt.Sprintf(" Left out, with fewer than %d samples: %d.", minSamples, few))
		if len(rows) > 0 {
			p.Tables = []table{named(tableOf("Largest functions",
				gridOf([]string{"function", "its own code", "with what it caused"}, rows)), nil)}
		}
		v.Parts = append(v.Parts, p)
	}
	v.Notes = append([]string{cmp.Or(sampled[s.Source], "Sampled by a tool of unknown accuracy.")}, g.Comments...)
	picture := graph{Title: "Who called whom", Intro: "Width is CPU time; a call stands under its caller. A class is " +
		"named where it begins."}
	for _, of := range groups {
		if ratio := s.Ratio(of.classes...); ratio > 0 {
			picture.Key = append(picture.Key, colour{[]string{of.id}, of.name + " " + units.Share(ratio)})
		}
	}
	frames := make([]frame, len(g.Calls))
	for i, c := range g.Calls {
		f := held(c, groupOf(c.Class), units.Duration(c.Size*g.CPUSeconds))
		// The classes of the program and of the rest of the runtime need no name: the function shows them.
		if c.Entry && !c.Merged && c.Class != cpuprof.User && c.Class != cpuprof.RuntimeOther {
			f.tag = string(c.Class) + ": "
		}
		f.about += units.If(c.Depth > 0, "; "+string(c.Class))
		frames[i] = f
	}
	return v.flame(w, picture, frames)
}

// sampled says what the samples of a source are.
var sampled = map[cpuprof.Source]string{
	cpuprof.Perf: "Sampled from outside by perf events, by CPU time of each thread.",
	cpuprof.RuntimePprof: "Sampled by the Go runtime itself, which misses its monitor thread and part of the scheduler " +
		"(golang.org/issue/40435).",
}

// held returns the frame of a call with its amount.
func held(c cpuprof.Call, group, amount string) frame {
	f := frame{Call: c, group: group, about: units.Share(c.Size) + ", " + amount}
	f.about += units.If(c.Depth > 0 && c.Self > 0 && !c.Merged, "; itself "+units.Share(c.Self))
	return f
}

// named lets the names in the first column, which may be long, break, and gives rows a colour.
func named(t table, colours []string) table {
	for i, row := range t.Rows {
		row[0].Class = "text name stay"
		if i < len(colours) {
			row[0].Swatch = colours[i]
		}
	}
	return t
}

// groups are the colours of a drawing, one for each way to reduce the CPU time.
var groups = []struct {
	id, name string
	classes  []cpuprof.Class
}{
	{"u", "program", []cpuprof.Class{cpuprof.User}},
	{"a", "allocation", []cpuprof.Class{cpuprof.Alloc}},
	{"g", "garbage collection", []cpuprof.Class{cpuprof.GCMark, cpuprof.GCAssist, cpuprof.GCSweep, cpuprof.GCScavenge,
		cpuprof.GCBarrier}},
	{"s", "scheduling, grows with GOMAXPROCS", cpuprof.OverSizes},
	{"y", "system, C, locks", []cpuprof.Class{cpuprof.Netpoll, cpuprof.Syscall, cpuprof.Cgo, cpuprof.Lock, cpuprof.Native,
		cpuprof.Kernel}},
	{"r", "rest of the runtime", []cpuprof.Class{cpuprof.Stack, cpuprof.Profiler, cpuprof.Signal, cpuprof.RuntimeOther}},
}

// groupOf returns the colour of a class.
func groupOf(c cpuprof.Class) string {
	for _, g := range groups {
		if slices.Contains(g.classes, c) {
			return g.id
		}
	}
	return ""
}

// Sizes of a drawing, in CSS pixels at its natural width.
const (
	drawWidth  = 1200
	rowHeight  = 18
	letter     = 6.7 // width of a letter
	textMargin = 4
)

// drawing returns an SVG of calls. For the script, positions and widths are also given
// in parts per million.
func drawing(frames []frame) template.HTML {
	rows := 1
	for _, f := range frames {
		rows = max(rows, f.Depth+1)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg id="flame" viewBox="0 0 %d %d" role="img" aria-label="Flame graph, outermost calls on top" `+
		"tabindex=\"0\">\n", drawWidth, rows*rowHeight)
	for _, f := range frames {
		group := f.group
		switch {
		case f.Depth == 0:
			group = "all"
		case f.Merged:
			group += " m"
		}
		x, w, y := f.Start*drawWidth, f.Size*drawWidth, f.Depth*rowHeight
		fmt.Fprintf(&b, `<g class="f %s" data-x="%.0f" data-w="%.0f"`, group, f.Start*1e6, f.Size*1e6)
		if f.tag != "" {
			fmt.Fprintf(&b, ` data-t="%s"`, f.tag)
		}
		fmt.Fprintf(&b, "><title>%s\n%s</title>", html.EscapeString(f.Name), html.EscapeString(f.about))
		fmt.Fprintf(&b, `<rect x="%.2f" y="%d" width="%.2f" height="%d"/>`, x, y, max(w, 0.1), rowHeight)
		if text := fit(f.tag+content.Call(finding.Call{Function: f.Name}), w); text != "" {
			fmt.Fprintf(&b, `<text x="%.2f" y="%d">%s</text>`, x+textMargin, y+rowHeight-5, html.EscapeString(text))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// fit truncates a label to a width; "" if nothing useful is left. It drops "runtime."
// first, which the colour already shows.
func fit(text string, width float64) string {
	room := int((width - 2*textMargin) / letter)
	r := []rune(text)
	if len(r) > room {
		r = []rune(strings.Replace(text, "runtime.", "", 1))
	}
	switch {
	case len(r) <= room:
		return string(r)
	case room < 3:
		return ""
	}
	return string(r[:room-1]) + "…"
}
