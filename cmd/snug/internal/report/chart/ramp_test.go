// SPDX-License-Identifier: Apache-2.0

package chart

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/content"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestRamp: the users and five figures on one axis, with a line for each setting, broken where a figure is unknown,
// and a shade where the rounds differ.
func TestRamp(t *testing.T) {
	timeline := func(rps float64) *finding.Timeline {
		t := &finding.Timeline{Step: 1}
		for i := range 12 {
			t.Users, t.RPS, t.Errors = append(t.Users, 30.5+float64(i)), append(t.RPS, rps), append(t.Errors, 0)
			p95 := new(.02)
			if i == 5 {
				p95 = nil
			}
			t.P50, t.P95, t.Throttled = append(t.P50, new(.01)), append(t.P95, p95), append(t.Throttled, new(.5))
			t.CPU, t.GCs, t.GCCPU, t.Resident = append(t.CPU, nil), append(t.GCs, nil), append(t.GCCPU, nil), append(t.Resident, nil)
		}
		return t
	}
	arm := finding.Arm{Workload: "http", Load: "30..42 users in 12s"}
	other := arm
	other.GOMAXPROCS = "8"
	cells := []finding.Cell{
		{Arm: arm, Labels: []string{"default"}, Rounds: []finding.Run{{Timeline: timeline(100)}, {Round: 1, Timeline: timeline(120)}}},
		{Arm: other, Rounds: []finding.Run{{Timeline: timeline(90)}}},
	}
	s := content.NewSection(cells, []int{0, 1})
	f := Ramp(&s, cells)
	if f == nil || len(f.Charts) != 2 {
		t.Fatalf("%+v", f)
	}
	for i, class := range []string{`class="ramp wide"`, `class="ramp narrow"`} {
		drawing := string(f.Charts[i])
		for text, times := range map[string]int{
			class: 1, `class="head"`: 6, `class="shade k0"`: 1, `class="shade k1"`: 0, ">not measured<": 1, ">20<": 1, ">40<": 1, ">users<": 1,
			// in the key, and in four panels, in one of them broken
			`<path class="curve s0 d0"`: 6, `<path class="curve s1 d1"`: 5, `<line class="curve s1 d1"`: 1, ">P=8<": 1, ">50 %<": 1,
		} {
			if got := strings.Count(drawing, text); got != times {
				t.Errorf("%s: %d times %s, want %d", class, got, text, times)
			}
		}
	}
	if !strings.Contains(f.Caption, "Shades") {
		t.Error(f.Caption)
	}
	cells[0].Rounds, cells[1].Rounds = nil, nil
	if f := Ramp(&s, cells); f != nil {
		t.Errorf("without a course: %+v", f)
	}
}
