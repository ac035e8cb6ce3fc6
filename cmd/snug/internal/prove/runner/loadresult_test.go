// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// printed returns the output of a command that printed a text.
func printed(text string) *output {
	o := &output{keep: loadBytes}
	for part := range strings.Lines(text) {
		o.take([]byte(part))
	}
	return o
}

func TestReadLoad(t *testing.T) {
	for _, tt := range []struct{ name, said, want string }{ // want: the run, or the error
		{"the least", `{"operations": 8}`, "8 ops, 0 errors, 4 s, 2/s, closed"},
		{"all of it", `starting
{"operations":800,"errors":2,"error":"reset","seconds":2,"p50_seconds":0.1,"p95_seconds":0.2,"p99_seconds":0.3,"max_seconds":0.4,"open":true,"messages":7,"tool":"x"}
`, "800 ops, 2 errors (reset), 2 s, 400/s, open, p50 0.1, p95 0.2, p99 0.3, max 0.4, offered 100, map[messages:7]"},
		{"a histogram", `{"operations":100,"latency":{"seconds":[0.01,0.02,0.5],"counts":[90,8,2]}}`,
			"100 ops, 0 errors, 4 s, 25/s, closed, p50 0.01, p95 0.02, p99 0.5, max 0.5"},
		{"its own percentiles win", `{"operations":100,"p99_seconds":0.4,"latency":{"seconds":[0.01],"counts":[100]}}`,
			"100 ops, 0 errors, 4 s, 25/s, closed, p50 0.01, p95 0.01, p99 0.4, max 0.01"},
		{"an empty histogram", `{"operations":0,"errors":3,"latency":{"seconds":[],"counts":[]}}`, "0 ops, 3 errors, 4 s, 0/s, closed"},
		{"the last object", `{"operations":1}` + "\n" + `{"operations":2}` + "\ndone\n", "2 ops, 0 errors, 4 s, 0.5/s, closed"},
		{"a long line", `{"operations":1,"latency":{"seconds":[` + strings.Repeat("0.001,", 20_000) + `0.002],"counts":[` + strings.Repeat("1,", 20_000) + "1]}}",
			"1 ops, 0 errors, 4 s, 0.25/s, closed, p50 0.001, p95 0.001, p99 0.001, max 0.002"},

		{"nothing", "", "error: the load command printed nothing"},
		{"garbage", "Requests/sec: 100\n", "error: the load command printed no JSON object; its last line: Requests/sec: 100"},
		{"no operations", `{"ops": 8}`, `error: the load command printed no operations, but {"ops": 8}`},
		{"operations in words", `{"operations": "8"}`, `error: the load command printed a wrong result: operations is a string, not a number: {"operations": "8"}`},
		{"half an operation", `{"operations": 8.5}`, "error: the load command printed 8.5 operations"},
		{"less than none", `{"operations": -8}`, "error: the load command printed -8 operations"},
		{"errors less than none", `{"operations": 8, "errors": -1}`, "error: the load command printed -1 errors"},
		{"no time", `{"operations": 8, "seconds": 0}`, "error: the load command printed 0 seconds"},
		{"no time worth the name", `{"operations": 8, "seconds": 1e-300}`, "error: the load command loaded for 0.0 s of a window of 4 s"},
		{"an early end with errors", `{"operations": 8, "errors": 1, "seconds": 0.1}`, "8 ops, 1 errors, 0.1 s, 80/s, closed"},
		{"mixed percentiles", `{"operations": 8, "p50_seconds": 0.3, "p99_seconds": 0.1}`, "error: the load command printed p50_seconds 0.3, above p99_seconds 0.1"},
		{"milliseconds", `{"operations": 8, "p99_seconds": 12}`, "error: the load command printed p99_seconds 12, and took 4.00 s"},
		{"nanoseconds", `{"operations": 8, "seconds": 4e9}`, "error: the load command printed seconds 4e+09, and took 4.00 s"},
		{"a histogram in milliseconds", `{"operations":8,"latency":{"seconds":[1,2,12],"counts":[1,1,1]}}`, "error: the load command printed a latency of 12 seconds, and took 4.00 s"},
		{"a torn histogram", `{"operations":8,"latency":{"seconds":[1,2],"counts":[1]}}`, "error: the load command printed a latency with 2 seconds and 1 counts"},
		{"a mixed histogram", `{"operations":8,"latency":{"seconds":[2,1],"counts":[1,1]}}`, "error: the load command printed a latency with seconds that do not ascend"},
		{"a negative count", `{"operations":8,"latency":{"seconds":[1,2],"counts":[1,-1]}}`, "error: the load command printed a latency with a negative count"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			res, err := readLoad(printed(tt.said), 4, 4)
			if err != nil {
				got = "error: " + err.Error()
			} else {
				var run finding.Run
				res.fill(&run, 4, 100)
				got = text(&run)
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// text writes what a load command fills in.
func text(r *finding.Run) string {
	s := fmt.Sprintf("%d ops, %d errors", r.Ops, r.Errors)
	if r.Error != "" {
		s += " (" + r.Error + ")"
	}
	s += fmt.Sprintf(", %g s, %g/s, %s", r.Window, *r.RPS, r.Loop)
	for _, f := range []struct {
		name string
		of   *float64
	}{{"p50", r.P50}, {"p95", r.P95}, {"p99", r.P99}, {"max", r.Max}, {"offered", r.Offered}} {
		if f.of != nil {
			s += fmt.Sprintf(", %s %g", f.name, *f.of)
		}
	}
	if r.Reported != nil {
		s += fmt.Sprint(", ", r.Reported)
	}
	if r.Note != "" {
		s += ", " + r.Note
	}
	return s
}

// FuzzReadLoad: whatever a command prints, the run can be written as JSON.
func FuzzReadLoad(f *testing.F) {
	f.Add(`{"operations":100,"latency":{"seconds":[0.01,0.02],"counts":[90,10]}}`)
	f.Fuzz(func(t *testing.T, said string) {
		res, err := readLoad(printed(said), 4, 4)
		if err != nil {
			return
		}
		var run finding.Run
		res.fill(&run, 4, 0)
		if _, err := json.Marshal(run); err != nil {
			t.Errorf("%q: %v", said, err)
		}
	})
}

// TestLoadInParts: the parts of a window are added up, and their rates are its course.
func TestLoadInParts(t *testing.T) {
	d := commandDriver{runner: &Runner{Window: 6 * time.Second}}
	for i, n := range []float64{100, 300, 320} {
		p50 := 0.01 * float64(i+1)
		d.parts = append(d.parts, loadPart{&loadResult{Operations: &n, Errors: 1, P50: &p50}, ended{Wall: 2, CPU: 0.5}})
	}
	var run finding.Run
	if err := d.result(&run); err != nil {
		t.Fatal(err)
	}
	if run.Ops != 720 || run.Errors != 3 || run.Window != 6 || *run.RPS != 120 || *run.P50 != 0.03 || *run.Generator.CPU != 1.5 {
		t.Errorf("%+v", run)
	}
	if c := run.Timeline; c == nil || c.Step != 2 || !slices.Equal(c.RPS, []float64{50, 150, 160}) {
		t.Errorf("course %+v", c)
	}
}
