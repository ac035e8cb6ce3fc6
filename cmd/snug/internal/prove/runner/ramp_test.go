// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestTimeline: each slice has what was counted between two readings, and what was not read is
// unknown.
func TestTimeline(t *testing.T) {
	began := time.Now()
	at := func(seconds float64, cpu time.Duration, periods, throttled uint64, gc workload.Traced) counters {
		return counters{
			machine: machineTime{at: began.Add(time.Duration(seconds * float64(time.Second)))},
			usage:   cgrun.Usage{CPUTime: &cpu, Periods: &periods, ThrottledPeriods: &throttled}, trace: &gc,
		}
	}
	c := &course{ramp: finding.Ramp{From: 10, To: 30, Over: 10 * time.Second}, slices: 10, p: new(process), resident: new(int64(4 << 20))}
	c.readings = []reading{
		{at(1, time.Second, 20, 5, workload.Traced{Cycles: 3, CPU: .5}), new(int64(1 << 20))},
		{at(2.5, 4*time.Second, 35, 5, workload.Traced{Cycles: 1, Missed: 1, CPU: .1}), nil}, // late
		{at(3, 4*time.Second, 35, 5, workload.Traced{}), new(int64(2 << 20))},                // idle
	}
	slices := make([]load.Slice, 10)
	slices[0] = load.Slice{Ops: 40, P50: new(.25), P95: new(.5)}
	slices[9] = load.Slice{Errors: 7}
	a := at(0, 0, 10, 5, workload.Traced{Cycles: 9})
	got := c.timeline(a, at(10, 9*time.Second, 100, 50, workload.Traced{Cycles: 2}), slices)
	for name, v := range map[string]struct {
		got  any
		want string
	}{
		"step": {got.Step, `1`}, "users": {got.Users, `[11,13,15,17,19,21,23,25,27,29]`},
		"rps": {got.RPS, `[40,0,0,0,0,0,0,0,0,0]`}, "p50": {got.P50, `[0.25,null,null,null,null,null,null,null,null,null]`},
		"errors": {got.Errors, `[0,0,0,0,0,0,0,0,0,7]`}, "throttled": {got.Throttled, `[0,0,0,null,null,null,null,null,null,null]`},
		"cpu": {got.CPU, `[1,2,0,null,null,null,null,null,null,null]`}, "gcs": {got.GCs, `[3,2,0,null,null,null,null,null,null,null]`},
		"gc cpu": {got.GCCPU, `[0.5,null,0,null,null,null,null,null,null,null]`},
		"rss":    {got.Resident, `[1048576,null,2097152,null,null,null,null,null,null,null]`},
	} {
		text, err := json.Marshal(v.got)
		if err != nil || string(text) != v.want {
			t.Errorf("%s: %s, %v; want %s", name, text, err, v.want)
		}
	}
	if sum := c.traced(&workload.Traced{Cycles: 2}); sum.Cycles != 6 || sum.Missed != 1 {
		t.Errorf("the whole window has %+v, want 6 cycles and 1 missed", sum)
	}
	if (&Runner{}).follow(t.Context(), finding.Arm{Load: "30 users"}, nil) != nil {
		t.Error("a number of users that does not change has a course")
	}
}

func TestRampPlan(t *testing.T) {
	r := Runner{Window: time.Minute}
	p := r.plan(experiment.Trial{Arm: finding.Arm{Load: "100..30 users in 3m"}}, []string{"http://h/"})
	if p.Kind != load.Closed || p.Connections != 100 || p.To != 30 || p.Window != 3*time.Minute || p.Slices != 120 {
		t.Errorf("%+v", p)
	}
}
