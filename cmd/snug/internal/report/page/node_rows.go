// SPDX-License-Identifier: Apache-2.0

package page

import (
	"html/template"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// nodeRow returns the row of a container, in the order of nodeColumns.
func nodeRow(c *finding.Container, o *NodePage) []nodeCell {
	p := &c.Processes[0]
	var throttled, memory []float32
	if o.Trend != nil {
		throttled, memory = o.Trend(c)
	}
	name := nodeCell{Text: message.Clean(content.ContainerName(c)), Note: message.Clean(p.Name), Class: "text"}
	if more := len(c.Processes) - 1; more > 0 {
		name.Note += " and " + strconv.Itoa(more) + " more"
	}
	if c.Workload != nil {
		name.Note += ", " + message.Clean(*c.Workload)
	}
	var all []finding.Finding
	for i := range c.Processes {
		all = append(all, c.Processes[i].Findings...)
	}
	worst := nodeCell{Text: units.None, Class: "text quiet"}
	if f := finding.Gravest(all); f != nil {
		name.URL = "#" + anchorOf(c)
		worst = nodeCell{Text: message.Clean(string(f.Severity)), Note: message.Clean(f.ID), Class: "text"}
		if n := len(all) - 1; n > 0 {
			worst.Note += " +" + strconv.Itoa(n)
		}
		if f.Severity.Level() >= finding.SeverityWarning.Level() {
			worst.Class = "text worse"
		}
	}
	row := []nodeCell{name, worst, cellOf(p.GoVersion, func(s string) string { return content.GoShort(message.Clean(s)) })}
	if p.Aware != nil && !*p.Aware {
		row[2].Note = "ignores quotas"
	}
	procs := cellOf(p.GOMAXPROCS, strconv.Itoa)
	if p.GOMAXPROCSSource.Known() {
		procs.Note = content.Setters[p.GOMAXPROCSSource.N]
	}
	used := cellOf(c.Used, func(x float64) string { return units.Figures(x, 2) })
	cut := cellOf(c.Throttled, units.Share)
	cut.Chart, cut.Scale = sparkline("throttled", throttled, 1, o.Step, units.Share)
	held := cellOf(c.Unreclaimable, units.Bytes)
	top := float64(c.MemoryLimit.N) // 0 if there is none
	if c.MemoryLimit.Known() {
		held.Note = "of " + units.Bytes(c.MemoryLimit.N)
	}
	held.Chart, held.Scale = sparkline("memory", memory, top, o.Step, content.BytesText)
	gc := cellOf(p.GC, units.Share)
	if p.PerMin.Known() {
		gc.Note = units.Number(units.RoundTo(p.PerMin.N, 2)) + " a minute"
	}
	return append(row, procs, cellOf(c.Quota, units.Number), used, cut, held, cellOf(p.GOMEMLIMIT, units.Bytes), gc)
}

// cellOf formats a figure.
func cellOf[T any](f figure.Of[T], print func(T) string) nodeCell {
	cell := nodeCell{Text: content.Figure(f, print)}
	if !f.Known() {
		cell.Class = "quiet"
	}
	return cell
}

// The size of a sparkline in CSS pixels.
const sparkWide, sparkHigh = 96, 30

// sparkline draws figures from left to right, and returns its scale as text. top is the value of
// the upper edge; 0 = the largest figure. Figures below 0 are gaps. It returns "" with fewer than
// two figures.
func sparkline(what string, list []float32, top float64, step time.Duration,
	print func(float64) string) (drawing template.HTML, scale string) {
	highest, known := 0.0, 0
	for _, x := range list {
		if x >= 0 {
			highest = max(highest, float64(x))
			known++
		}
	}
	if known < 2 {
		return "", ""
	}
	if highest > top {
		top = highest
	}
	if top <= 0 {
		top = 1
	}
	span := units.Duration((time.Duration(len(list)-1) * step).Seconds())
	title := what + " in the last " + span
	s := chart.Drawing("spark", sparkWide, title, "")
	s.Line("grid", 0, sparkHigh-1, sparkWide, sparkHigh-1)
	var run [][2]float64
	for i, x := range list {
		if x < 0 {
			s.Path("curve s1", run)
			run = nil
			continue
		}
		run = append(run, [2]float64{sparkWide * float64(i) / float64(len(list)-1), 1 + (sparkHigh-2)*(1-float64(x)/top)})
	}
	s.Path("curve s1", run)
	return s.Done(sparkHigh), "0 to " + print(top) + ", " + span
}
