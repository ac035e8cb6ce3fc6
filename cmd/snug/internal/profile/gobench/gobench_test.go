// SPDX-License-Identifier: Apache-2.0

package gobench

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestResults(t *testing.T) {
	for _, c := range []struct {
		name  string
		said  string
		procs int // GOMAXPROCS that was set
		want  string
	}{
		{"nothing", "", 0, "P=0"},
		{"no benchmark", "PASS\nok  \texample.com/x\t0.01s\n", 2, "P=0"},
		{"all of its figures", "goos: linux\nBenchmarkSort-2   \t 100\t 123.5 ns/op\t 42.00 MB/s\t 16 B/op\t 2 allocs/op\nPASS\n", 2,
			"P=2 Sort ns/op=123.5 Sort MB/s=42 Sort B/op=16 Sort allocs/op=2"},
		{"a unit of its own", "BenchmarkX-2 1 5 ns/op 7 hits/op\n", 2, "P=2 X ns/op=5 X hits/op=7"},
		{"one P", "BenchmarkX 1 5 ns/op\n", 1, "P=1 X ns/op=5"},
		{"a name that ends in a number, one P", "BenchmarkX/size-1024 1 5 ns/op\n", 1, "P=1 X/size-1024 ns/op=5"},
		{"the same, two Ps", "BenchmarkX/size-1024-2 1 5 ns/op\n", 2, "P=2 X/size-1024 ns/op=5"},
		{"unset", "BenchmarkX-4 1 5 ns/op\nBenchmarkY/n=1-4 1 6 ns/op\n", 0, "P=4 X ns/op=5 Y/n=1 ns/op=6"},
		{"unset, a number above the CPUs", "BenchmarkX/size-1024 1 5 ns/op\n", 0, "P=1 X/size-1024 ns/op=5"},
		{"unset, different numbers", "BenchmarkX-4 1 5 ns/op\nBenchmarkX-2 1 6 ns/op\n", 0, "P=1 X-4 ns/op=5 X-2 ns/op=6"},
		{"repeated", "BenchmarkX-2 1 9 ns/op\nBenchmarkX-2 1 5 ns/op\nBenchmarkX-2 1 6 ns/op\n", 2, "P=2 X ns/op=6"},
		{"repeated twice", "BenchmarkX-2 1 9 ns/op\nBenchmarkX-2 1 5 ns/op\n", 2, "P=2 X ns/op=7"},
		{"-test.v names it first", "BenchmarkX\nBenchmarkX-2 1 5 ns/op\n", 2, "P=2 X ns/op=5"},
		{"it prints in between", "BenchmarkX-2   \thello\n     100\t 5 ns/op\n", 2, "P=0 broken 1: BenchmarkX-2   \thello"},
		{"the last line has no end", "BenchmarkX-2 1 5 ns/op", 2, "P=2 X ns/op=5"},
		{"the shortest name", "Benchmark-2 1 5 ns/op\n", 2, "P=2 Benchmark ns/op=5"},
		{"Windows", "BenchmarkX-2 1 5 ns/op\r\n", 2, "P=2 X ns/op=5"},
		{"no number", "BenchmarkX-2 1 NaN ns/op 3 B/op\n", 2, "P=2 X B/op=3"},
		{"an endless line", "Benchmark" + strings.Repeat("x", 1<<20) + "\nBenchmarkX-2 1 5 ns/op\n", 2, "P=2 X ns/op=5 broken 1: "},
	} {
		for _, size := range []int{1 << 30, 1, 7} {
			r := &Reader{}
			for rest := c.said; rest != ""; {
				n := min(size, len(rest))
				r.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			res := r.Results(c.procs, 8)
			got := fmt.Sprintf("P=%d", res.Procs)
			for _, f := range res.Figures {
				got += fmt.Sprintf(" %s %s=%g", f.Benchmark, f.Unit, f.Value)
			}
			if res.Broken > 0 {
				got += fmt.Sprintf(" broken %d: %s", res.Broken, res.First)
			}
			if got != c.want {
				t.Errorf("%s, in pieces of %d:\ngot  %s\nwant %s", c.name, size, got, c.want)
			}
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add("BenchmarkX-2 1 5 ns/op\n", 2)
	f.Add("BenchmarkX/size-1024 1 5 ns/op 3 B/op\nBenchmark", 0)
	f.Fuzz(func(t *testing.T, said string, procs int) {
		r := &Reader{}
		r.Write([]byte(said))
		for _, f := range r.Results(procs, 8).Figures {
			if f.Unit == "" || math.IsNaN(f.Value) || math.IsInf(f.Value, 0) {
				t.Errorf("%+v", f)
			}
		}
	})
}
