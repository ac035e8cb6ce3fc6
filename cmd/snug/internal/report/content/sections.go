// SPDX-License-Identifier: Apache-2.0

package content

import (
	"cmp"
	"path"
	"slices"
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
			set = append(set, name+message.Clean(value))
		}
	}
	add("P=", c.GOMAXPROCS)
	add("GOGC=", c.GOGC)
	add("GOMEMLIMIT=", metric.LimitText(c.GOMEMLIMIT))
	for _, v := range c.Vars.List() {
		add("", v)
	}
	if c.Burst > 0 {
		add("burst=", units.Duration(float64(c.Burst)/1e6))
	}
	if c.Replicas > 1 {
		add("", units.Plural(c.Replicas, "container"))
	}
	return cmp.Or(strings.Join(set, " "), nothingSet)
}

const nothingSet = "nothing set"

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

// closedLoop reports whether a load is of users, in any number, that each wait for an answer.
func closedLoop(load string) bool {
	_, fixed := users(load)
	_, ramp := finding.ParseRamp(load)
	return fixed || ramp
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

// loads are the words for loads.
var loads = map[string]string{
	"saturated": "saturated (closed loop at full speed)", "batch": "a fixed amount of work", "benchmark": "Go benchmarks",
	"self": "the workload drives itself", "command": "load command (closed loop)",
}

// load describes a load.
func load(name string, offered *float64) string {
	rps := ""
	if offered != nil {
		rps = ", " + units.Rate(*offered) + "/s offered"
	}
	ramp, isRamp := rampText(name)
	clean := message.Clean(name)
	switch {
	case isRamp:
		return ramp
	case strings.HasSuffix(name, "%"):
		return "open loop at " + strings.TrimSuffix(clean, "%") + " % of capacity" + rps
	case strings.HasSuffix(name, "/s"):
		return "open loop, " + clean + " offered"
	}
	return cmp.Or(loads[name], clean)
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
			return []Section{SectionOf(cells)}
		}
		all = append(all, NewSection(cells, groups[x]))
	}
	return all
}

// known reports whether the cells of a comparison exist.
func known(cells []finding.Cell, c finding.Comparison) bool {
	return c.Cell >= 0 && c.Cell < len(cells) && c.Baseline >= 0 && c.Baseline < len(cells)
}

// SectionOf returns the section of all cells.
func SectionOf(cells []finding.Cell) Section {
	every := make([]int, len(cells))
	for i := range every {
		every[i] = i
	}
	return NewSection(cells, every)
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
	add := func(shown bool, full, short string) {
		if shown {
			title, brief = append(title, full), append(brief, short)
		}
	}
	workload := message.Clean(first.Workload)
	add(!s.Workload, workload, workload)
	add(!s.quota && first.Quota == 0, units.CPUs(0), units.CPUs(0))
	add(!s.quota && first.Quota != 0, "quota of "+units.CPUs(first.Quota), units.CPUs(first.Quota))
	if !s.Memory && first.Memory > 0 {
		title = append(title, units.Bytes(first.Memory)+" of memory")
	}
	add(s.Users, "closed loop of users", "users")
	add(!s.Users && !s.Load, loadText(first), message.Clean(first.Load))
	s.Title, s.brief = strings.Join(title, "; "), strings.Join(brief, ", ")
	return s
}

// Name returns the name of a cell within its section, where cells of other contexts may
// have the same labels.
func (s *Section) Name(c *finding.Cell) string {
	parts := []string{ArmName(c)}
	add := func(differs bool, text string) {
		if differs {
			parts = append([]string{text}, parts...)
		}
	}
	add(s.Workload, message.Clean(c.Workload))
	add(s.quota, units.CPUs(c.Quota))
	add(s.Memory && c.Memory > 0, units.Bytes(c.Memory))
	add(s.Load, message.Clean(c.Load))
	return strings.Join(parts, ", ")
}

