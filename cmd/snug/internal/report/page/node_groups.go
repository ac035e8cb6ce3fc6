// SPDX-License-Identifier: Apache-2.0

package page

import (
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// nodeGroups are the ways to have one row for several containers: the word of the URL, and the name of
// a container's group.
var nodeGroups = []struct {
	word string
	of   func(*finding.Container) string
}{
	{"workload", func(c *finding.Container) string {
		if c.Namespace == nil || c.Workload == nil {
			return content.ContainerName(c)
		}
		name := *c.Namespace + "/" + *c.Workload
		if c.Name != nil {
			name += "/" + *c.Name
		}
		return name
	}},
	{"namespace", func(c *finding.Container) string {
		switch {
		case c.Namespace != nil:
			return *c.Namespace
		case c.Unit != nil:
			return "outside of containers"
		}
		return "namespace not known"
	}},
}

// NodeGroups returns the words that containers can be grouped by.
func NodeGroups() []string {
	var all []string
	for _, g := range nodeGroups {
		all = append(all, g.word)
	}
	return all
}

// nodeGroup returns the name of a container's group; "" with an unknown word.
func nodeGroup(word string, c *finding.Container) string {
	for _, g := range nodeGroups {
		if g.word == word {
			return g.of(c)
		}
	}
	return ""
}

// shows reports whether the table is about a container.
func (o *NodePage) shows(c *finding.Container) bool {
	if len(c.Processes) == 0 || o.Wrong && c.Worst().Level() < finding.SeverityWarning.Level() || o.In != "" && nodeGroup(o.Group, c) != o.In {
		return false
	}
	if o.Find == "" {
		return true
	}
	texts := []string{content.ContainerName(c), nodeGroup("workload", c), c.Processes[0].Name}
	for _, s := range []*string{c.Image, c.ID, c.PodUID} {
		if s != nil {
			texts = append(texts, *s)
		}
	}
	return strings.Contains(strings.ToLower(strings.Join(texts, "\n")), strings.ToLower(o.Find))
}

// grouped returns the rows of groups, each where its first container is, and what each has the most of.
func (v *nodeView) grouped(all []*finding.Container, o *NodePage) {
	at, members := map[string]int{}, [][]*finding.Container{}
	for _, c := range all {
		name := nodeGroup(o.Group, c)
		i, known := at[name]
		if !known {
			i = len(members)
			at[name], members = i, append(members, nil)
		}
		members[i] = append(members[i], c)
	}
	from, to := v.part(len(members), o)
	for _, m := range members[from:to] {
		v.Rows = append(v.Rows, nodeGroupRow(m, o))
	}
}

// nodeGroupRow returns the row of a group, in the order of nodeColumns.
func nodeGroupRow(m []*finding.Container, o *NodePage) []nodeCell {
	inside := *o
	inside.In, inside.Find, inside.From = nodeGroup(o.Group, m[0]), "", 0
	var w finding.Workload
	findings := 0
	for _, c := range m {
		w.Add(c, "")
		for i := range c.Processes {
			findings += len(c.Processes[i].Findings)
		}
	}
	name := nodeCell{Text: message.Clean(inside.In), Note: units.Plural(len(m), "container"), Class: "text", URL: inside.url()}
	worst := nodeCell{Text: units.None, Class: "text quiet"}
	if s := w.Worst(); s != "" {
		worst = nodeCell{Text: message.Clean(string(s)), Note: units.Plural(findings, "finding"), Class: "text"}
		if s.Level() >= finding.SeverityWarning.Level() {
			worst.Class = "text worse"
		}
	}
	used := cellOf(w.Used, func(x float64) string { return units.Figures(x, 2) })
	if len(m) > 1 {
		used.Note = "together"
	}
	return []nodeCell{
		name, worst, spanCell(w.Go, func(s string) string { return content.GoShort(message.Clean(s)) }), spanCell(w.GOMAXPROCS, strconv.Itoa), spanCell(w.Quota, units.Number), used,
		spanCell(w.Throttled, units.Share), spanCell(w.Filled, units.Share), spanCell(w.GOMEMLIMIT, units.Bytes), spanCell(w.GC, units.Share),
	}
}

// spanCell shows the least and the largest figure of a group, and of how many there is none or it is unknown.
func spanCell[T any](s finding.Span[T], print func(T) string) nodeCell {
	var notes []string
	if s.None > 0 && s.Least.Known() {
		notes = append(notes, strconv.Itoa(s.None)+" "+units.None)
	}
	if s.Unknown > 0 && s.Least.Read() {
		notes = append(notes, strconv.Itoa(s.Unknown)+" not known")
	}
	cell := nodeCell{Text: content.Span(s, print), Note: strings.Join(notes, ", ")}
	if !s.Least.Known() {
		cell.Class = "quiet"
	}
	return cell
}
