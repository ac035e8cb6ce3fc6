// SPDX-License-Identifier: Apache-2.0

package page

import (
	"cmp"
	"fmt"
	"html/template"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/chart"
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
	{"worst", "Worst finding", func(a, b *finding.Container) int {
		return cmp.Compare(b.Worst().Level(), a.Worst().Level())
	}},
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
	{"gc", "GC", func(a, b *finding.Container) int { return figure.Compare(b.Processes[0].GC, a.Processes[0].GC) }},
}

// NodeOrders returns the words that a table of containers can be sorted by.
func NodeOrders() []string {
	var all []string
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
	All      string      // URL of all containers, if only a part is listed; "" = all are
	Part     string      // how many rows of how many; "" = all
	Head     []headView
	Rows     [][]nodeCell
	Findings []*finding.Container
	Heaps    []finding.LastHeap
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

// holderOf returns the name of the container of a heap.
func holderOf(h finding.LastHeap) string {
	return content.ContainerName(&finding.Container{ContainerNames: h.ContainerNames, PodUID: h.PodUID, ID: h.ID,
		Unit: h.Unit})
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
	if n := len(all); n > maxRows {
		v.Part, all = fmt.Sprintf("The first %d of %d; search for others", maxRows, n), all[:maxRows]
	}
	for _, c := range all {
		v.Rows = append(v.Rows, nodeRow(c, &o))
		if c.Worst() != "" {
			v.Findings = append(v.Findings, c)
		}
	}
	v.Heaps = d.Heaps
	return v.write(w, "node.tmpl", &v, "chart.css", "node.css")
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
		units.Plural(d.Scan.Processes, "process"), units.Plural(d.Scan.Programs, "program"),
		"a scan took "+units.Duration(d.Scan.CPU)+" of CPU")
	v.Seen = content.NotSeen(d)
	other := *o
	other.Wrong = !o.Wrong
	switch {
	case o.Wrong:
		v.Filter = linkView{"Also those without a warning", other.url()}
	case wrong > 0:
		v.Filter = linkView{"Only those with a warning", other.url()}
	}
	if v.Find = message.Clean(o.Find); o.Find != "" {
		other = *o
		other.Find = ""
		v.All = other.url()
	}
	q := o.query()
	q.Del("find")
	for _, name := range slices.Sorted(maps.Keys(q)) {
		v.Kept = append(v.Kept, [2]string{name, q.Get(name)})
	}
}

// shows reports whether the table is about a container.
func (o *NodePage) shows(c *finding.Container) bool {
	if len(c.Processes) == 0 || o.Wrong && c.Worst().Level() < finding.SeverityWarning.Level() {
		return false
	}
	text := content.ContainerName(c) + "\n" + c.Processes[0].Name
	for _, s := range []*string{c.Workload, c.Image, c.ID, c.PodUID} {
		if s != nil {
			text += "\n" + *s
		}
	}
	return strings.Contains(strings.ToLower(text), strings.ToLower(o.Find))
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
	if o.Reverse {
		q.Set("reverse", "1")
	}
	if o.Wrong {
		q.Set("wrong", "1")
	}
	return q
}

// url returns the URL of the page.
func (o *NodePage) url() string { return "?" + o.query().Encode() }

// order sorts containers and makes the head, whose links sort by their columns.
func (v *nodeView) order(all []*finding.Container, o *NodePage) {
	chosen := cmp.Or(o.Order, "worst")
	for _, column := range nodeColumns {
		other := *o
		other.Order, other.Reverse = column.order, column.order == chosen && !o.Reverse
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
	name := "at-"
	for _, s := range []*string{c.PodUID, c.ID, c.Group} {
		if s != nil {
			name += url.PathEscape(*s) + "_"
		}
	}
	return name
}

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
		worst = nodeCell{Text: message.Clean(string(f.Severity)), Class: "text"}
		worst.Note = message.Clean(f.ID) + content.MoreThan(1, len(all))
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
