// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// ArmName returns the name of an arm: its labels, or else the knobs that it sets.
func ArmName(c *finding.Cell) string {
	if len(c.Labels) > 0 {
		return message.Clean(strings.Join(c.Labels, ", "))
	}
	return knobs(c)
}

// knobs returns the settings of an arm as text.
func knobs(c *finding.Cell) string {
	var set []string
	add := func(name, value string) {
		if value != "" {
			set = append(set, name+"="+message.Clean(value))
		}
	}
	add("P", c.GOMAXPROCS)
	add("GOGC", c.GOGC)
	add("GOMEMLIMIT", metric.LimitText(c.GOMEMLIMIT))
	for _, v := range c.Vars.List() {
		set = append(set, message.Clean(v))
	}
	if c.Burst > 0 {
		add("burst", units.Duration(float64(c.Burst)/1e6))
	}
	if c.Replicas > 1 {
		set = append(set, units.Plural(c.Replicas, "container"))
	}
	if len(set) == 0 {
		return "nothing set"
	}
	return strings.Join(set, " ")
}

// procs returns the GOMAXPROCS that the program used or, if it did not report it, the
// one that was set.
func procs(c *finding.Cell) string {
	switch {
	case c.Procs != nil:
		return strconv.Itoa(*c.Procs)
	case c.GOMAXPROCS != "":
		return message.Clean(c.GOMAXPROCS) + " asked"
	}
	return units.None
}

// users parses the number of users of a closed loop.
func users(load string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(load, " users"))
	return n, err == nil && strings.HasSuffix(load, " users")
}

// requests reports whether snug sends the requests of a load.
func requests(load string) bool {
	return load != "batch" && load != "benchmark" && load != "self" && load != "command"
}

// loadText describes the load of a cell.
func loadText(c *finding.Cell) string {
	loop := c.Loop()
	switch {
	case loop == "" || c.Load == "command" && loop == finding.LoopClosed:
		return load(c.Load, c.Offered)
	case c.Load == "command":
		return "load command (open loop)"
	}
	return "load command at " + message.Clean(c.Load) + " (" + message.Clean(loop) + " loop)"
}

// load describes a load.
func load(name string, offered *float64) string {
	rps := ""
	if offered != nil {
		rps = ", " + units.Rate(*offered) + "/s offered"
	}
	if text, ok := rampText(name); ok {
		return text
	}
	switch {
	case name == "saturated":
		return "saturated (closed loop at full speed)"
	case name == "batch":
		return "a fixed amount of work"
	case name == "benchmark":
		return "Go benchmarks"
	case name == "self":
		return "the workload drives itself"
	case name == "command":
		return "load command (closed loop)"
	case strings.HasSuffix(name, "%"):
		return "open loop at " + strings.TrimSuffix(message.Clean(name), "%") + " % of capacity" + rps
	case strings.HasSuffix(name, "/s"):
		return "open loop, " + message.Clean(name) + " offered"
	}
	return message.Clean(name)
}

func Quota(cores float64) string {
	if cores == 0 {
		return "no quota"
	}
	return units.Plural(cores, "CPU")
}

// Section is a part of an experiment whose cells are shown in one table.
type Section struct {
	Title string // full
	brief string // enough to distinguish it from other sections
	Cells []int
	// Which of these differ within the section, besides the knobs.
	Workload, quota, Memory, Load bool
	Users                         bool // closed loops, one row for each number of users
	Ramp                          bool // a closed loop whose number of users changes
	Requests                      bool
}

// context holds the fields of an arm that are not compared.
type context struct {
	workload string
	quota    float64
	memory   int64
	load     string
}

func contextOf(c *finding.Cell) context {
	x := context{c.Workload, c.Quota, c.Memory, c.Load}
	if units.Odd(x.quota) {
		x.quota = -1 // NaN does not equal itself
	}
	if _, ok := users(c.Load); ok {
		x.load = "users" // one table for all numbers of users
	}
	return x
}

// Sections groups the cells by context. Contexts that are compared with each other
// (the variants of a workload) share a section. If any context has only one cell, all
// cells share one section.
func Sections(cells []finding.Cell, comparisons []finding.Comparison) []Section {
	leader := map[context]context{}
	find := func(x context) context {
		for to, ok := leader[x]; ok; to, ok = leader[x] {
			x = to
		}
		return x
	}
	for _, c := range comparisons {
		if known(cells, c) {
			a, b := find(contextOf(&cells[c.Cell])), find(contextOf(&cells[c.Baseline]))
			if a != b {
				leader[a] = b
			}
		}
	}
	order := []context{}
	groups := map[context][]int{}
	for i := range cells {
		x := find(contextOf(&cells[i]))
		if groups[x] == nil {
			order = append(order, x)
		}
		groups[x] = append(groups[x], i)
	}
	var all []Section
	for _, x := range order {
		if len(order) > 1 && len(groups[x]) == 1 {
			every := make([]int, len(cells))
			for i := range every {
				every[i] = i
			}
			return []Section{NewSection(cells, every)}
		}
		all = append(all, NewSection(cells, groups[x]))
	}
	return all
}

