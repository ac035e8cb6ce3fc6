// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"html/template"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// NodePage holds what a node's page shows besides its document.
type NodePage struct {
	// Order is one of NodeOrders; "" = worst finding first. Reverse reverses it.
	Order   string
	Reverse bool
	// Wrong hides containers without a warning.
	Wrong bool
	// Find hides containers that have this text, in any case, neither in their names nor in those of
	// their workload, program or image; "" = none.
	Find string
	// Group is one of NodeGroups: a row for each group; "" = a row for each container. With In, the
	// name of a group, its containers have rows.
	Group, In string
	// From is the number of rows before the first one shown.
	From int
	// Age is the time since the scan; Ill says why it is unreliable, "" = it is reliable.
	Age time.Duration
	Ill string
	// Trend returns a container's last figures, oldest first: the share of throttled periods (0
	// to 1) and memory in bytes; below 0 = unknown. Step is the time between two figures.
	Trend func(*finding.Container) (throttled, memory []float32)
	Step  time.Duration
}

// nodeColumns are the table's columns: the word to sort by, the head, and the comparison
// of two containers, which sorts the more interesting one first.
var nodeColumns = []struct {
	order, head string
	compare     func(a, b *finding.Container) int
}{
	{"name", "Name", func(a, b *finding.Container) int {
		return cmp.Compare(content.ContainerName(a), content.ContainerName(b))
	}},
	{"worst", "Worst finding", func(a, b *finding.Container) int { return cmp.Compare(b.Worst().Level(), a.Worst().Level()) }},
	{"go", "Go", func(a, b *finding.Container) int {
		return compareGo(a.Processes[0].GoVersion, b.Processes[0].GoVersion)
	}},
	{"procs", "GOMAXPROCS", func(a, b *finding.Container) int {
		return figure.Compare(b.Processes[0].GOMAXPROCS, a.Processes[0].GOMAXPROCS)
	}},
	{"quota", "Quota", func(a, b *finding.Container) int { return figure.Compare(b.Quota, a.Quota) }},
	{"cpu", "CPU used", func(a, b *finding.Container) int { return figure.Compare(b.Used, a.Used) }},
	{"throttled", "Throttled", func(a, b *finding.Container) int { return figure.Compare(b.Throttled, a.Throttled) }},
	{"memory", "Memory of limit", func(a, b *finding.Container) int { return figure.Compare(b.Filled(), a.Filled()) }},
	{"gomemlimit", "GOMEMLIMIT", func(a, b *finding.Container) int {
		return figure.Compare(b.Processes[0].GOMEMLIMIT, a.Processes[0].GOMEMLIMIT)
	}},
	{"gc", "GC", func(a, b *finding.Container) int {
		return figure.Compare(b.Processes[0].GC, a.Processes[0].GC)
	}},
}

// NodeOrders returns the words that a table of containers can be sorted by.
func NodeOrders() []string {
	all := make([]string, 0, len(nodeColumns))
	for _, c := range nodeColumns {
		all = append(all, c.order)
	}
	return all
}

// compareGo sorts versions, oldest first and unknown last.
func compareGo(a, b figure.Of[string]) int {
	if a.Known() && b.Known() {
		return finding.CompareGo(a.N, b.N)
	}
	return -figure.Compare(a, b)
}

// nodeView holds the fields of the template.
type nodeView struct {
	shell
	Blind    bool        // show what was not seen first, because it is much
	Find     string      // what is searched for
	Kept     [][2]string // other parameters of the page, for the search
	Filter   linkView    // Text "" = no filter
	Groups   []linkView  // ways to group; URL "" = the present one
	In       string      // the group whose containers are listed; "" = all
	All      string      // URL of all containers, if only a part is listed; "" = all are
	Part     string      // which rows of how many; "" = all
	Parts    []linkView  // other parts
	Listed   string      // what the table lists
	Head     []headView
	Rows     [][]nodeCell
	Findings []foundView
	Heaps    []heapView
	Seen     []string
}

