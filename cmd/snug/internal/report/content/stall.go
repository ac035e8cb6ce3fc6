// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strconv"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// Probed returns the cells whose stalls were measured, one of each setting: the probe is
// the same under any load.
func Probed(cells []finding.Cell) []int {
	type probe struct {
		quota float64
		burst int64
		finding.Knobs
	}
	seen := map[probe]bool{}
	var found []int
	for i := range cells {
		c := &cells[i]
		key := probe{c.Quota, c.Burst, c.Knobs}
		if c.Stall == nil || seen[key] {
			continue
		}
		seen[key] = true
		found = append(found, i)
	}
	return found
}

// StallColumns adds columns for the measured stalls and the law.
func StallColumns(g *Grid, s *Section, cells []finding.Cell) {
	law, worst := make([]*float64, len(s.Cells)), make([]*float64, len(s.Cells))
	any := false
	for k, i := range s.Cells {
		if st := cells[i].Stall; st != nil {
			law[k], worst[k], any = &st.Law, st.Max, true
		}
	}
	if any {
		g.Add("worst gap", gaps(s.Cells, cells, worst))
		g.Add("law", gaps(s.Cells, cells, law))
	}
}

// gaps formats gaps, measured or by the law. "none" means that a probe found no gap,
// as opposed to no probe.
func gaps(part []int, cells []finding.Cell, values []*float64) []string {
	column := metric.Durations(values)
	for k, i := range part {
		if cells[i].Stall != nil && (values[k] == nil || *values[k] == 0) {
			column[k] = "none"
		}
	}
	return column
}

// Stalls returns the table of measured stalls and the law.
func Stalls(cells []finding.Cell) (Grid, bool) {
	part := Probed(cells)
	if len(part) == 0 {
		return Grid{}, false
	}
	s := NewSection(cells, part)
	s.Workload, s.Load, s.Users = false, false, false
	g := s.keys(cells, true)
	var threads []string
	var law, median, worst []*float64
	for _, i := range part {
		st := cells[i].Stall
		threads = append(threads, strconv.Itoa(st.Threads))
		law, median, worst = append(law, &st.Law), append(median, st.Median), append(worst, st.Max)
	}
	g.Add("threads", threads)
	g.Add("law", gaps(part, cells, law))
	g.Add("median gap", gaps(part, cells, median))
	g.Add("worst gap", gaps(part, cells, worst))
	return g, true
}

// StallLaw explains the law and compares it with the measurements.
func StallLaw(cells []finding.Cell) string {
	text := "stall law: in each period T, N threads that run at once use up a quota of q CPUs early and then stall " +
		"for T(1-q/N)"
	longest := (*finding.Stall)(nil)
	for _, i := range Probed(cells) {
		if st := cells[i].Stall; st.Median != nil && (longest == nil || st.Law > longest.Law) {
			longest = st
		}
	}
	if longest == nil || longest.Law == 0 {
		return text
	}
	text += "; with " + units.Plural(longest.Threads, "thread") + " and T = " + units.Duration(longest.Period) +
		" that is " +
		units.Duration(longest.Law) + ", and the median of the periods' longest gaps measured is " +
		units.Duration(*longest.Median)
	if r := *longest.Median / longest.Law; r < .75 || r > 1.25 {
		text += "; with such a difference, other programs probably used the CPUs"
	}
	return text
}
