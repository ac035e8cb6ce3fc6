// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

const (
	shownHolders = 10
	shownStates  = 5
)

func (p *Page) heap(d *finding.Heap) {
	said := "no sampled object is live"
	if len(d.Top) > 0 {
		said = fmt.Sprintf("about %s live in %s, allocated by %s", units.Bytes(d.Live), units.Plural(d.Objects, "object"),
			units.Plural(d.Stacks, "call stack"))
	}
	p.line("%s: %s", d.Target, said)
	if d.SinceStart {
		p.line("no collection has completed yet: all allocations count as live")
	} else {
		p.line("as of the last completed collection, by the runtime's own heap profile (%s)", d.Source)
	}
	switch {
	case d.Rate > 1 && d.Samples == 0:
		p.line("one allocation in %s is sampled, on average", units.Bytes(d.Rate))
	case d.Rate > 1:
		p.line("estimated from %s: one in %s on average, so rows with few samples are uncertain",
			units.Plural(d.Samples, "sampled object"), units.Bytes(d.Rate))
	case d.Rate == 0:
		p.line("estimated; how many allocations were sampled is unknown")
	default:
		p.line("every allocation is counted")
	}
	rows := [][]string{}
	for _, h := range d.Top[:min(len(d.Top), shownHolders)] {
		rows = append(rows, []string{units.Bytes(h.Live), units.Share(h.Ratio), units.Plural(h.Objects, "object"),
			units.Plural(h.Samples, "sample"), content.Calls(h.Stack)})
	}
	p.largest(rows, d.Stacks, "call stack")
	p.written(d.Saved, "", d.Page)
	p.next(d.Next)
}

func (p *Page) goroutines(d *finding.Goroutines) {
	states := []string{}
	for _, s := range d.States[:min(len(d.States), shownStates)] {
		states = append(states, fmt.Sprintf("%d %s", s.Count, s.State))
	}
	if len(d.States) > shownStates {
		states = append(states, "...")
	}
	counted := content.Goroutines(d)
	counted += units.If(len(states) > 0, ": "+strings.Join(states, ", "))
	p.line("%s: %s", d.Target, counted)
	switch {
	case d.Runtime != nil:
		p.line("%d more are the runtime's own; each was read by itself, without a stop (%s)", *d.Runtime, d.Source)
	case len(d.States) > 0:
		p.line("as %s", d.Source)
	default:
		p.line("as %s, without states and go statements; /debug/pprof/goroutine?debug=2 has them", d.Source)
	}
	if d.Left > 0 {
		p.line("not looked at: %s, which are too many", units.Plural(d.Left, "goroutine"))
	}
	if d.Unread > 0 {
		p.line("not shown: %s that changed with every read", units.Plural(d.Unread, "goroutine"))
	}
	rows := [][]string{}
	for _, g := range d.Groups[:min(len(d.Groups), shownHolders)] {
		what := content.Calls(g.Stack)
		switch {
		case len(g.Stack) > 0:
		case g.Start == "":
			what = "(no calls)"
		default:
			what = g.Start + ", started so; its calls are unknown while it runs"
		}
		if g.Creator != nil {
			what += ", by " + content.Call(*g.Creator)
		}
		row := []string{strconv.Itoa(g.Count), what}
		if len(d.States) > 0 {
			row = slices.Insert(row, 1, g.State)
		}
		rows = append(rows, row)
	}
	p.largest(rows, d.Stacks, "group")
	p.written(d.Saved, "", d.Page)
	p.next(d.Next)
}

// largest prints a table, and how many rows of all it does not have.
func (p *Page) largest(rows [][]string, all int, what string) {
	if len(rows) == 0 {
		return
	}
	p.line("")
	p.table(rows)
	if more := all - len(rows); more > 0 {
		p.line("and %s; --json and -o have more", units.Plural(more, "smaller "+what))
	}
}

func (p *Page) profile(d *finding.Profile) {
	about := ""
	if d.Seconds != nil && *d.Seconds > 0 {
		about = " in " + units.Duration(*d.Seconds)
	}
	p.line("%s: %s of CPU time%s, %s (%s)", d.Target, units.Duration(d.CPU), about, units.Plural(d.Samples, "sample"),
		d.Source)
	if d.Samples == 0 && d.CPU == 0 {
		p.line("it was idle: there is nothing to sort")
	}
	if len(d.Classes) > 0 {
		p.line("")
		p.table(content.ClassRows(d))
	}
	rows := [][]string{}
	for _, t := range d.Top {
		rows = append(rows, []string{units.Share(t.Ratio), units.Share(t.Caused), t.Function})
	}
	p.headed("largest functions of the program: their own code, and with what the runtime and the kernel did for them",
		rows)
	p.findings(d.Findings, false)
	without := units.If(!d.PGO, " (not for go build -pgo, which wants functions of Go 1.20 or later)")
	p.written(d.Saved, without, d.Page)
	p.next(d.Next)
}

// written says where a profile and its page are, and what the profile is not for.
func (p *Page) written(saved *string, not string, page *string) {
	var lines []string
	if saved != nil {
		lines = append(lines, "profile: "+*saved+not)
	}
	if page != nil {
		lines = append(lines, "flame graph: "+*page)
	}
	p.below(lines...)
}

func (p *Page) profileDiff(d *finding.ProfileDiff) {
	p.wrap(content.DiffVerdict(d))
	p.wrap("A: " + content.ProfiledText(&d.A))
	p.wrap("B: " + content.ProfiledText(&d.B))
	p.line("")
	p.line("%s; ~ is no difference that can be shown", content.DiffUnit(d))
	rows := [][]string{{"A", "B", "difference", "interval", ""}}
	add := func(c *finding.Change, name string) { rows = append(rows, append(content.ChangeCells(d, c), name)) }
	for i := range d.Classes {
		add(&d.Classes[i].Change, d.Classes[i].ID)
	}
	for _, sum := range content.Sums(d) {
		add(sum.Change, "("+sum.Name+")")
	}
	p.table(rows)
	p.line("")
	rows = rows[:1]
	for i := range d.Functions {
		if f := &d.Functions[i]; f.Shown || f.Low == nil {
			add(&f.Change, f.Function)
		}
	}
	if len(rows) > 1 {
		p.line("functions of the program, with what the runtime and the kernel did for them")
		p.table(rows)
	} else {
		p.line("of no function of the program a difference can be shown")
	}
	p.line("")
	p.wrap("Each list of intervals holds as a whole with " + units.Share(d.Confidence) + " confidence.")
	for _, c := range d.Caveats {
		p.wrap(c)
	}
	p.written(nil, "", d.Page)
	p.next(d.Next)
}
