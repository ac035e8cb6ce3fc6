// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"fmt"
	"html"
	"html/template"
	"io"
	"strconv"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

//go:embed page
var pageFiles embed.FS

var pageTemplate = template.Must(template.ParseFS(pageFiles, "page/flame.tmpl"))

// FlameHTML draws a CPU profile as a flame graph, on one page that needs nothing
// else: what the CPU time went to, the graph with the outermost calls on top, the
// largest functions. Without its script, and in print, it is a drawing; with it
// one can zoom and search. The page is at most some MiB whatever the profile:
// frames under 0.05 % of the CPU time, or more than there is room for, are
// merged. Errors are those of Summarize and of w.
func FlameHTML(w io.Writer, p *profile.Profile, title string) error {
	s, err := Summarize(p)
	if err != nil {
		return err
	}
	value, err := cpuValues(p)
	if err != nil {
		return err
	}
	style, err := pageFiles.ReadFile("page/style.css")
	if err != nil {
		return err
	}
	script, err := pageFiles.ReadFile("page/flame.js")
	if err != nil {
		return err
	}
	digest := sha256.Sum256(script)
	v := flameView{
		Title: cleanName(title),
		Style: template.CSS(style), Script: template.JS(script),
		ScriptHash: base64.StdEncoding.EncodeToString(digest[:]),
		Seconds:    s.CPUSeconds,
		Facts:      s.facts(),
		Classes:    classRows(s),
		Groups:     groupRows(s),
		OverSize:   units.Share(s.OverSize()),
		GC:         units.Share(s.GC()),
		Source:     string(s.Source),
		Of:         s.Source.words(),
	}
	for _, f := range s.Top {
		v.Top = append(v.Top, topRow{f.Name, units.Share(f.Self), units.Share(f.Caused)})
	}
	for _, c := range p.Comments[:min(len(p.Comments), 8)] {
		v.Comments = append(v.Comments, cleanName(strings.TrimPrefix(c, "snug: ")))
	}
	frames := newTree(p, value).frames()
	v.Graph = drawing(frames, s.CPUSeconds)
	v.Merged = len(frames) > 0
	return pageTemplate.Execute(w, &v)
}

// flameView is the page as its template needs it.
type flameView struct {
	Title      string
	Style      template.CSS
	Script     template.JS
	ScriptHash string // of the script, the only one that the page lets run
	Seconds    float64
	Facts      []string
	Groups     []groupRow
	Classes    []classRow
	OverSize   string
	GC         string
	Top        []topRow
	Graph      template.HTML
	Merged     bool
	Source, Of string
	Comments   []string
}

type classRow struct {
	Group                   string // of colours
	Class, CPU, Share, What string
	Width                   string // of its bar, in percent
}

type groupRow struct{ Group, Name, Share string }

type topRow struct{ Name, Self, Caused string }

// groups are the colours of a drawing: each says which lever moves what has it.
var groups = []struct {
	id, name string
	classes  []Class
}{
	{"u", "program", []Class{User}},
	{"a", "allocation", []Class{Alloc}},
	{"g", "garbage collection", []Class{GCMark, GCAssist, GCSweep, GCScavenge, GCBarrier}},
	{"s", "scheduling, grows with GOMAXPROCS", overSize},
	{"y", "system, C, locks", []Class{Netpoll, Syscall, Cgo, Lock, Native, Kernel}},
	{"r", "rest of the runtime", []Class{Stack, Profiler, Signal, RuntimeOther}},
}

// groupOf is the colour of each class.
var groupOf = func() (m [len(classes)]string) {
	for _, g := range groups {
		for _, c := range g.classes {
			m[ranks[c]] = g.id
		}
	}
	return m
}()

func classRows(s *Summary) []classRow {
	var rows []classRow
	for i, r := range s.Rows() {
		share := s.Shares[i]
		rows = append(rows, classRow{
			Group: groupOf[ranks[share.Class]], Class: r.Name, CPU: r.CPU, Share: r.Share, What: r.Words,
			Width: strconv.FormatFloat(100*share.Ratio, 'f', 2, 64),
		})
	}
	return rows
}

