// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
)

const (
	line1 = "gc 1 @0.012s 2%: 0.018+0.48+0.003 ms clock, 0.036+0.10/0.40/0.0+0.006 ms cpu, 4->5->1 MB, 4 MB goal, 0 MB stacks, 0 MB globals, 2 P\n"
	line2 = "gc 2 @1.500s 0%: 0.25+12+50.5 ms clock, 0.25+0/0/0+50 ms cpu, 90->120->60 MB, 100 MB goal, 1 MB stacks, 0 MB globals, 8 P (forced)\n"
	line3 = "gc 3 @1.600s 0% (checking for goroutine leaks): 1+1+1 ms clock, 1+0/0/0+1 ms cpu, 61->62->60 MB, 100 MB goal, 1 MB stacks, 0 MB globals, 8 P\n"
	line5 = "gc 5 @1.700s 0%: 1+1+2 ms clock, 1+0/0/0+1 ms cpu, 61->62->59 MB, 100 MB goal, 4 P\n"
)

func TestGCTrace(t *testing.T) {
	one := Traced{Cycles: 1, STW: 0.000021, STWMax: 0.000018, CPU: 0.000542, PeakHeap: 5 << 20, Procs: 2}
	for _, tt := range []struct {
		name, text string
		want       Traced
	}{
		{"nothing", "", Traced{}},
		{"other-text", "gc is fun: 1, 2, 3, 4, 5\nlistening gc 1 @home\n", Traced{}},
		{"one", line1, one},
		{"windows-line-end", strings.Replace(line1, "\n", "\r\n", 1), one},
		{"after-text-without-newline", "hello gc " + line1, one},
		{"after-very-long-text", strings.Repeat("x", 10*longestLine) + line1, one},
		{"among-text", "a\n" + line1 + "b\ngc\n", one},
		{"not-ended", strings.TrimSuffix(line1, "\n"), Traced{}},
		{"two-forced", line1 + line2, Traced{Cycles: 2, STW: 0.000021 + 0.05075, STWMax: 0.0505, CPU: 0.000542 + 0.05025, PeakHeap: 120 << 20, Procs: 8}},
		{"leak-check", line3, Traced{Cycles: 1, STW: 0.002, STWMax: 0.001, CPU: 0.002, PeakHeap: 62 << 20, Procs: 8}},
		{"before-go-1.18-and-one-missed", line3 + line5, Traced{Cycles: 2, Missed: 1, STW: 0.005, STWMax: 0.002, CPU: 0.004, PeakHeap: 62 << 20, Procs: 4}},
		{"text-inside-the-line", line1 + strings.Replace(line2, "50.5", "50oops\n.5", 1) + line3,
			Traced{Cycles: 2, Missed: 1, STW: 0.000021 + 0.002, STWMax: 0.001, CPU: 0.000542 + 0.002, PeakHeap: 62 << 20, Procs: 8}},
		{"two-processes", line3 + line1, Traced{Cycles: 2, Mixed: true, STW: 0.002 + 0.000021, STWMax: 0.001, CPU: 0.002 + 0.000542, PeakHeap: 62 << 20, Procs: 2}},
		{"cycle-zero", strings.Replace(line1, "gc 1", "gc 0", 1), Traced{}},
		{"negative-time", strings.Replace(line1, "0.018+", "-0.018+", 1), Traced{}},
		{"not-a-number", strings.Replace(line1, "0.018+", "NaN+", 1), Traced{}},
		{"no-procs", strings.Replace(line1, "2 P", "0 P", 1), Traced{}},
	} {
		for _, size := range []int{1, 7, 1 << 20} {
			var trace GCTrace
			for s := tt.text; len(s) > 0; {
				n, err := trace.Write([]byte(s[:min(size, len(s))]))
				if err != nil || n != min(size, len(s)) {
					t.Fatalf("%s: wrote %d, %v", tt.name, n, err)
				}
				s = s[n:]
			}
			if got := trace.Take(); !nearly(got, tt.want) {
				t.Errorf("%s, %d bytes at a time:\ngot  %+v\nwant %+v", tt.name, size, got, tt.want)
			}
			if again := trace.Take(); again != (Traced{}) {
				t.Errorf("%s: still there after Take: %+v", tt.name, again)
			}
		}
	}
}

func TestTracedPlus(t *testing.T) {
	all := line1 + line2 + line3 + line5
	var trace, whole GCTrace
	io.WriteString(&whole, all)
	var sum Traced
	for line := range strings.Lines(all) {
		io.WriteString(&trace, line)
		sum = sum.Plus(trace.Take())
		sum = sum.Plus(trace.Take()) // nothing
	}
	if want := whole.Take(); !nearly(sum, want) {
		t.Errorf("%+v line by line, %+v at once", sum, want)
	}
}

func nearly(a, b Traced) bool {
	close := math.Abs(a.STW-b.STW) < 1e-12 && math.Abs(a.STWMax-b.STWMax) < 1e-12 && math.Abs(a.CPU-b.CPU) < 1e-12
	a.STW, a.STWMax, a.CPU, b.STW, b.STWMax, b.CPU = 0, 0, 0, 0, 0, 0
	return close && a == b
}

// TestGCTraceOfThisGo compares with the runtime's own counters, to notice a Go version
// with another format.
func TestGCTraceOfThisGo(t *testing.T) {
	c := startArgs(t, []string{"collect"}, "GODEBUG=gctrace=1", "GOGC=50", "GOMAXPROCS=2")
	var m runtime.MemStats
	if err := json.NewDecoder(c.stdout).Decode(&m); err != nil {
		t.Fatal(err)
	}
	var trace GCTrace
	io.WriteString(&trace, c.end(0))
	got := trace.Take()
	if got.Cycles == 0 || got.Cycles != uint64(m.NumGC) || got.Missed != 0 || got.Mixed || got.Procs != 2 {
		t.Errorf("%+v, want %d cycles", got, m.NumGC)
	}
	// The two measure at places that are near each other, but not the same.
	if stw := float64(m.PauseTotalNs) / 1e9; got.STW < stw/10 || got.STW > stw*10 {
		t.Errorf("%g s of stops, the runtime counted %g s", got.STW, stw)
	}
}

func FuzzGCTrace(f *testing.F) {
	for _, s := range []string{line1, line2, line3, line5, "gc ", "gc 1 @: , , , , "} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		var whole, pieces GCTrace
		whole.Write(text)
		cut = min(max(cut, 0), len(text))
		pieces.Write(text[:cut])
		pieces.Write(text[cut:])
		a, b := whole.Take(), pieces.Take()
		if a != b {
			t.Errorf("whole %+v, in pieces %+v", a, b)
		}
		if a.STWMax > a.STW || a.STW < 0 || a.PeakHeap < 0 || a.Procs < 0 {
			t.Errorf("%+v", a)
		}
		if len(whole.partial) > longestLine {
			t.Errorf("keeps %d bytes", len(whole.partial))
		}
		if again := fmt.Sprint(whole.Take()); again != fmt.Sprint(Traced{}) {
			t.Errorf("left after Take: %s", again)
		}
	})
}