// known reports whether the cells of a comparison exist.
func known(cells []finding.Cell, c finding.Comparison) bool {
	return c.Cell >= 0 && c.Cell < len(cells) && c.Baseline >= 0 && c.Baseline < len(cells)
}

func NewSection(cells []finding.Cell, part []int) Section {
	s := Section{Cells: part, Requests: true}
	first := &cells[part[0]]
	for _, i := range part {
		c := &cells[i]
		s.Workload = s.Workload || c.Workload != first.Workload
		s.quota = s.quota || c.Quota != first.Quota
		s.Memory = s.Memory || c.Memory != first.Memory
		s.Load = s.Load || c.Load != first.Load
		s.Requests = s.Requests && requests(c.Load) && c.Loop() == ""
	}
	s.Users = contextOf(first).load == "users" && !s.Workload && !s.quota && !s.Memory
	_, ramp := finding.ParseRamp(first.Load)
	s.Ramp = ramp && !s.Load
	var title, brief []string
	if !s.Workload {
		title = append(title, message.Clean(first.Workload))
		brief = append(brief, message.Clean(first.Workload))
	}
	if !s.quota {
		title = append(title, map[bool]string{true: "no quota", false: "quota of " + units.Plural(first.Quota,
			"CPU")}[first.Quota == 0])
		brief = append(brief, Quota(first.Quota))
	}
	if !s.Memory && first.Memory > 0 {
		title = append(title, units.Bytes(first.Memory)+" of memory")
	}
	switch {
	case s.Users:
		title = append(title, "closed loop of users")
		brief = append(brief, "users")
	case !s.Load:
		title = append(title, loadText(first))
		brief = append(brief, message.Clean(first.Load))
	}
	s.Title, s.brief = strings.Join(title, "; "), strings.Join(brief, ", ")
	return s
}

// Name returns the name of a cell within its section, where cells of other contexts may
// have the same labels.
func (s *Section) Name(c *finding.Cell) string {
	name := ArmName(c)
	if s.Workload {
		name = message.Clean(c.Workload) + ", " + name
	}
	if s.quota {
		name = Quota(c.Quota) + ", " + name
	}
	if s.Memory && c.Memory > 0 {
		name = units.Bytes(c.Memory) + ", " + name
	}
	if s.Load {
		name = message.Clean(c.Load) + ", " + name
	}
	return name
}

// keys returns the columns that identify the cell of a row.
func (s *Section) keys(cells []finding.Cell, knobs bool) Grid {
	var g Grid
	column := func(of func(*finding.Cell) string) []string {
		values := make([]string, len(s.Cells))
		for i, k := range s.Cells {
			values[i] = of(&cells[k])
		}
		return values
	}
	if s.Workload {
		g.Key("workload", column(func(c *finding.Cell) string { return message.Clean(c.Workload) }))
	}
	if s.quota {
		g.Key("quota", column(func(c *finding.Cell) string { return Quota(c.Quota) }))
	}
	if s.Memory {
		g.Key("memory limit", column(func(c *finding.Cell) string { return OrNone(units.Bytes(c.Memory), c.Memory == 0) }))
	}
	switch {
	case s.Users:
		g.Key("users", column(func(c *finding.Cell) string { n, _ := users(c.Load); return strconv.Itoa(n) }))
	case s.Load:
		g.Key("load", column(func(c *finding.Cell) string { return message.Clean(c.Load) }))
	}
	g.Key("setting", column(ArmName))
	if !knobs {
		return g
	}
	g.Add("P", column(procs))
	for _, k := range []struct {
		head string
		of   func(*finding.Cell) string
	}{
		{"GOGC", func(c *finding.Cell) string { return OrNone(message.Clean(c.GOGC), c.GOGC == "") }},
		{"GOMEMLIMIT", func(c *finding.Cell) string { return OrNone(metric.LimitText(c.GOMEMLIMIT), c.GOMEMLIMIT == "") }},
		{"containers", func(c *finding.Cell) string { return OrNone(strconv.Itoa(c.Replicas), c.Replicas < 2) }},
		{"burst", func(c *finding.Cell) string { return OrNone(units.Duration(float64(c.Burst)/1e6), c.Burst == 0) }},
	} {
		// The name of a cell without labels already holds its knobs.
		if values := column(k.of); Measured(values) && labelled(cells, s.Cells) {
			g.Add(k.head, values)
		}
	}
	return g
}

func labelled(cells []finding.Cell, part []int) bool {
	for _, i := range part {
		if len(cells[i].Labels) > 0 && knobs(&cells[i]) != "nothing set" {
			return true
		}
	}
	return false
}

func OrNone(s string, empty bool) string {
	if empty {
		return units.None
	}
	return s
}

// Whole formats the duration of an experiment: 58 s, 14 min.
func Whole(seconds float64) string {
	switch {
	case units.Odd(seconds) || seconds < 0 || seconds > 1e9:
		return units.None
	case seconds < 100:
		return units.Figures(seconds, 2) + " s"
	}
	d := time.Duration(seconds * float64(time.Second)).Round(time.Minute)
	if d < 100*time.Minute {
		return strconv.Itoa(int(d.Minutes())) + " min"
	}
	return units.Figures(d.Hours(), 2) + " h"
}
