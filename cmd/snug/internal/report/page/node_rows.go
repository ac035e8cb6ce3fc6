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
	worst := nodeCell{Text: units.None, Class: "text quiet"}
	if s := c.Worst(); s != "" {
		name.URL = "#" + anchorOf(c)
		worst = nodeCell{Text: message.Clean(string(s)), Note: worstID(c), Class: "text"}
		if s.Level() >= finding.SeverityWarning.Level() {
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
	quota := cellOf(c.Quota, units.Number)
	used := cellOf(c.Used, func(x float64) string { return units.Figures(x, 2) })
	cut := cellOf(c.Throttled, units.Share)
	cut.Chart, cut.Scale = sparkline("throttled", throttled, 1, o.Step, units.Share)
	held := cellOf(c.Unreclaimable, units.Bytes)
	top := float64(0)
	if c.MemoryLimit.Known() {
		held.Note = "of " + units.Bytes(c.MemoryLimit.N)
		top = float64(c.MemoryLimit.N)
	}
	held.Chart, held.Scale = sparkline("memory", memory, top, o.Step, content.BytesText)
	limit := cellOf(p.GOMEMLIMIT, units.Bytes)
	gc := cellOf(p.GC, units.Share)
	if p.PerMin.Known() {
		gc.Note = units.Number(units.RoundTo(p.PerMin.N, 2)) + " a minute"
	}
	return append(row, procs, quota, used, cut, held, limit, gc)
}

// worstID returns the id of a container's worst finding, and the number of others.
func worstID(c *finding.Container) string {
	id, n := "", 0
	for i := range c.Processes {
		for _, f := range c.Processes[i].Findings {
			if n++; id == "" && f.Severity == c.Worst() {
				id = f.ID
			}
		}
	}
	if n > 1 {
		id += " +" + strconv.Itoa(n-1)
	}
	return message.Clean(id)
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
func sparkline(what string, list []float32, top float64, step time.Duration, print func(float64) string) (drawing template.HTML, scale string) {
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
	s := chart.Drawing("spark", sparkWide, sparkHigh, title, "")
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
	return s.Done(), "0 to " + print(top) + ", " + span
}

// foundIn returns the findings of a container, by process.
func foundIn(c *finding.Container) foundView {
	v := foundView{Anchor: anchorOf(c), Name: message.Clean(content.ContainerName(c))}
	add := func(name string, s *string) {
		if s != nil {
			v.Facts = append(v.Facts, name+" "+message.Clean(*s))
		}
	}
	add("workload", c.Workload)
	add("image", c.Image)
	add("digest", c.Digest)
	add("pod", c.PodUID)
	add("container", c.ID)
	add("class", c.Class)
	add("group", c.Group)
	for i := range c.Processes {
		p := &c.Processes[i]
		for _, f := range p.Findings {
			found := findingView{
				Process: "pid " + strconv.Itoa(p.PID) + " (" + message.Clean(p.Name) + ")", Severity: message.Clean(string(f.Severity)),
				ID: message.Clean(f.ID), Title: message.Clean(f.Title), Fix: message.Clean(f.Fix), Verify: message.Clean(f.Verify),
			}
			for _, e := range f.Evidence {
				found.Evidence = append(found.Evidence, [2]string{message.Clean(e.What), content.Quantity(e.Value, e.Unit)})
			}
			v.Findings = append(v.Findings, found)
		}
	}
	return v
}

// heapOf returns the view of a container's last heap.
func heapOf(h *finding.LastHeap) heapView {
	c := &finding.Container{ContainerNames: h.ContainerNames, PodUID: h.PodUID, ID: h.ID, Unit: h.Unit}
	v := heapView{Name: message.Clean(content.ContainerName(c)), Facts: []string{
		"read at " + message.Clean(h.At), "pid " + strconv.Itoa(h.PID) + " (" + message.Clean(h.Name) + ")",
		units.Bytes(h.Memory) + " of " + units.Bytes(h.Limit),
	}}
	if h.Gone != nil {
		v.Facts = append(v.Facts, "the container was gone at "+message.Clean(*h.Gone))
	}
	if h.Why != "" {
		v.Holders = append(v.Holders, "unknown: "+message.Clean(h.Why))
	}
	for _, one := range h.Holders {
		text := units.Bytes(one.Bytes) + " live, allocated in " + message.Clean(one.Function)
		if one.At != "" {
			text += " (" + message.Clean(one.At) + ")"
		}
		if one.For != "" {
			text += " for " + message.Clean(one.For)
		}
		v.Holders = append(v.Holders, text)
	}
	return v
}