type headView struct {
	linkView
	Sort, Class string // Sort is the value of aria-sort; "" = not sorted by this column
}

type nodeCell struct {
	Text, Note, Class, URL string
	Chart                  template.HTML
	Scale                  string // of the chart
}

// foundView holds the findings of one container.
type foundView struct {
	Anchor, Name string
	Facts        []string
	Findings     []findingView
}

type findingView struct {
	Process, Severity, ID, Title, Fix, Verify string
	Evidence                                  [][2]string
}

// heapView holds the last heap of a container.
type heapView struct {
	Name           string
	Facts, Holders []string
}

// maxRows is the maximum number of rows of a page.
const maxRows = 200

// NodeHTML writes a scan as one self-contained page, like all pages of snug. Links sort
// the table.
func NodeHTML(w io.Writer, d *finding.Node, o NodePage) error {
	v := nodeView{shell: shell{
		Class: "wide", Served: true, Kind: "agent", Title: "snug cluster agent", Version: finding.NewBuild().Version,
		Links: []linkView{{"Findings as JSON", "findings"}, {"metrics", "metrics"}},
	}}
	if d.Node != nil {
		v.Title += ", " + message.Clean(*d.Node)
	}
	all := make([]*finding.Container, 0, len(d.Containers))
	for i := range d.Containers {
		if c := &d.Containers[i]; o.shows(c) {
			all = append(all, c)
		}
	}
	v.top(d, &o)
	v.order(all, &o)
	switch groups := count(all, func(c *finding.Container) bool { return c.Unit != nil }); {
	case groups == 0:
		v.Listed = "Containers with Go programs"
	case groups == len(all):
		v.Listed = "Groups with Go programs, outside of containers"
	default:
		v.Listed = "Containers and other groups with Go programs"
	}
	if o.Group != "" && o.In == "" {
		v.Listed += ", by " + o.Group
		v.grouped(all, &o)
	} else {
		from, to := v.part(len(all), &o)
		for _, c := range all[from:to] {
			v.Rows = append(v.Rows, nodeRow(c, &o))
			if c.Worst() != "" {
				v.Findings = append(v.Findings, foundIn(c))
			}
		}
	}
	for i := range d.Heaps {
		v.Heaps = append(v.Heaps, heapOf(&d.Heaps[i]))
	}
	return v.write(w, "node.tmpl", &v, "chart.css", "node.css")
}

// count returns how many containers are of a kind.
func count(all []*finding.Container, is func(*finding.Container) bool) int {
	n := 0
	for _, c := range all {
		if is(c) {
			n++
		}
	}
	return n
}

// top fills in everything above the table.
func (v *nodeView) top(d *finding.Node, o *NodePage) {
	verdict, wrong := content.NodeVerdict(d)
	v.Verdict = strings.ToUpper(verdict[:1]) + verdict[1:]
	_, v.Blind = d.Denied()
	if o.Ill != "" {
		v.Stamps = append(v.Stamps, "Unreliable: "+message.Clean(o.Ill)+".")
	}
	if !d.Memory {
		v.Stamps = append(v.Stamps, "Process memory is not read (--no-mem): "+message.Clean(strings.Join(d.Lost, "; "))+".")
	}
	if d.Node != nil {
		v.Facts = append(v.Facts, "node "+message.Clean(*d.Node))
	}
	seen := "seen just now"
	if o.Age >= time.Second {
		seen = "seen " + units.Duration(o.Age.Truncate(time.Second).Seconds()) + " ago"
	}
	v.Facts = append(v.Facts, seen,
		content.Processes(d.Scan.Processes, "process"), units.Plural(d.Scan.Programs, "program"),
		"a scan took "+units.Duration(d.Scan.CPU)+" of CPU")
	for i := range d.Unsupported {
		v.Seen = append(v.Seen, content.Unsupported(&d.Unsupported[i]))
	}
	for _, s := range d.Skipped {
		text := content.Processes(s.Count, "process") + " skipped: " + message.Clean(s.Reason)
		if s.Hint != "" {
			text += " (" + message.Clean(s.Hint) + ")"
		}
		v.Seen = append(v.Seen, text)
	}
	one := *o
	one.From = 0
	with := func(change func(*NodePage)) string {
		other := one
		change(&other)
		return other.url()
	}
	switch {
	case o.Wrong:
		v.Filter = linkView{"Also those without a warning", with(func(p *NodePage) { p.Wrong = false })}
	case wrong > 0:
		v.Filter = linkView{"Only those with a warning", with(func(p *NodePage) { p.Wrong = true })}
	}
	v.Find, v.In = message.Clean(o.Find), message.Clean(o.In)
	for name, values := range one.query() {
		if name != "find" {
			v.Kept = append(v.Kept, [2]string{name, values[0]})
		}
	}
	slices.SortStableFunc(v.Kept, func(a, b [2]string) int { return cmp.Compare(a[0], b[0]) })
	if o.Find != "" || o.In != "" {
		v.All = with(func(p *NodePage) { p.Find, p.In = "", "" })
	}
	for _, word := range append([]string{""}, NodeGroups()...) {
		l := linkView{Text: cmp.Or(word, "container")}
		if word != o.Group || o.In != "" {
			l.URL = with(func(p *NodePage) { p.Group, p.In = word, "" })
		}
		v.Groups = append(v.Groups, l)
	}
}

