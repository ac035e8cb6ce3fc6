// SPDX-License-Identifier: Apache-2.0

package report

import (
	"html/template"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// nodeRow is a container in the table of a node's page, in the order of nodeColumns.
func nodeRow(c *finding.Container, o *NodePage) []nodeCell {
	p := &c.Processes[0]
	var throttled, memory []float32
	if o.Trend != nil {
		throttled, memory = o.Trend(c)
	}
	name := nodeCell{Text: Clean(ContainerName(c)), Note: Clean(p.Name), Class: "text"}
	if more := len(c.Processes) - 1; more > 0 {
		name.Note += " and " + strconv.Itoa(more) + " more"
	}
	if c.Workload != nil {
		name.Note += ", " + Clean(*c.Workload)
	}
	worst := nodeCell{Text: none, Class: "text quiet"}
	if s := c.Worst(); s != "" {
		name.URL = "#" + anchorOf(c)
		worst = nodeCell{Text: Clean(string(s)), Note: worstID(c), Class: "text"}
		if s.Level() >= finding.SeverityWarning.Level() {
			worst.Class = "text worse"
		}
	}
	row := []nodeCell{name, worst, cellOf(p.Unknown, "go_version", p.GoVersion, func(s string) string { return goShort(Clean(s)) })}
	if p.Aware != nil && !*p.Aware {
		row[2].Note = "blind to quotas"
	}
	procs := cellOf(p.Unknown, "gomaxprocs", p.GOMAXPROCS, strconv.Itoa)
	if p.GOMAXPROCSSource != nil {
		procs.Note = setters[*p.GOMAXPROCSSource]
	}
	quota := cellOf(c.Unknown, "quota_cores", c.Quota, number)
	used := cellOf(nil, "", c.Used, func(x float64) string { return figures(x, 2) })
	cut := cellOf(nil, "", c.Throttled, share)
	cut.Chart = sparkline("throttled", throttled, 1, o.Step)
	held := cellOf(c.Unknown, "memory_unreclaimable_bytes", c.Unreclaimable, size)
	top := float64(0)
	if c.MemoryLimit != nil {
		held.Note = "of " + size(*c.MemoryLimit)
		top = float64(*c.MemoryLimit)
	}
	held.Chart = sparkline("memory", memory, top, o.Step)
	limit := cellOf(p.Unknown, "gomemlimit_bytes", p.GOMEMLIMIT, size)
	gc := cellOf(nil, "", p.GC, share)
	if p.PerMin != nil {
		gc.Note = number(roundTo(*p.PerMin, 2)) + " a minute"
	}
	return append(row, procs, quota, used, cut, held, limit, gc)
}

// worstID is the id of a container's worst finding, and how many more there are.
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
	return Clean(id)
}

// cellOf is a figure, "-" for none, "?" for what could not be read.
func cellOf[T any](unknown []finding.Gap, field string, v *T, print func(T) string) nodeCell {
	switch {
	case v != nil:
		return nodeCell{Text: print(*v)}
	case missingIn(unknown, field):
		return nodeCell{Text: "?", Class: "quiet"}
	}
	return nodeCell{Text: none, Class: "quiet"}
}

// The size of a sparkline in CSS pixels.
const sparkWide, sparkHigh = 96, 30

// sparkline draws figures from left to right; top is what its upper edge stands for, 0 =
// the largest of them. What is below 0 is a gap. It is "" where there is nothing to draw.
func sparkline(what string, list []float32, top float64, step time.Duration) template.HTML {
	most, known := 0.0, 0
	for _, x := range list {
		if x >= 0 {
			most = max(most, float64(x))
			known++
		}
	}
	if known < 2 {
		return ""
	}
	if most > top {
		top = most
	}
	if top <= 0 {
		top = 1
	}
	title := what + " in the last " + duration((time.Duration(len(list)-1) * step).Seconds())
	s := drawing("spark", sparkWide, sparkHigh, title, "")
	s.line("grid", 0, sparkHigh-1, sparkWide, sparkHigh-1)
	var run [][2]float64
	for i, x := range list {
		if x < 0 {
			s.path("curve s1", run)
			run = nil
			continue
		}
		run = append(run, [2]float64{sparkWide * float64(i) / float64(len(list)-1), 1 + (sparkHigh-2)*(1-float64(x)/top)})
	}
	s.path("curve s1", run)
	return s.done()
}

// foundIn is what is wrong with a container, process by process.
func foundIn(c *finding.Container) foundView {
	v := foundView{Anchor: anchorOf(c), Name: Clean(ContainerName(c))}
	add := func(name string, s *string) {
		if s != nil {
			v.Facts = append(v.Facts, name+" "+Clean(*s))
		}
	}
	add("workload", c.Workload)
	add("image", c.Image)
	add("digest", c.Digest)
	add("pod", c.PodUID)
	add("container", c.ID)
	add("class", c.Class)
	for i := range c.Processes {
		p := &c.Processes[i]
		for _, f := range p.Findings {
			found := findingView{
				Process: "pid " + strconv.Itoa(p.PID) + " (" + Clean(p.Name) + ")", Severity: Clean(string(f.Severity)),
				ID: Clean(f.ID), Title: Clean(f.Title), Fix: Clean(f.Fix), Verify: Clean(f.Verify),
			}
			for _, e := range f.Evidence {
				found.Evidence = append(found.Evidence, [2]string{Clean(e.What), quantity(e.Value, e.Unit)})
			}
			v.Findings = append(v.Findings, found)
		}
	}
	return v
}
