// SPDX-License-Identifier: Apache-2.0

package page

import (
	"html/template"
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
	title := cpuprof.CleanName(d.A.Target) + " and " + cpuprof.CleanName(d.B.Target)
	v := diffView{
		shell: shell{Class: "flame", Kind: "profile", Title: title, Verdict: content.DiffVerdict(d),
			Facts: []string{"A: " + content.ProfiledText(&d.A), "B: " + content.ProfiledText(&d.B)}, Next: d.Next},
		Unit:       content.DiffUnit(d),
		Confidence: units.Share(d.Confidence),
		Caveats:    d.Caveats,
		Graph:      drawing(diffFrames(c, d)),
	}
	for i := range d.Classes {
		v.Classes = append(v.Classes, diffRowOf(d, &d.Classes[i].Change, d.Classes[i].ID, d.Classes[i].Words))
	}
	for _, sum := range content.Sums(d) {
		v.Sums = append(v.Sums, diffRowOf(d, sum.Change, sum.Name, sum.Of))
	}
	for i := range d.Functions {
		v.Functions = append(v.Functions, diffRowOf(d, &d.Functions[i].Change, d.Functions[i].Function, ""))
	}
	if len(v.Classes) > 0 {
		if err := v.run("flame.js"); err != nil {
			return err
		}
	}
	return v.write(w, "diff.tmpl", &v, "flame.css", "diff.css")
}

// diffView holds the fields of the template.
type diffView struct {
	shell
	Unit, Confidence         string
	Classes, Sums, Functions []diffRow
	Graph                    template.HTML
	Caveats                  []string
}

type diffRow struct {
	Group                                   string // colour
	Name, A, B, Difference, Interval, Words string
}

func diffRowOf(d *finding.ProfileDiff, c *finding.Change, name, words string) diffRow {
	cells := content.ChangeCells(d, c)
	return diffRow{shade(c.A, c.B, c.Shown), name, cells[0], cells[1], cells[2], cells[3], words}
}

// shade returns the colour of a change: how many times as much the larger amount is, in three steps.
func shade(a, b float64, shown bool) string {
	if !shown {
		return "even"
	}
	way := "more"
	if b < a {
		way = "less"
	}
	step := 3
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

// diffFrames returns the calls of a comparison. Their labels begin with a sign where a difference is
// shown.
func diffFrames(c *cpuprof.Comparison, d *finding.ProfileDiff) []frame {
	frames := make([]frame, len(c.Calls))
	for i, call := range c.Calls {
		x := Change(call.Change)
		cells := content.ChangeCells(d, &x)
		f := frame{Call: call.Call, group: shade(call.A, call.B, call.Shown())}
		f.about = strings.TrimSuffix("A "+cells[0]+", B "+cells[1]+": "+cells[2]+" "+cells[3], " ")
		if call.Depth > 0 {
			f.about += "; " + string(call.Class)
		}
		switch {
		case call.Depth == 0 || !call.Shown():
		case call.Difference() > 0:
			f.tag = "+ "
		default:
			f.tag = "− "
		}
		frames[i] = f
	}
	return frames
}
