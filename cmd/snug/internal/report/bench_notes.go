// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

// benchNotes are what a reader must know about the tables, one sentence each.
func benchNotes(d *finding.Bench) []string {
	notes := early(&d.Setup)
	parts := sections(d.Cells, d.Comparisons)
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
	if closed && !slices.ContainsFunc(d.Verdict.Cannot, func(c string) bool { return strings.Contains(c, "coordinated omission") }) {
		notes = append(notes, "what a closed loop hides: each user waits for an answer before asking again, so a stall also stops "+
			"the questions; real visitors keep coming. Compare latencies under --load, where requests come at their own time")
	}
	if saturated {
		notes = append(notes, "latencies of a saturated closed loop are left out: its callers queue behind each other, which says nothing about the service")
	}
	notes = append(notes, runNotes(d.Cells)...)
	return append(notes, common(&d.Setup, d.Verdict.Cannot)...)
}

// early says that an experiment did not come to its end.
func early(s *finding.Setup) []string {
	if s.Complete {
		return nil
	}
	return []string{"stopped early: what stands here is what had been measured; fewer rounds show less"}
}

// common are the notes of a bench and of a search.
func common(s *finding.Setup, cannot []string) []string {
	var notes []string
	for _, c := range cannot {
		notes = append(notes, Clean(c))
	}
	if s.Repeated > 0 {
		notes = append(notes, plural(s.Repeated, "run")+" did not count and "+were(s.Repeated)+" done again")
	}
	if s.Excluded > 0 {
		notes = append(notes, plural(s.Excluded, "run")+" did not count, "+were(s.Excluded)+" not replaced and "+were(s.Excluded)+" left out")
	}
	return notes
}

func were(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

// notShown says where no difference is shown and how many rounds would show one.
func (s *section) notShown(cells []finding.Cell, all []finding.Comparison, several bool) []string {
	mine := s.comparisons(cells, all)
	type group struct {
		names, metrics []string
		need           int
	}
	var groups []group
	for _, key := range compared(mine) {
		g := group{metrics: []string{called(key)}}
		for _, c := range mine {
			if c.Metric != key || c.Word != finding.NotShown {
				continue
			}
			g.names = append(g.names, s.name(&cells[c.Cell]))
			if c.NeedN != nil {
				g.need = max(g.need, *c.NeedN)
			}
		}
		if len(g.names) == 0 {
			continue
		}
		same := slices.IndexFunc(groups, func(h group) bool { return h.need == g.need && slices.Equal(h.names, g.names) })
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
			text += " (" + short(s.brief, 60) + ")"
		}
		if g.need > 0 {
			text += fmt.Sprintf("; needs n = %d rounds", g.need)
		}
		notes = append(notes, text)
	}
	return notes
}

// few joins names and counts those beyond four.
func few(names []string) string {
	names = slices.Clone(names)
	if n := len(names) - 4; n > 1 {
		return strings.Join(names[:4], "; ") + fmt.Sprintf(" and %d more", n)
	}
	return strings.Join(names, "; ")
}

// windowed reports whether a round lasted as long as the window. A fixed amount
// of work lasts as long as it takes.
func windowed(s *finding.Setup, cells []finding.Cell) bool {
	return s.Window > 0 && (len(cells) == 0 || slices.ContainsFunc(cells, func(c finding.Cell) bool { return c.Load != "batch" }))
}

// howLong says where numbers come from, in one line.
func howLong(s *finding.Setup, cells []finding.Cell) string {
	m := &s.Machine
	parts := []string{plural(s.Rounds, "round")}
	if windowed(s, cells) {
		parts[0] += " of " + duration(s.Window) + " each"
	}
	if s.Seconds > 0 {
		parts = append(parts, whole(s.Seconds)+" in all")
	}
	where := []string{}
	if m.CPUs > 0 {
		where = append(where, plural(m.CPUs, "CPU"))
	}
	for _, v := range []string{m.OS, m.Kernel, m.Go} {
		if v != "" {
			where = append(where, Clean(v))
		}
	}
	if m.CgroupWay != "" && !s.NoLimit {
		where = append(where, "cgroups: "+Clean(m.CgroupWay))
	}
	return strings.Join(parts, ", ") + "; " + strings.Join(where, ", ") + "; seed " + fmt.Sprint(s.Seed)
}
