// SPDX-License-Identifier: Apache-2.0

// Command beforeafter draws the memory of one container under two settings, as SVG:
//
//	go run ./e2e/report/beforeafter experiments/2026-11-24-before-after >docs/before-after.svg
//
// The folder holds before.tsv and after.tsv, seconds and MiB, and before.txt and after.txt,
// what snug run printed and how the program ended.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

const limit = 128.0 // MiB

// point is a sample: seconds since the load began, MiB that the kernel cannot take back.
type point struct{ at, size float64 }

// side is one half of the picture.
type side struct {
	title, knobs, end string
	killed            bool
	goal              float64 // GOMEMLIMIT in MiB; 0 = none
	points            []point
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 2 {
		log.Fatal("usage: beforeafter DIR")
	}
	if err := picture(os.Stdout, os.Args[1]); err != nil {
		log.Fatal(err)
	}
}

func picture(w io.Writer, dir string) error {
	before, err := read(dir, "before")
	if err != nil {
		return err
	}
	after, err := read(dir, "after")
	if err != nil {
		return err
	}
	before.title, before.knobs = "etcd", "GOMEMLIMIT unset"
	after.title, after.knobs = "snug run -- etcd", fmt.Sprintf("GOMEMLIMIT=%.0fMiB", after.goal)
	last := max(before.points[len(before.points)-1].at, after.points[len(after.points)-1].at)
	draw(w, before, after, math.Ceil(last))
	return nil
}

var (
	goal = regexp.MustCompile(`GOMEMLIMIT=(\d+)`)
	rate = regexp.MustCompile(`Requests/sec:\s+([\d.]+)`)
)

func read(dir, name string) (*side, error) {
	f, err := os.Open(filepath.Join(dir, name+".tsv"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	s := &side{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var p point
		if _, err := fmt.Sscan(lines.Text(), &p.at, &p.size); err != nil {
			return nil, fmt.Errorf("%s: %q: %w", f.Name(), lines.Text(), err)
		}
		s.points = append(s.points, p)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(s.points) == 0 {
		return nil, fmt.Errorf("%s: no samples", f.Name())
	}
	text, err := os.ReadFile(filepath.Join(dir, name+".txt"))
	if err != nil {
		return nil, err
	}
	if m := goal.FindSubmatch(text); m != nil {
		n, err := strconv.ParseFloat(string(m[1]), 64)
		if err != nil {
			return nil, err
		}
		s.goal = n / (1 << 20)
	}
	end := s.points[len(s.points)-1].at
	switch m := rate.FindSubmatch(text); {
	case strings.Contains(string(text), "code 137"):
		s.killed, s.end = true, fmt.Sprintf("killed after %.1f s", end)
	case m != nil:
		s.end = fmt.Sprintf("done in %.1f s", end)
	default:
		return nil, fmt.Errorf("%s.txt does not say how it ended", name)
	}
	return s, nil
}

// The size of the picture and of each plot in it, in CSS pixels.
const (
	width, height         = 880, 300
	plotWidth, plotHeight = 350.0, 180.0
	top                   = 72.0
	highest               = 140.0 // MiB
)

const style = `
text { font: 13px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.mark { font-weight: 700; font-size: 24px }
.quiet { fill: #59636e; font-size: 12px }
.paper { fill: #ffffff; stroke: #d1d9e0 }
.axis { stroke: #d1d9e0 }
.limit { stroke: #cf222e; stroke-width: 1.5 }
.goal { stroke: #1a7f37; stroke-width: 1.5; stroke-dasharray: 5 4 }
.before { fill: none; stroke: #cf222e; stroke-width: 2 }
.after { fill: none; stroke: #1a7f37; stroke-width: 2 }
.bad { fill: #cf222e } .good { fill: #1a7f37 }
@media (prefers-color-scheme: dark) {
text { fill: #f0f6fc } .quiet { fill: #9198a1 } .paper { fill: #0d1117; stroke: #3d444d } .axis { stroke: #3d444d }
.limit, .before { stroke: #f85149 } .goal, .after { stroke: #3fb950 } .bad { fill: #f85149 } .good { fill: #3fb950 }
}
`

func draw(w io.Writer, before, after *side, seconds float64) {
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Fprintf(w, "<title>etcd in a container of 128 MiB under the same load: alone %s, under snug run %s</title>\n", before.end, after.end)
	fmt.Fprintf(w, "<style>%s</style>\n", style)
	fmt.Fprintf(w, `<rect class="paper" x="0.5" y="0.5" width="%d" height="%d" rx="8"/>`+"\n", width-1, height-1)
	panel(w, before, 64, seconds, "before")
	panel(w, after, 64+plotWidth+90, seconds, "after")
	fmt.Fprintln(w, "</svg>")
}

// panel draws one side with its plot's left edge at x.
func panel(w io.Writer, s *side, x, seconds float64, class string) {
	y := func(size float64) float64 { return top + plotHeight*(1-size/highest) }
	at := func(t float64) float64 { return x + plotWidth*t/seconds }
	text := func(x, y float64, class, anchor, s string) {
		fmt.Fprintf(w, `<text class="%s" x="%.1f" y="%.1f" text-anchor="%s">%s</text>`+"\n", class, x, y, anchor, s)
	}
	line := func(class string, size float64) {
		fmt.Fprintf(w, `<line class="%s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`+"\n", class, x, x+plotWidth, y(size), y(size))
	}
	text(x, 30, "title", "start", "$ "+s.title)
	text(x, 50, "quiet", "start", s.knobs+", in 128 MiB and 0.75 CPUs")
	for _, size := range []float64{0, 64} {
		line("axis", size)
		text(x-8, y(size)+4, "quiet", "end", strconv.Itoa(int(size)))
	}
	line("limit", limit)
	text(x-8, y(limit)+4, "quiet", "end", "128")
	text(x+plotWidth, y(limit)-5, "quiet", "end", "memory limit, MiB")
	if s.goal > 0 {
		line("goal", s.goal)
		text(x+4, y(s.goal)-4, "quiet", "start", "GOMEMLIMIT")
	}
	for t := 0.0; t <= seconds; t++ {
		text(at(t), top+plotHeight+18, "quiet", "middle", strconv.Itoa(int(t)))
	}
	text(x+plotWidth, top+plotHeight+34, "quiet", "end", "seconds under load")
	var path strings.Builder
	for i, p := range s.points {
		command := 'L'
		if i == 0 {
			command = 'M'
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", command, at(p.at), y(min(p.size, limit)))
	}
	fmt.Fprintf(w, `<path class="%s" d="%s"/>`+"\n", class, path.String())
	end := s.points[len(s.points)-1]
	if s.killed {
		text(at(end.at), y(limit)+8, "bad mark", "middle", "✕")
		text(x+plotWidth, y(36), "bad title", "end", "out of memory: "+s.end)
		return
	}
	fmt.Fprintf(w, `<circle class="good" cx="%.1f" cy="%.1f" r="4"/>`+"\n", at(end.at), y(end.size))
	text(x+plotWidth, y(36), "good title", "end", s.end)
}