// query returns the parameters of the page's URL.
func (o *NodePage) query() url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	set("sort", o.Order)
	set("find", o.Find)
	set("group", o.Group)
	set("in", o.In)
	if o.Reverse {
		q.Set("reverse", "1")
	}
	if o.Wrong {
		q.Set("wrong", "1")
	}
	if o.From > 0 {
		q.Set("from", strconv.Itoa(o.From))
	}
	return q
}

// url returns the URL of the page.
func (o *NodePage) url() string { return "?" + o.query().Encode() }

// part chooses which of n rows to show.
func (v *nodeView) part(n int, o *NodePage) (from, to int) {
	if from = o.From; from < 0 || from >= n {
		from = 0
	}
	to = min(n, from+maxRows)
	if n <= maxRows {
		return from, to
	}
	v.Part = "Rows " + strconv.Itoa(from+1) + " to " + strconv.Itoa(to) + " of " + strconv.Itoa(n)
	other := *o
	if from > 0 {
		other.From = max(0, from-maxRows)
		v.Parts = append(v.Parts, linkView{"the rows before", other.url()})
	}
	if to < n {
		other.From = to
		v.Parts = append(v.Parts, linkView{"the next rows", other.url()})
	}
	return from, to
}

// order sorts containers and makes the head, whose links sort by their columns.
func (v *nodeView) order(all []*finding.Container, o *NodePage) {
	chosen := cmp.Or(o.Order, "worst")
	for _, column := range nodeColumns {
		other := *o
		other.Order, other.Reverse, other.From = column.order, column.order == chosen && !o.Reverse, 0
		h := headView{linkView: linkView{column.head, other.url()}}
		if column.order == "name" || column.order == "worst" {
			h.Class = "text"
		}
		if column.order == chosen {
			h.Sort = "descending"
			if o.Reverse {
				h.Sort = "ascending"
			}
			slices.SortStableFunc(all, func(a, b *finding.Container) int {
				n := column.compare(a, b)
				if o.Reverse {
					n = -n
				}
				return cmp.Or(n, cmp.Compare(content.ContainerName(a), content.ContainerName(b)))
			})
		}
		v.Head = append(v.Head, h)
	}
}

// anchorOf returns the anchor of a container's findings on the page.
func anchorOf(c *finding.Container) string {
	var b strings.Builder
	for _, s := range []*string{c.PodUID, c.ID, c.Group} {
		if s == nil {
			continue
		}
		for _, r := range *s {
			if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				b.WriteRune(r)
			} else {
				b.WriteByte('-')
			}
		}
		b.WriteByte('_')
	}
	return "at-" + b.String()
}