// groupRows are the groups that there are, for the key of the drawing.
func groupRows(s *Summary) []groupRow {
	var rows []groupRow
	for _, g := range groups {
		if ratio := s.Ratio(g.classes...); ratio > 0 {
			rows = append(rows, groupRow{g.id, g.name, units.Share(ratio)})
		}
	}
	return rows
}

func (s *Summary) facts() []string {
	facts := []string{units.Duration(s.CPUSeconds) + " of CPU time"}
	if s.Duration > 0 {
		wall := s.Duration.Seconds()
		facts = append(facts, "in "+units.Duration(wall), fmt.Sprintf("%.2f CPUs on average", s.CPUSeconds/wall))
	}
	if s.Samples > 0 {
		facts = append(facts, fmt.Sprintf("%d samples", s.Samples))
	}
	return append(facts, "sampled by "+string(s.Source))
}

// words say what to bear in mind with figures of a source.
func (s Source) words() string {
	switch s {
	case Perf:
		return "Sampled from outside by perf events, by CPU time of each thread."
	case RuntimePprof:
		return "Sampled by the Go runtime itself, which sees nothing of its monitor thread and somewhat less of the scheduler than there is (golang.org/issue/40435)."
	}
	return "Sampled by a tool whose accuracy is not known."
}

// Sizes of a drawing, in CSS pixels where it is shown at its own width.
const (
	drawWidth  = 1200
	rowHeight  = 18
	letter     = 6.7 // width of a letter
	textMargin = 4
)

// drawing makes an SVG of frames. Places and sizes are also there as parts of a
// million, for the script.
func drawing(frames []frame, seconds float64) template.HTML {
	rows := 1
	for _, f := range frames {
		rows = max(rows, f.depth+1)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg id="flame" viewBox="0 0 %d %d" role="img" aria-label="Flame graph, outermost calls on top" tabindex="0">`+"\n", drawWidth, rows*rowHeight)
	for _, f := range frames {
		group := groupOf[f.rank]
		switch {
		case f.depth == 0:
			group = "all"
		case f.merged:
			group += " m"
		}
		x, w, y := f.start*drawWidth, f.size*drawWidth, f.depth*rowHeight
		tag := ""
		if c := classes[f.rank].class; f.entry && !f.merged && c != User && c != RuntimeOther {
			tag = string(c)
		}
		fmt.Fprintf(&b, `<g class="f %s" data-x="%.0f" data-w="%.0f"`, group, f.start*1e6, f.size*1e6)
		if tag != "" {
			fmt.Fprintf(&b, ` data-t="%s"`, tag)
		}
		fmt.Fprintf(&b, `><title>%s`+"\n", html.EscapeString(f.name))
		fmt.Fprintf(&b, "%s, %s", units.Share(f.size), units.Duration(f.size*seconds))
		if f.depth > 0 {
			if f.self > 0 && !f.merged {
				fmt.Fprintf(&b, "; itself %s", units.Share(f.self))
			}
			fmt.Fprintf(&b, "; %s", classes[f.rank].class)
		}
		fmt.Fprintf(&b, `</title><rect x="%.2f" y="%d" width="%.2f" height="%d"/>`, x, y, max(w, 0.1), rowHeight)
		if text := fit(label(f.name, tag), w); text != "" {
			fmt.Fprintf(&b, `<text x="%.2f" y="%d">%s</text>`, x+textMargin, y+rowHeight-5, html.EscapeString(text))
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>")
	return template.HTML(b.String())
}

// label is what stands in a frame: the function without the path of its package,
// behind its class where that begins. The classes of the program and of the rest
// of the runtime show in the name.
func label(name, tag string) string {
	name = shortName(name)
	if tag != "" {
		return tag + ": " + name
	}
	return name
}

// shortName leaves the directories of a package out.
func shortName(name string) string {
	end := strings.IndexAny(name, "([")
	if end < 0 {
		end = len(name)
	}
	return name[strings.LastIndexByte(name[:end], '/')+1:]
}

// fit cuts a label to a width; "" is that nothing of use is left. The colour says
// runtime before the word does.
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
