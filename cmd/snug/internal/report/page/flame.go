// SPDX-License-Identifier: Apache-2.0

package page

import (
	"fmt"
	"html"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Flame writes a CPU profile as one self-contained page: CPU time by class, a flame
// graph with the outermost calls on top, and the largest functions. The script only
// zooms and searches; the drawing works without it and in print. The size of the page is
// bounded to a few MiB for any profile.
func Flame(w io.Writer, g *cpuprof.Graph, title string) error {
	title = cpuprof.CleanName(title)
	v := flameView{
		shell:    shell{Class: "flame", Kind: "profile", Title: title, Verdict: title, Facts: flameFacts(g.Summary)},
		Classes:  classRows(g.Summary),
		Groups:   groupRows(g.Summary),
		OverSize: units.Share(g.OverSize()),
		GC:       units.Share(g.GC()),
		AllGC:    units.Share(g.AllGC()),
		Of:       sampledBy(g.Source),
		Comments: g.Comments,
		Graph:    drawing(flameFrames(g)),
		Merged:   len(g.Calls) > 0,
	}
	for _, f := range g.Top {
		if few := max(f.Self, f.Caused)*float64(g.Samples) < minTopSamples-.5; few && g.Samples > 0 {
			v.Few++
			continue
		}
		v.Top = append(v.Top, topRow{f.Name, units.Share(f.Self), units.Share(f.Caused)})
	}
	if len(v.Classes) > 0 {
		if err := v.run("flame.js"); err != nil {
			return err
		}
	}
	return v.write(w, "flame.tmpl", &v, "flame.css")
}

// minTopSamples is the minimum number of samples of a function in the table: fewer are chance.
const minTopSamples = 3

// flameView holds the fields of the template.
type flameView struct {
	shell
	Groups   []groupRow
	Classes  []classRow
	OverSize string
	GC       string
	AllGC    string
	Top      []topRow
	Few      int // functions that are not in Top, because they have too few samples
	Graph    template.HTML
	Merged   bool
	Of       string
	Comments []string
}

type classRow struct {
	Group                   string // of a colour
	Class, CPU, Share, What string
	Width                   string // of the bar, in percent of the largest class
}

type groupRow struct{ Group, Name, Share string }

type topRow struct{ Name, Self, Caused string }

// groups are the colours of a drawing, one for each way to reduce the CPU time.
var groups = []struct {
	id, name string
	classes  []cpuprof.Class
}{
	{"u", "program", []cpuprof.Class{cpuprof.User}},
	{"a", "allocation", []cpuprof.Class{cpuprof.Alloc}},
	{"g", "garbage collection", []cpuprof.Class{cpuprof.GCMark, cpuprof.GCAssist, cpuprof.GCSweep, cpuprof.GCScavenge, cpuprof.GCBarrier}},
	{"s", "scheduling, grows with GOMAXPROCS", cpuprof.OverSizes},
	{"y", "system, C, locks", []cpuprof.Class{cpuprof.Netpoll, cpuprof.Syscall, cpuprof.Cgo, cpuprof.Lock, cpuprof.Native, cpuprof.Kernel}},
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

func classRows(s *cpuprof.Summary) []classRow {
	var rows []classRow
	largest := 0.0
	for _, share := range s.Shares {
		largest = max(largest, share.Ratio)
	}
	for _, share := range s.Shares {
		rows = append(rows, classRow{
			Group: groupOf(share.Class), Class: string(share.Class),
			CPU: units.Duration(share.Seconds), Share: units.Share(share.Ratio), What: share.Class.Words(),
			Width: strconv.FormatFloat(100*share.Ratio/max(largest, 1e-9), 'f', 2, 64),
		})
	}
	return rows
}

// groupRows returns the groups with CPU time, for the key of the drawing.
func groupRows(s *cpuprof.Summary) []groupRow {
	var rows []groupRow
	for _, g := range groups {
		if ratio := s.Ratio(g.classes...); ratio > 0 {
			rows = append(rows, groupRow{g.id, g.name, units.Share(ratio)})
		}
	}
	return rows
}

func flameFacts(s *cpuprof.Summary) []string {
	facts := []string{units.Duration(s.CPUSeconds) + " of CPU time"}
	if s.Duration > 0 {
		wall := s.Duration.Seconds()
		facts = append(facts, "in "+units.Duration(wall), units.Figures(s.CPUSeconds/wall, 3)+" CPUs on average")
	}
	if s.Samples > 0 {
		facts = append(facts, units.Plural(s.Samples, "sample"))
	}
	return append(facts, "sampled by "+string(s.Source))
}

// sampledBy returns the caveat about a source of samples.
func sampledBy(s cpuprof.Source) string {
	switch s {
	case cpuprof.Perf:
		return "Sampled from outside by perf events, by CPU time of each thread."
	case cpuprof.RuntimePprof:
		return "Sampled by the Go runtime itself, which misses its monitor thread and part of the scheduler (golang.org/issue/40435)."
	}
	return "Sampled by a tool of unknown accuracy."
}

// Sizes of a drawing, in CSS pixels at its natural width.
const (
	drawWidth  = 1200
	rowHeight  = 18
	letter     = 6.7 // width of a letter
	textMargin = 4
)

// frame is a drawn call.
type frame struct {
	cpuprof.Call
	group string // colour
	tag   string // prefix of its label
	about string // its figures
}

// flameFrames returns the calls of a profile, coloured by class, and named by it where it begins. The
// classes of the program and of the rest of the runtime need no name, because the function shows
// them.
func flameFrames(g *cpuprof.Graph) []frame {
	frames := make([]frame, len(g.Calls))
	for i, c := range g.Calls {
		f := frame{Call: c, group: groupOf(c.Class), about: units.Share(c.Size) + ", " + units.Duration(c.Size*g.CPUSeconds)}
		if c.Entry && !c.Merged && c.Class != cpuprof.User && c.Class != cpuprof.RuntimeOther {
			f.tag = string(c.Class) + ": "
		}
		if c.Depth > 0 {
			if c.Self > 0 && !c.Merged {
				f.about += "; itself " + units.Share(c.Self)
			}
			f.about += "; " + string(c.Class)
		}
		frames[i] = f
	}
	return frames
}

// drawing returns an SVG of calls. For the script, positions and widths are also given
// in parts per million.
func drawing(frames []frame) template.HTML {
	rows := 1
	for _, f := range frames {
		rows = max(rows, f.Depth+1)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg id="flame" viewBox="0 0 %d %d" role="img" aria-label="Flame graph, outermost calls on top" tabindex="0">`+"\n", drawWidth, rows*rowHeight)
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
		if text := fit(f.tag+shortName(f.Name), w); text != "" {
			fmt.Fprintf(&b, `<text x="%.2f" y="%d">%s</text>`, x+textMargin, y+rowHeight-5, html.EscapeString(text))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// shortName removes the directories of a package path.
func shortName(name string) string {
	end := strings.IndexAny(name, "([")
	if end < 0 {
		end = len(name)
	}
	return name[strings.LastIndexByte(name[:end], '/')+1:]
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
