// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// TestNotMeasuredIsNil: a figure that no run has is nil, with or without runs.
func TestNotMeasuredIsNil(t *testing.T) {
	d := plain(2)
	for name, runs := range map[string][]finding.Run{
		"no runs":        nil,
		"empty runs":     {{Arm: d.Arms[0].Arm}, {Arm: d.Arms[0].Arm, Round: 1}},
		"invalid runs":   {service{}.run(Trial{Arm: d.Arms[0].Arm})},
		"not an outcome": {{Arm: d.Arms[0].Arm, Latency: &finding.Histogram{}}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "invalid runs" {
				runs[0].Arm, runs[0].Invalid = d.Arms[0].Arm, "late"
			}
			cells := Cells(d, runs)
			if len(cells) != 3 {
				t.Fatalf("%d cells", len(cells))
			}
			c := cells[0]
			v := reflect.ValueOf(c)
			for i := range v.NumField() {
				if f := v.Field(i); f.Kind() == reflect.Pointer && !f.IsNil() {
					t.Errorf("%s is set", v.Type().Field(i).Name)
				}
			}
			if len(c.Intervals) != 0 || len(c.Rounds) != len(runs) {
				t.Errorf("intervals %v, %d rounds", c.Intervals, len(c.Rounds))
			}
			text, _ := json.Marshal(cells)
			var back []map[string]any
			if json.Unmarshal(text, &back); back[1]["labels"] == nil || back[1]["rounds"] == nil || back[1]["rps"] != nil {
				t.Errorf("%s", text)
			}
		})
	}
}

func TestCells(t *testing.T) {
	a := arm("1", "50%", LabelSnug)
	a.GOMEMLIMIT = "124MiB"
	d := &Design{Arms: []Arm{a}, Rounds: 7}
	var runs []finding.Run
	for i, p99 := range []float64{0.03, 0.01, 0.07, 0.02, 0.05, 0.04, 0.06, 9} {
		n := uint64(i)
		runs = append(runs, finding.Run{
			Arm: a.Arm, Round: i, Window: 4, Ops: 990, Errors: 10, P99: &p99, Procs: new(1),
			Periods: new(uint64(40)), ThrottledPeriods: &n, GCs: new(4 * n), STWMax: new(float64(i) / 1000),
			OOMKills: new(n / 6), Peak: new(int64(1000 + i)),
		})
	}
	runs[7].Round, runs[7].Invalid = 3, "late" // does not count, whatever its figures
	c := Cells(d, runs)[0]
	near := func(name string, got *float64, want float64) {
		t.Helper()
		if got == nil || math.Abs(*got-want) > 1e-12 {
			t.Errorf("%s is %v, want %g", name, or(got), want)
		}
	}
	near("p99", c.P99, 0.04)
	near("throttled", c.Throttled, 3.0/40)
	near("gc per second", c.GCPerSec, 3)
	near("longest stop", c.STWMax, 0.006)
	near("error ratio", c.ErrorRate, 0.01)
	near("offered", c.Offered, 800)
	if c.OOMKills == nil || *c.OOMKills != 1 || *c.Peak != 1003 || *c.Procs != 1 || *c.Limit != 124<<20 {
		t.Errorf("OOM kills %d, peak %d, procs %d, limit %d", or(c.OOMKills), *c.Peak, *c.Procs, *c.Limit)
	}
	// 7 rounds: the minimum and the maximum are an interval of 1-2^-6.
	if iv := c.Intervals["p99_seconds"]; iv.Low != 0.01 || iv.High != 0.07 || iv.Confidence != 1-1.0/64 {
		t.Errorf("interval %+v", iv)
	}
	for name := range c.Intervals {
		field := false
		for i := range reflect.TypeOf(c).NumField() {
			field = field || reflect.TypeOf(c).Field(i).Tag.Get("json") == name
		}
		if !field {
			t.Errorf("an interval of %s, which is no field", name)
		}
	}
	if c = Cells(d, runs[:5])[0]; c.P99 == nil || len(c.Intervals) != 0 {
		t.Errorf("5 rounds have intervals: %v", c.Intervals)
	}
}

