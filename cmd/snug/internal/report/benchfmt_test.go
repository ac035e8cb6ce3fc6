// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchunit"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/metric"
)

// readBench reads benchmark lines with benchfmt, the package that benchstat uses.
func readBench(t *testing.T, d finding.Document) (results []*benchfmt.Result, units benchfmt.UnitMetadataMap) {
	t.Helper()
	var b bytes.Buffer
	if err := Benchfmt(&b, d); err != nil {
		t.Fatal(err)
	}
	r := benchfmt.NewReader(&b, "test")
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			results = append(results, rec.Clone())
		case *benchfmt.SyntaxError:
			t.Errorf("%v", rec)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return results, r.Units()
}

func TestBenchfmt(t *testing.T) {
	for _, d := range documents {
		t.Run(d.name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Benchfmt(&b, d.doc); err != nil {
				t.Fatal(err)
			}
			golden(t, d.name+".bench", b.Bytes())
		})
	}
}

// TestBenchfmtOfBenchmarks: Go benchmarks keep their names, units and values, and benchstat does not
// take the end of a name for GOMAXPROCS.
func TestBenchfmtOfBenchmarks(t *testing.T) {
	results, _ := readBench(t, benchmarks())
	count := map[string]int{}
	for _, r := range results {
		count[string(r.Name)]++
		if v, ok := r.Value("hits/op"); ok != strings.HasPrefix(string(r.Name), "Decode/size=1_2/") || ok && v != 3 {
			t.Errorf("%s: %v", r.Name, r.Values)
		}
	}
	for name, want := range map[string]int{
		"Decode/size=1_2/quota=1/procs=2/load=benchmark": 7, "Decode/size=1_2/quota=1/procs=1/load=benchmark": 7,
		"Encode/quota=1/procs=2/load=benchmark": 7, "Encode/quota=1/procs=1/load=benchmark": 0,
	} {
		if count[name] != want {
			t.Errorf("%s: %d results, want %d of %v", name, count[name], want, count)
		}
	}
}

// TestBenchfmtOfHostileBenchmarks: no name or unit adds a line or a field.
func TestBenchfmtOfHostileBenchmarks(t *testing.T) {
	d := benchmarks()
	for i := range d.Cells {
		for k := range d.Cells[i].Rounds {
			d.Cells[i].Rounds[k].Benchmarks = []finding.BenchFigure{{Benchmark: "a b\nBenchmarkX 1", Unit: "", Value: 1}, {Benchmark: "", Unit: "n s\n/op", Value: 1}}
		}
	}
	results, _ := readBench(t, d)
	if len(results) != 3*14 {
		t.Errorf("%d results", len(results))
	}
}

// TestBenchfmtIsWhole: every valid round is a result, no invalid round is, and the
// values equal those of the document.
func TestBenchfmtIsWhole(t *testing.T) {
	d := quick()
	results, units := readBench(t, d)
	at := 0
	for i := range d.Cells {
		for _, run := range d.Cells[i].Rounds {
			if run.Invalid != "" {
				continue
			}
			if at == len(results) {
				t.Fatalf("%d results, want more", at)
			}
			r := results[at]
			at++
			for unit, want := range map[string]*float64{"cpu-sec/op": run.CPUPerOp, "req/s": run.RPS, "p99-sec": run.P99, "throttled/period": metric.ThrottledOf(&run)} {
				got, ok := r.Value(unit)
				if ok != (want != nil) || ok && got != *want {
					t.Errorf("%s round %d, %s: %v %v", r.Name, run.Round, unit, got, ok)
				}
			}
		}
	}
	if at != len(results) {
		t.Errorf("%d results for %d valid rounds", len(results), at)
	}
	if n := 21 - 1; at != n {
		t.Errorf("%d valid rounds, want %d", at, n)
	}
	r := results[0]
	if got := string(r.Name); got != "Snug/workload=http/quota=1/procs=2/load=saturated" {
		t.Errorf("name %s", got)
	}
	for key, want := range map[string]string{"goos": "linux", "goarch": "amd64", "cpu": "AMD EPYC 7B13", "cgroup": "root-v1"} {
		if got := r.GetConfig(key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
	for unit, want := range map[string]int{"req/s": 1, "cpu-sec/op": -1, "p99-sec": -1} {
		if got := units.GetBetter(unit); got != want {
			t.Errorf("better for %s is %d, want %d", unit, got, want)
		}
	}
	for _, u := range benchUnits {
		if _, tidy := benchunit.Tidy(1, u.name); tidy != u.name {
			t.Errorf("%s is not a base unit: %s", u.name, tidy)
		}
		if got, want := benchunit.ClassOf(u.name) == benchunit.Binary, strings.HasSuffix(u.name, "-B"); got != want {
			t.Errorf("%s: binary %v, want %v", u.name, got, want)
		}
	}
}

func TestBenchfmtNames(t *testing.T) {
	cell := func(arm finding.Arm, labels ...string) finding.Cell {
		return finding.Cell{Arm: arm, Labels: labels, Rounds: []finding.Run{{RPS: ptr(1.0)}}}
	}
	for _, c := range []struct {
		name string
		cell []finding.Cell
		want []string
	}{
		{"nothing set", []finding.Cell{cell(finding.Arm{Workload: "http", Load: "50%"})}, []string{"Snug/workload=http/quota=none/procs=unset/load=50%"}},
		{"variant, rate", []finding.Cell{cell(finding.Arm{Workload: "pool/limiter", Quota: .5, Load: "800/s"})}, []string{"Snug/workload=pool:limiter/quota=0.5/procs=unset/load=800rps"}},
		{"users", []finding.Cell{cell(finding.Arm{Workload: "http", Quota: 1, Load: "30 users"})}, []string{"Snug/workload=http/quota=1/procs=unset/load=30_users"}},
		{"a command that ends like a number of CPUs", []finding.Cell{cell(finding.Arm{Workload: "./run it-8"})}, []string{"Snug/workload=.:run_it_8/quota=none/procs=unset"}},
		{"hostile", []finding.Cell{cell(finding.Arm{Workload: "a\nBenchmarkX 1 1 ns/op"})}, []string{"Snug/workload=a_BenchmarkX_1_1_ns:op/quota=none/procs=unset"}},
		{"same name twice", []finding.Cell{cell(finding.Arm{Workload: "http"}, "default"), cell(finding.Arm{Workload: "http"}, "current")},
			[]string{"Snug/workload=http/quota=none/procs=unset/setting=default", "Snug/workload=http/quota=none/procs=unset/setting=current"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			results, _ := readBench(t, &finding.Bench{Cells: c.cell})
			if len(results) != len(c.want) {
				t.Fatalf("%d results, want %d", len(results), len(c.want))
			}
			for i, r := range results {
				if string(r.Name) != c.want[i] {
					t.Errorf("%s, want %s", r.Name, c.want[i])
				}
			}
		})
	}
}
