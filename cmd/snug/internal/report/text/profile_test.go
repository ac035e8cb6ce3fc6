// SPDX-License-Identifier: Apache-2.0

package text

import (
	"strings"
	"testing"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func written(t *testing.T, d finding.Document) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, d); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestHeap(t *testing.T) {
	put := []finding.Call{{Function: "main.put", File: "/src/cache.go", Line: 13}}
	d := &finding.Heap{Target: "pid 7 (x)", Source: "s", Rate: 512 << 10, Live: 3 << 20, Objects: 1, Samples: 2, Stacks: 12, Next: "snug doctor 7"}
	for range 11 {
		d.Top = append(d.Top, finding.Holder{Live: 1 << 20, Ratio: .1, Objects: 1, Samples: 2, Stack: put})
	}
	row := "\n1 MiB  10 %  1 object  2 samples  main.put (cache.go:13)"
	want := "pid 7 (x): about 3 MiB live in 1 object, allocated by 12 call stacks\n" +
		"as of the last completed collection, by the runtime's own heap profile (s)\n" +
		"estimated from 2 sampled objects: one in 512 KiB on average, so rows with few samples are uncertain\n" +
		strings.Repeat(row, 10) + "\nand 2 smaller call stacks; --json and -o have more\n\nnext: snug doctor 7\n"
	if got := written(t, d); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	d = &finding.Heap{Target: "pid 7 (x)", Rate: 512 << 10, SinceStart: true}
	want = "pid 7 (x): no sampled object is live\nno collection has completed yet: all allocations count as live\none allocation in 512 KiB is sampled, on average\n"
	if got := written(t, d); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	if got := written(t, &finding.Heap{Rate: 1}); !strings.Contains(got, "every allocation is counted") {
		t.Error(got)
	}
}

func TestGoroutines(t *testing.T) {
	file := "x.pprof"
	d := &finding.Goroutines{
		Target: "pid 7 (x)", Source: "s", Total: 9, Runtime: new(6), Unread: 1, Stacks: 2, Saved: &file,
		States: []finding.GoroutineState{{State: "select", Count: 3}, {State: "a", Count: 2}, {State: "b", Count: 1}, {State: "c", Count: 1}, {State: "d", Count: 1}, {State: "e", Count: 1}},
		Groups: []finding.GoroutineGroup{
			{Count: 3, State: "select", Stack: []finding.Call{{Function: "runtime.gopark"}, {Function: "main.wait"}}, Creator: &finding.Call{Function: "main.start", File: "a.go", Line: 3}},
			{Count: 1, State: "running", Start: "main.spin"},
		},
	}
	want := `pid 7 (x): 9 goroutines: 3 select, 2 a, 1 b, 1 c, 1 d, ...
6 more are the runtime's own; each was read by itself, without a stop (s)
not shown: 1 goroutine that changed with every read

3  select   main.wait, by main.start (a.go:3)
1  running  main.spin, started so; its calls are unknown while it runs

profile: x.pprof
`
	if got := written(t, d); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
	d.Left = 91
	if got := written(t, d); !strings.HasPrefix(got, "pid 7 (x): 9 of 100 goroutines: 3 select, ") {
		t.Error(got)
	}
}

// TestVerdictOfNothingSeen: a process that ended or is stopped is not called well.
func TestVerdictOfNothingSeen(t *testing.T) {
	for field, want := range map[string]string{
		"end": "ended while it was watched, nothing found before", "activity": "stopped, so there was nothing to see",
		"program": "could not look", "profile": "nothing found",
	} {
		if got := verdictOn(&finding.Examined{Kind: "process", Unknown: []finding.Gap{{Field: field}}}); got != want {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
}