// TestPooledTail: the P99.9 covers all requests, from 10,000 on.
func TestPooledTail(t *testing.T) {
	a := arm("1", "50%")
	d := &Design{Arms: []Arm{a}, Rounds: 5, Seed: 1}
	run := func(round int, slow int64) finding.Run {
		return finding.Run{Arm: a.Arm, Round: round, Latency: &finding.Histogram{
			Seconds: []float64{0.001, 0.05, 0.1 + float64(round)/100}, Counts: []int64{1990 - slow, 10 - slow, 2 * slow},
		}}
	}
	var runs []finding.Run
	for round := range 4 {
		runs = append(runs, run(round, 3))
	}
	if c := Cells(d, runs)[0]; c.P999 != nil || c.Latency == nil {
		t.Errorf("8000 requests have a P99.9, %v", c.P999)
	}
	runs = append(runs, run(4, 3))
	c := Cells(d, runs)[0]
	// 30 of 10,000 are slow, 6 of each round from 100 to 140 ms; the 11th largest
	// is the 9,990th.
	if c.P999 == nil || *c.P999 != 0.13 {
		t.Fatalf("P99.9 is %g, want 0.13", or(c.P999))
	}
	if iv := c.Intervals["p999_seconds"]; iv.Low > 0.13 || iv.High < 0.13 || iv.Confidence != 0.95 {
		t.Errorf("interval %+v", iv)
	}
	var n int64
	for _, k := range c.Latency.Counts {
		n += k
	}
	if n != 10000 || len(c.Latency.Seconds) != 7 {
		t.Errorf("histogram %+v", c.Latency)
	}
}

func TestStallCells(t *testing.T) {
	a := arm("8", "self")
	d := &Design{Arms: []Arm{a}, Rounds: 5}
	run := func(round int, median, longest *float64) finding.Run {
		return finding.Run{Arm: a.Arm, Round: round, Stall: &finding.Stall{
			Threads: 2, Law: 0.05, Median: median, Max: longest, Span: 1, Gaps: [][2]float64{{float64(round), 1}},
		}}
	}
	c := Cells(d, []finding.Run{run(1, new(0.051), new(0.06)), run(0, new(0.050), new(0.052)), run(2, new(0.053), new(0.08))})[0]
	if *c.Stall.Median != 0.051 || *c.Stall.Max != 0.08 || c.Stall.Gaps[0][0] != 0 || c.Stall.Law != 0.05 {
		t.Errorf("%+v", c.Stall)
	}
	c = Cells(d, []finding.Run{run(0, nil, nil), run(1, new(0.004), new(0.004)), run(2, nil, nil)})[0]
	if c.Stall.Median != nil || *c.Stall.Max != 0.004 {
		t.Errorf("one stray gap in three runs: %+v", c.Stall)
	}
}

// TestCollectionsOverTheirTime: an open loop waits for its last answers, and collections
// during that wait count too.
func TestCollectionsOverTheirTime(t *testing.T) {
	for _, c := range []struct {
		run  finding.Run
		want float64
	}{
		{finding.Run{GCs: new(uint64(40)), Window: 4, Elapsed: 5}, 8},
		{finding.Run{GCs: new(uint64(40)), Window: 4}, 10},
	} {
		if got := collections(c.run); got == nil || *got != c.want {
			t.Errorf("%g s of %g: %v, want %g", c.run.Elapsed, c.run.Window, got, c.want)
		}
	}
	if got := collections(finding.Run{GCs: new(uint64(1))}); got != nil {
		t.Errorf("in no time: %v", *got)
	}
}

// TestDamagedLatency: a distribution without a count for each value is as one that is not
// there.
func TestDamagedLatency(t *testing.T) {
	d := plain(1)
	runs := execute(t, d, service{sd: 0.01})
	runs[0].Latency = &finding.Histogram{Seconds: []float64{0.001, 0.002}, Counts: []int64{1}}
	runs[1].Latency = &finding.Histogram{Seconds: []float64{0.001}, Counts: []int64{1, 2}}
	for _, c := range Cells(d, runs) {
		if c.Latency != nil {
			t.Errorf("%+v", c.Latency)
		}
	}
}
