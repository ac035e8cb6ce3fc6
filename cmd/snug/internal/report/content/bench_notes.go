// SPDX-License-Identifier: Apache-2.0

package content

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// BenchNotes are what a reader must know about the tables, one sentence each.
func BenchNotes(d *finding.Bench) []string {
	notes := Early(&d.Setup)
	parts := Sections(d.Cells, d.Comparisons)
	for i := range parts {
		notes = append(notes, parts[i].notShown(d.Cells, d.Comparisons, len(parts) > 1)...)
	}
	saturated, closed := false, false
	for i := range d.Cells {
		c := &d.Cells[i]
		saturated = saturated || c.P99 != nil && c.Load == "saturated"
		_, ok := users(c.Load)
		closed = closed || ok
	}
	if closed && !slices.ContainsFunc(d.Verdict.Cannot, omission) {
		notes = append(notes, "what a closed loop hides: each user waits for an answer before asking again, so a stall also stops "+
			"the questions; real visitors keep coming. Compare latencies under --load, where requests come at their own time")
	}
	if saturated {
		notes = append(notes, "latencies of a saturated closed loop are left out: its callers queue behind each other, which says nothing about the service")
	}
	notes = append(notes, runNotes(d.Cells)...)
	notes = append(notes, asksOnly(d.Cells)...)
	return append(notes, common(&d.Setup, d.Cells, d.Verdict.Cannot)...)
}

// omission reports whether a text is about what a closed loop hides.
func omission(text string) bool { return strings.Contains(text, "coordinated omission") }

// asksOnly explains the P of programs that did not say what they had.
func asksOnly(cells []finding.Cell) []string {
	if slices.ContainsFunc(cells, func(c finding.Cell) bool { return c.Procs == nil && c.GOMAXPROCS != "" }) {
		return []string{"asked: what GOMAXPROCS was set to; the program did not say what it had"}
	}
	return nil
}

// Early says that an experiment did not come to its end.
func Early(s *finding.Setup) []string {
	if s.Complete {
		return nil
	}
	return []string{"stopped early: what stands here is what had been measured; fewer rounds show less"}
}

// common are the notes of a bench and of a search.
func common(s *finding.Setup, cells []finding.Cell, cannot []string) []string {
	var notes []string
	said := false
	for _, c := range cannot {
		if omission(c) {
			if said {
				continue
			}
			said = true
		}
		if c = metric.Worded(c); !slices.Contains(notes, c) {
			notes = append(notes, c)
		}
	}
	for _, c := range cannot {
		if strings.Contains(c, "did not count: ") { // with the reason: what became of the runs is left to say
			if s.Repeated > 0 {
				notes = append(notes, units.Plural(s.Repeated, "run")+" "+were(s.Repeated)+" done again")
			}
			if s.Excluded > 0 {
				notes = append(notes, units.Plural(s.Excluded, "run")+" "+were(s.Excluded)+" not replaced, but left out")
			}
			return notes
		}
	}
	return append(notes, invalidNotes(s, cells)...)
}

// notShown says where no difference is shown and how many rounds would show one.
func (s *Section) notShown(cells []finding.Cell, all []finding.Comparison, several bool) []string {
	mine := s.Comparisons(cells, all)
	type group struct {
		names, metrics []string
		least, most    int
	}
	var groups []group
	for _, key := range compared(mine) {
		g := group{metrics: []string{metric.Called(key)}}
		for _, c := range mine {
			if c.Metric != key || c.Word != finding.NotShown {
				continue
			}
			g.names = append(g.names, s.Name(&cells[c.Cell]))
			if c.NeedN != nil {
				if g.least == 0 || *c.NeedN < g.least {
					g.least = *c.NeedN
				}
				g.most = max(g.most, *c.NeedN)
			}
		}
		if len(g.names) == 0 {
			continue
		}
		same := slices.IndexFunc(groups, func(h group) bool { return h.least == g.least && h.most == g.most && slices.Equal(h.names, g.names) })
		if same < 0 {
			groups = append(groups, g)
		} else {
			groups[same].metrics = append(groups[same].metrics, g.metrics...)
		}
	}
	var notes []string
	for _, g := range groups {
		text := "not shown: a difference in " + strings.Join(g.metrics, ", ") + " of " + few(g.names)
		if several {
			text += " (" + Short(s.brief, 60) + ")"
		}
		text += Needs(g.least, g.most)
		notes = append(notes, text)
	}
	return notes
}

// mostRounds is how many rounds anybody will wait for.
const mostRounds = 1000

// Needs says how many rounds would show a difference, from the least of several
// settings to the most; 0 when that is not known.
func Needs(least, most int) string {
	switch {
	case most <= 0:
		return ""
	case least > mostRounds:
		return "; not in practice (over 1000 rounds)"
	case most > mostRounds:
		return fmt.Sprintf("; needs n = %d rounds at least, for some not in practice (over 1000 rounds)", least)
	case least != most:
		return fmt.Sprintf("; needs n = %d to %d rounds", least, most)
	}
	return fmt.Sprintf("; needs n = %d rounds", most)
}

// few joins names and counts those beyond four.
func few(names []string) string {
	names = slices.Clone(names)
	if n := len(names) - 4; n > 1 {
		return strings.Join(names[:4], "; ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, "; ")
}

// Windowed reports whether a round lasted as long as the window. A fixed amount
// of work lasts as long as it takes.
func Windowed(s *finding.Setup, cells []finding.Cell) bool {
	return s.Window > 0 && (len(cells) == 0 || slices.ContainsFunc(cells, func(c finding.Cell) bool { return c.Load != "batch" }))
}

// HowMany says how many rounds there were, or where they ended; "" when nothing
// was measured. Only a bench knows beforehand how many there will be.
func HowMany(s *finding.Setup, cells []finding.Cell, planned bool) string {
	last := 0
	for i := range cells {
		for k := range cells[i].Rounds {
			last = max(last, cells[i].Rounds[k].Round+1)
		}
	}
	text, each := units.Plural(s.Rounds, "round"), " of "
	switch {
	case len(cells) == 0 || s.Rounds == 0 && last == 0:
		return ""
	case !s.Complete && planned && s.Rounds > 0:
		text, each = fmt.Sprintf("stopped in round %d of %d", min(max(last, 1), s.Rounds), s.Rounds), ", each "
	case !s.Complete:
		text, each = fmt.Sprintf("stopped in round %d", max(last, 1)), ", each "
	}
	if Windowed(s, cells) {
		text += each + units.Duration(s.Window)
	}
	return text
}

// HowLong says where numbers come from, in one line; "" when there are none.
func HowLong(s *finding.Setup, cells []finding.Cell, planned bool) string {
	if len(cells) == 0 {
		return ""
	}
	m := &s.Machine
	var parts, where []string
	if rounds := HowMany(s, cells, planned); rounds != "" {
		parts = append(parts, rounds)
	}
	if s.Seconds > 0 {
		parts = append(parts, Whole(s.Seconds)+" in all")
	}
	if m.CPUs > 0 {
		where = append(where, units.Plural(m.CPUs, "CPU"))
	}
	for _, v := range []string{m.OS, m.Kernel, m.Go} {
		if v != "" {
			where = append(where, message.Clean(v))
		}
	}
	if m.CgroupWay != "" && !s.NoLimit {
		where = append(where, "cgroups: "+message.Clean(m.CgroupWay))
	}
	all := []string{strings.Join(parts, ", "), strings.Join(where, ", "), "seed " + fmt.Sprint(s.Seed)}
	return strings.Join(slices.DeleteFunc(all, func(s string) bool { return s == "" }), "; ")
}