// keys returns the columns that identify the cell of a row.
func (s *Section) keys(cells []finding.Cell, knobs bool) Grid {
	var g Grid
	column := func(of func(*finding.Cell) string) []string {
		return units.Texts(s.Cells, func(i int) string { return of(&cells[i]) })
	}
	key := func(differs bool, head string, of func(*finding.Cell) string) {
		if differs {
			g.Key(head, column(of))
		}
	}
	key(s.Workload, "workload", func(c *finding.Cell) string { return message.Clean(c.Workload) })
	key(s.quota, "quota", func(c *finding.Cell) string { return units.CPUs(c.Quota) })
	key(s.Memory, "memory limit", func(c *finding.Cell) string { return OrNone(units.Bytes(c.Memory), c.Memory == 0) })
	key(s.Users, "users", func(c *finding.Cell) string { n, _ := users(c.Load); return strconv.Itoa(n) })
	key(s.Load && !s.Users, "load", func(c *finding.Cell) string { return message.Clean(c.Load) })
	key(true, "setting", ArmName)
	if !knobs {
		return g
	}
	g.Add("P", column(procs))
	// The name of a cell without labels already holds its knobs.
	optional := func(head string, of func(*finding.Cell) string) {
		if values := column(of); Measured(values) && labelled(cells, s.Cells) {
			g.Add(head, values)
		}
	}
	optional("GOGC", func(c *finding.Cell) string { return message.Clean(cmp.Or(c.GOGC, units.None)) })
	optional("GOMEMLIMIT", func(c *finding.Cell) string { return cmp.Or(metric.LimitText(c.GOMEMLIMIT), units.None) })
	optional("containers", func(c *finding.Cell) string { return OrNone(strconv.Itoa(c.Replicas), c.Replicas < 2) })
	optional("burst", func(c *finding.Cell) string {
		return OrNone(units.Duration(float64(c.Burst)/1e6), c.Burst == 0)
	})
	return g
}

func labelled(cells []finding.Cell, part []int) bool {
	return slices.ContainsFunc(part, func(i int) bool {
		return len(cells[i].Labels) > 0 && knobs(&cells[i]) != nothingSet
	})
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

// ProgramName returns the name of what was measured: the file name of a program, the
// URL of a service, or else the workload.
func ProgramName(s *finding.Setup, workload string) string {
	switch {
	case workload == "command" && len(s.Command) > 1 && path.Base(s.Command[0]) == "go" && s.Command[1] == "test":
		return "go test"
	case workload == "command" && len(s.Command) > 0 && s.Command[0] != "":
		return path.Base(s.Command[0])
	case workload == "url" && s.URL != "":
		return "the service at " + s.URL
	}
	return workload
}

// Named returns copies of the cells with the workload replaced by ProgramName. The
// document is not changed.
func Named(s *finding.Setup, cells []finding.Cell) []finding.Cell {
	out := slices.Clone(cells)
	for i := range out {
		out[i].Workload = ProgramName(s, out[i].Workload)
	}
	return out
}

func NamedBench(d *finding.Bench) *finding.Bench {
	out := *d
	out.Cells = Named(&d.Setup, d.Cells)
	return &out
}

func NamedTune(d *finding.Tune) *finding.Tune {
	out := *d
	out.Cells = Named(&d.Setup, d.Cells)
	if d.Confirm != nil {
		c := *d.Confirm
		c.Winner.Workload = ProgramName(&d.Setup, c.Winner.Workload)
		c.Default.Workload = ProgramName(&d.Setup, c.Default.Workload)
		c.Without = Named(&d.Setup, c.Without)
		out.Confirm = &c
	}
	return &out
}

// WithConfirmation returns all cells of a search, including its confirmation.
func WithConfirmation(d *finding.Tune) []finding.Cell {
	if d.Confirm == nil {
		return d.Cells
	}
	return append(d.Cells[:len(d.Cells):len(d.Cells)], Confirmed(d.Confirm)...)
}

// Confirmed returns the cells that the comparisons of a confirmation index.
func Confirmed(c *finding.Confirm) []finding.Cell {
	return append([]finding.Cell{c.Winner, c.Default}, c.Without...)
}
