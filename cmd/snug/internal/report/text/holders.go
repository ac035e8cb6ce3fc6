// SPDX-License-Identifier: Apache-2.0

package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

const (
	shownHolders = 10
	shownStates  = 5
)

func (p *Page) heap(d *finding.Heap) {
	target := message.Clean(d.Target)
	switch {
	case len(d.Top) == 0:
		p.line("%s: no sampled object is live", target)
	default:
		p.line("%s: about %s live in %s, allocated by %s", target, units.Bytes(d.Live), units.Plural(d.Objects, "object"),
			units.Plural(d.Stacks, "call stack"))
	}
	if d.SinceStart {
		p.line("no collection has completed yet: all allocations count as live")
	} else {
		p.line("as of the last completed collection, by the runtime's own heap profile (%s)", message.Clean(d.Source))
	}
	switch {
	case d.Rate > 1 && d.Samples == 0:
		p.line("one allocation in %s is sampled, on average", units.Bytes(d.Rate))
	case d.Rate > 1:
		p.line("estimated from %s: one in %s on average, so rows with few samples are uncertain", units.Plural(d.Samples,
			"sampled object"), units.Bytes(d.Rate))
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
	for i, s := range d.States {
		if i == shownStates {
			states = append(states, "...")
			break
		}
		states = append(states, fmt.Sprintf("%d %s", s.Count, message.Clean(s.State)))
	}
	counted := content.Goroutines(d)
	if len(states) > 0 {
		counted += ": " + strings.Join(states, ", ")
	}
	p.line("%s: %s", message.Clean(d.Target), counted)
	switch {
	case d.Runtime != nil:
		p.line("%d more are the runtime's own; each was read by itself, without a stop (%s)", *d.Runtime,
			message.Clean(d.Source))
	case len(d.States) > 0:
		p.line("as %s", message.Clean(d.Source))
	default:
		p.line("as %s, without states and go statements; /debug/pprof/goroutine?debug=2 has them", message.Clean(d.Source))
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
			what = message.Clean(g.Start) + ", started so; its calls are unknown while it runs"
		}
		if g.Creator != nil {
			what += ", by " + content.Call(*g.Creator)
		}
		row := []string{fmt.Sprint(g.Count), message.Clean(g.State), what}
		if len(d.States) == 0 {
			row = slices.Delete(row, 1, 2)
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

// written says where a profile and its page are, and what the profile is not for.
func (p *Page) written(saved *string, not string, page *string) {
	if saved != nil || page != nil {
		p.line("")
	}
	if saved != nil {
		p.line("profile: %s%s", message.Clean(*saved), not)
	}
	if page != nil {
		p.line("flame graph: %s", message.Clean(*page))
	}
}
