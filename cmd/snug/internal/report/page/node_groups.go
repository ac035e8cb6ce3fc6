// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/limits"
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
	name := nodeCell{Text: message.Clean(inside.In), Note: units.Plural(len(m), "container"), Class: "text", URL: inside.url()}
	worst, findings := m[0], 0
	used := figure.New(0.0, "")
	for _, c := range m {
		if c.Worst().Level() > worst.Worst().Level() {
			worst = c
		}
		for i := range c.Processes {
			findings += len(c.Processes[i].Findings)
		}
		if !c.Used.Known() {
			used = figure.Of[float64]{}
		}
		used.N += c.Used.N
	}
	first := nodeCell{Text: units.None, Class: "text quiet"}
	if s := worst.Worst(); s != "" {
		first = nodeCell{Text: message.Clean(string(s)), Note: units.Plural(findings, "finding"), Class: "text"}
		if s.Level() >= finding.SeverityWarning.Level() {
			first.Class = "text worse"
		}
	}
	sum := cellOf(used, func(x float64) string { return units.Figures(x, 2) })
	if len(m) > 1 {
		sum.Note = "together"
	}
	process := func(c *finding.Container) *finding.NodeProcess { return &c.Processes[0] }
	return []nodeCell{
		name, first,
		spread(m, func(c *finding.Container) figure.Of[string] { return process(c).GoVersion }, compareGo, func(s string) string { return content.GoShort(message.Clean(s)) }),
		spread(m, func(c *finding.Container) figure.Of[int] { return process(c).GOMAXPROCS }, figure.Compare, strconv.Itoa),
		spread(m, func(c *finding.Container) figure.Of[float64] { return c.Quota }, figure.Compare, units.Number),
		sum,
		spread(m, func(c *finding.Container) figure.Of[float64] { return c.Throttled }, figure.Compare, units.Share),
		spread(m, filled, figure.Compare, units.Share),
		spread(m, func(c *finding.Container) figure.Of[int64] { return process(c).GOMEMLIMIT }, figure.Compare, units.Bytes),
		spread(m, func(c *finding.Container) figure.Of[float64] { return process(c).GC }, figure.Compare, units.Share),
	}
}

// spread returns the least and the largest figure of a group, and how many have none or are unknown.
func spread[T cmp.Ordered](m []*finding.Container, get func(*finding.Container) figure.Of[T], compare func(a, b figure.Of[T]) int, print func(T) string) nodeCell {
	var low, high figure.Of[T]
	none, unknown := 0, 0
	for _, c := range m {
		f := get(c)
		switch f.State {
		case limits.Known:
			if !low.Known() || compare(f, low) < 0 {
				low = f
			}
			if !high.Known() || compare(f, high) > 0 {
				high = f
			}
		case limits.None:
			none++
		default:
			unknown++
		}
	}
	switch {
	case !low.Known() && unknown == 0:
		return cellOf(figure.None[T](""), print)
	case !low.Known() && none == 0:
		return cellOf(low, print)
	}
	var notes []string
	if none > 0 && low.Known() {
		notes = append(notes, strconv.Itoa(none)+" "+units.None)
	}
	if unknown > 0 {
		notes = append(notes, strconv.Itoa(unknown)+" not known")
	}
	cell := nodeCell{Text: units.None, Note: strings.Join(notes, ", ")}
	if low.Known() {
		cell.Text = print(low.N)
		if last := print(high.N); last != cell.Text {
			cell.Text += " to " + last
		}
	}
	return cell
}
