// SPDX-License-Identifier: Apache-2.0

package report

import (
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// armName is what an arm goes by: its labels, or the knobs that it sets.
func armName(c *finding.Cell) string {
	if len(c.Labels) > 0 {
		return Clean(strings.Join(c.Labels, ", "))
	}
	return knobs(c)
}

// knobs are the settings of an arm as one would say them.
func knobs(c *finding.Cell) string {
	var set []string
	add := func(name, value string) {
		if value != "" {
			set = append(set, name+"="+Clean(value))
		}
	}
	add("P", c.GOMAXPROCS)
	add("GOGC", c.GOGC)
	add("GOMEMLIMIT", limitText(c.GOMEMLIMIT))
	for _, v := range c.Vars.List() {
		set = append(set, Clean(v))
	}
	if c.Burst > 0 {
		add("burst", duration(float64(c.Burst)/1e6))
	}
	if c.Replicas > 1 {
		set = append(set, plural(c.Replicas, "container"))
	}
	if len(set) == 0 {
		return "nothing set"
	}
	return strings.Join(set, " ")
}

// procs is the GOMAXPROCS that the program had; where it did not say, the one
// it was given.
func procs(c *finding.Cell) string {
	switch {
	case c.Procs != nil:
		return strconv.Itoa(*c.Procs)
	case c.GOMAXPROCS != "":
		return Clean(c.GOMAXPROCS) + " asked"
	}
	return none
}

// users is the number of users of a closed loop.
func users(load string) (int, bool) {
	n, err := strconv.Atoi(strings.TrimSuffix(load, " users"))
	return n, err == nil && strings.HasSuffix(load, " users")
}

// requests reports whether a load is made of requests that snug sends.
func requests(load string) bool { return load != "batch" && load != "self" }

// load says what a load is.
func load(name string, offered *float64) string {
	rps := ""
	if offered != nil {
		rps = ", " + rate(*offered) + "/s offered"
	}
	switch {
	case name == "saturated":
		return "saturated (closed loop at full speed)"
	case name == "batch":
		return "a fixed amount of work"
	case name == "self":
		return "the workload drives itself"
	case strings.HasSuffix(name, "%"):
		return "open loop at " + strings.TrimSuffix(Clean(name), "%") + " % of capacity" + rps
	case strings.HasSuffix(name, "/s"):
		return "open loop, " + Clean(name) + " offered"
	}
	return Clean(name)
}

func quota(cores float64) string {
	if cores == 0 {
		return "no quota"
	}
	return plural(cores, "CPU")
}

// section is a part of an experiment whose cells belong side by side.
type section struct {
	title string // all of it
	brief string // to tell it from other sections
	cells []int
	// What differs within the section besides the knobs.
	workload, quota, memory, load bool
	users                         bool
	requests                      bool
}

// context is what an arm runs in; the rest of an arm is what is compared.
type context struct {
	workload string
	quota    float64
	memory   int64
	load     string
}

func contextOf(c *finding.Cell) context {
	x := context{c.Workload, c.Quota, c.Memory, c.Load}
	if odd(x.quota) {
		x.quota = -1 // NaN, which equals nothing
	}
	if _, ok := users(c.Load); ok {
		x.load = "users" // one table of rising numbers of them
	}
	return x
}

// sections puts the cells of a context together, and contexts that are compared
// with each other (the variants of a workload). Where a context has one cell
// only, all of them share a table.
func sections(cells []finding.Cell, comparisons []finding.Comparison) []section {
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
	var all []section
	for _, x := range order {
		if len(order) > 1 && len(groups[x]) == 1 {
			every := make([]int, len(cells))
			for i := range every {
				every[i] = i
			}
			return []section{newSection(cells, every)}
		}
		all = append(all, newSection(cells, groups[x]))
	}
	return all
}

// known reports whether a comparison is about cells that exist.
func known(cells []finding.Cell, c finding.Comparison) bool {
	return c.Cell >= 0 && c.Cell < len(cells) && c.Baseline >= 0 && c.Baseline < len(cells)
}

func newSection(cells []finding.Cell, part []int) section {
	s := section{cells: part, requests: true}
	first := &cells[part[0]]
	for _, i := range part {
		c := &cells[i]
		s.workload = s.workload || c.Workload != first.Workload
		s.quota = s.quota || c.Quota != first.Quota
		s.memory = s.memory || c.Memory != first.Memory
		s.load = s.load || c.Load != first.Load
		s.requests = s.requests && requests(c.Load)
	}
	s.users = contextOf(first).load == "users" && !s.workload && !s.quota && !s.memory
	var title, brief []string
	if !s.workload {
		title = append(title, Clean(first.Workload))
		brief = append(brief, Clean(first.Workload))
	}
	if !s.quota {
		title = append(title, map[bool]string{true: "no quota", false: "quota of " + plural(first.Quota, "CPU")}[first.Quota == 0])
		brief = append(brief, quota(first.Quota))
	}
	if !s.memory && first.Memory > 0 {
		title = append(title, size(first.Memory)+" of memory")
	}
	switch {
	case s.users:
		title = append(title, "closed loop of users")
		brief = append(brief, "users")
	case !s.load:
		title = append(title, load(first.Load, first.Offered))
		brief = append(brief, Clean(first.Load))
	}
	s.title, s.brief = strings.Join(title, "; "), strings.Join(brief, ", ")
	return s
}

// name is what a cell is called within its section, where other cells may have
// the same labels in another context.
func (s *section) name(c *finding.Cell) string {
	name := armName(c)
	if s.workload {
		name = Clean(c.Workload) + ", " + name
	}
	if s.quota {
		name = quota(c.Quota) + ", " + name
	}
	if s.memory && c.Memory > 0 {
		name = size(c.Memory) + ", " + name
	}
	if s.load {
		name = Clean(c.Load) + ", " + name
	}
	return name
}

// keys are the columns that say which cell a row is.
func (s *section) keys(cells []finding.Cell, knobs bool) grid {
	var g grid
	column := func(of func(*finding.Cell) string) []string {
		values := make([]string, len(s.cells))
		for i, k := range s.cells {
			values[i] = of(&cells[k])
		}
		return values
	}
	if s.workload {
		g.key("workload", column(func(c *finding.Cell) string { return Clean(c.Workload) }))
	}
	if s.quota {
		g.key("quota", column(func(c *finding.Cell) string { return quota(c.Quota) }))
	}
	if s.memory {
		g.key("memory limit", column(func(c *finding.Cell) string { return orNone(size(c.Memory), c.Memory == 0) }))
	}
	switch {
	case s.users:
		g.key("users", column(func(c *finding.Cell) string { n, _ := users(c.Load); return strconv.Itoa(n) }))
	case s.load:
		g.key("load", column(func(c *finding.Cell) string { return Clean(c.Load) }))
	}
	g.key("setting", column(armName))
	if !knobs {
		return g
	}
	g.add("P", column(procs))
	for _, k := range []struct {
		head string
		of   func(*finding.Cell) string
	}{
		{"GOGC", func(c *finding.Cell) string { return orNone(Clean(c.GOGC), c.GOGC == "") }},
		{"GOMEMLIMIT", func(c *finding.Cell) string { return orNone(limitText(c.GOMEMLIMIT), c.GOMEMLIMIT == "") }},
		{"containers", func(c *finding.Cell) string { return orNone(strconv.Itoa(c.Replicas), c.Replicas < 2) }},
		{"burst", func(c *finding.Cell) string { return orNone(duration(float64(c.Burst)/1e6), c.Burst == 0) }},
	} {
		// A name already holds the knobs of a cell that has no labels.
		if values := column(k.of); measured(values) && labelled(cells, s.cells) {
			g.add(k.head, values)
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

func orNone(s string, empty bool) string {
	if empty {
		return none
	}
	return s
}

// whole prints a duration of an experiment: 58 s, 14 min.
func whole(seconds float64) string {
	switch {
	case odd(seconds) || seconds < 0 || seconds > 1e9:
		return none
	case seconds < 100:
		return figures(seconds, 2) + " s"
	}
	d := time.Duration(seconds * float64(time.Second)).Round(time.Minute)
	if d < 100*time.Minute {
		return strconv.Itoa(int(d.Minutes())) + " min"
	}
	return figures(d.Hours(), 2) + " h"
}
