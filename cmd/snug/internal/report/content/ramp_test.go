// SPDX-License-Identifier: Apache-2.0

package content

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// rampCell is a cell with two valid rounds of a ramp of 16 slices, and two that must not count.
func rampCell() finding.Cell {
	c := finding.Cell{Arm: finding.Arm{Workload: "http", Load: "10..42 users in 16s"}, Labels: []string{"default"}}
	for round := range 4 {
		t := &finding.Timeline{Step: 1}
		for i := range 16 {
			t.Users = append(t.Users, 11+2*float64(i))
			t.RPS = append(t.RPS, 100*float64(i+round))
			t.P50, t.P95 = append(t.P50, new(.010)), append(t.P95, nil)
			t.Errors, t.Throttled = append(t.Errors, 0), append(t.Throttled, new(.25))
			t.CPU, t.GCs, t.GCCPU = append(t.CPU, nil), append(t.GCs, new(uint64(3))), append(t.GCCPU, nil)
			t.Resident = append(t.Resident, new(int64(1<<20)))
		}
		c.Rounds = append(c.Rounds, finding.Run{Round: round, Timeline: t})
	}
	c.Rounds[2].Invalid = "noisy neighbours"
	c.Rounds[3].Timeline.RPS = nil // broken
	return c
}

func TestCourses(t *testing.T) {
	cells := []finding.Cell{rampCell(), {Arm: finding.Arm{Workload: "http", Load: "10..42 users in 16s", Knobs: finding.Knobs{GOMAXPROCS: "8"}}}}
	s := NewSection(cells, []int{0, 1})
	if !s.Ramp || s.Title != "http; no quota; closed loop of 10 to 42 users, in 16 s" {
		t.Errorf("section %+v", s)
	}
	all := s.Courses(cells)
	if len(all) != 1 || all[0].Title != "default, over time: medians of the rounds and of the slices in each row" {
		t.Fatalf("tables: %+v", all)
	}
	want := map[string]string{
		"time": "0 to 2 s|2 to 4 s|4 to 6 s|6 to 8 s|8 to 10 s|10 to 12 s|12 to 14 s|14 to 16 s", "users": "12|16|20|24|28|32|36|40",
		"req/s": "100|300|500|700|900|1100|1300|1500", "median": strings.TrimSuffix(strings.Repeat("10.0 ms|", 8), "|"),
		"throttled": strings.TrimSuffix(strings.Repeat("25 %|", 8), "|"), "GC/s": strings.TrimSuffix(strings.Repeat("3.00|", 8), "|"),
		"RSS": strings.TrimSuffix(strings.Repeat("1.00 MiB|", 8), "|"),
	}
	for _, c := range all[0].Columns {
		if got := strings.Join(c.Cells, "|"); got != want[c.Head] {
			t.Errorf("%s: %s, want %s", c.Head, got, want[c.Head])
		}
		delete(want, c.Head)
	}
	if len(want) > 0 {
		t.Errorf("missing columns: %v", want)
	}
	c := CourseOf(&s, cells, 0)
	if l := c.Lines[CourseRPS]; l.Low[3] != 300 || l.Median[3] != 350 || l.High[3] != 400 {
		t.Errorf("of two rounds: %g, %g, %g", l.Low[3], l.Median[3], l.High[3])
	}
}
