// SPDX-License-Identifier: Apache-2.0

package promtext

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

// text formats samples, with names in quotes.
func text(samples []Sample) string {
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var b strings.Builder
	for _, s := range samples {
		fmt.Fprintf(&b, `{"%s"`, quote.Replace(s.Name))
		for _, l := range s.Labels {
			fmt.Fprintf(&b, `,"%s"="%s"`, quote.Replace(l.Name), quote.Replace(l.Value))
		}
		b.WriteString("} " + strconv.FormatFloat(s.Value, 'g', -1, 64) + "\n")
	}
	return b.String()
}

func facts(t *testing.T, page string) GoFacts {
	t.Helper()
	s, err := Read(strings.NewReader(page), all...)
	if err != nil || s.Bad != 0 || s.Dropped != 0 {
		t.Fatalf("%d bad, %d dropped, %v", s.Bad, s.Dropped, err)
	}
	return Go(s.Samples)
}

// TestClientGolang reads the page of client_golang 1.25 in a process built by Go 1.26.8 with
// GOMAXPROCS=3 GOGC=77 GOMEMLIMIT=123MiB, after five forced collections.
func TestClientGolang(t *testing.T) {
	want := GoFacts{
		IsGo: true, Version: known("go1.26.8"), GOMAXPROCS: known[int64](3), GOGC: known[int64](77), GOMEMLIMIT: known[int64](123 << 20),
		HeapGoal: known[int64](3229614), Sys: known[int64](13220104), HeapReleased: known[int64](6561792),
		GCs: known[int64](5), CPUSeconds: known(0.0), Started: known(1.79528999062e9),
	}
	if got := facts(t, read(t, "testdata/client_golang.prom")); got != want {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	got := facts(t, read(t, "testdata/client_golang.openmetrics"))
	got.HeapReleased, got.Sys, got.CPUSeconds = want.HeapReleased, want.Sys, want.CPUSeconds // read a moment later
	if got != want {
		t.Errorf("OpenMetrics: got  %+v\nwant %+v", got, want)
	}
}

// TestAll reads every runtime metric that client_golang can serve.
func TestAll(t *testing.T) {
	g := facts(t, read(t, "testdata/all.openmetrics"))
	if g.GCCPU != known(0.002652844) || g.GCIdle != known(0.000659594) || g.Scavenge != known(5.0387e-05) || g.User != known(0.021201403) ||
		g.HeapLive != known[int64](253720) || g.GCs != known[int64](5) {
		t.Errorf("%+v", g)
	}
}

func TestOff(t *testing.T) {
	g := facts(t, read(t, "testdata/off.prom"))
	if g.GOGC != known[int64](Off) || g.GOMEMLIMIT != figure.None[int64](fromProgram) || g.HeapGoal != figure.None[int64](fromProgram) {
		t.Errorf("%+v", g)
	}
}

func TestGo(t *testing.T) {
	for name, c := range map[string]struct {
		page string
		want GoFacts
	}{
		"nothing":                 {"", GoFacts{}},
		"another language":        {"process_cpu_seconds_total 5\npython_info 1\n", GoFacts{CPUSeconds: known(5.0)}},
		"VictoriaMetrics":         {"go_gomaxprocs 4\nprocess_num_threads 9\n", GoFacts{IsGo: true, GOMAXPROCS: known[int64](4)}},
		"OpenTelemetry":           {"go_processor_limit{otel_scope_name=\"runtime\"} 4\ngo_config_gogc_percent 100\ngo_goroutine_count 7\ngo_memory_gc_goal_bytes 4e6\n", GoFacts{IsGo: true, GOMAXPROCS: known[int64](4), GOGC: known[int64](100), HeapGoal: known[int64](4e6)}},
		"the better of two names": {"go_gomaxprocs 4\ngo_sched_gomaxprocs_threads 5\n", GoFacts{IsGo: true, GOMAXPROCS: known[int64](5)}},
		"the same line twice":     {"go_threads 5\ngo_threads 5\n", GoFacts{IsGo: true}},
		"two processes":           {"go_threads{instance=\"a\"} 5\ngo_threads{instance=\"b\"} 5\ngo_goroutines 3\n", GoFacts{IsGo: true, Several: true}},
		"two answers":             {"go_threads 5\ngo_threads 6\n", GoFacts{IsGo: true, Several: true}},
		"no sense": {"go_sched_gomaxprocs_threads 0\ngo_threads -1\ngo_goroutines 1.5\nprocess_cpu_seconds_total NaN\nprocess_start_time_seconds +Inf\n" +
			"go_memstats_sys_bytes 1.5\ngo_gc_gomemlimit_bytes -5\ngo_gc_gogc_percent 1e12\ngo_gc_heap_live_bytes 1e30\n", GoFacts{IsGo: true}},
		"GOGC=off as a number below zero": {"go_gc_gogc_percent -1\n", GoFacts{IsGo: true, GOGC: known[int64](Off)}},
		"no version in go_info":           {"go_info 1\n", GoFacts{IsGo: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := facts(t, c.page); got != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestReadVars(t *testing.T) {
	g, err := ReadVars(strings.NewReader(read(t, "testdata/vars.json")))
	want := GoFacts{
		IsGo: true, HeapGoal: known[int64](3229614), Sys: known[int64](13482248), HeapReleased: known[int64](5160960),
		GCs: known[int64](5),
	}
	if err != nil || g != want {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, g, want)
	}
	if g, err := ReadVars(strings.NewReader(read(t, "testdata/off-vars.json"))); err != nil || g.HeapGoal != figure.None[int64](fromProgram) {
		t.Errorf("GOGC=off: %+v, %v", g, err)
	}
	long := io.MultiReader(strings.NewReader(`{"a":"`), io.LimitReader(&again{pattern: []byte("secret")}, 1<<30))
	for name, c := range map[string]struct {
		r    io.Reader
		want string
	}{
		"empty":              {strings.NewReader(""), "truncated JSON"},
		"an array":           {strings.NewReader("[1]"), "not a JSON object"},
		"no memstats":        {strings.NewReader(`{"a":1,"Memstats":{"NumGC":1}}`), ErrNoMemStats.Error()},
		"memstats of others": {strings.NewReader(`{"memstats":{"Alloc":"secret"}}`), ErrNoMemStats.Error()},
		"memstats, an array": {strings.NewReader(`{"memstats":[1]}`), ErrNoMemStats.Error()},
		"truncated":          {strings.NewReader(read(t, "testdata/vars.json")[:2000]), "truncated JSON"},
		"cut off at the end": {strings.NewReader(`{"memstats":{"NumGC":1}`), "truncated JSON"},
		"not JSON":           {strings.NewReader(`{"cmdline": secret}`), "not JSON"},
		"without end":        {long, "more than 16 MiB of variables"},
		"a reader fails":     {io.MultiReader(strings.NewReader(`{"a":1,`), iotest.ErrReader(errors.New("broken"))), "broken"},
	} {
		if g, err := ReadVars(c.r); err == nil || err.Error() != c.want || g != (GoFacts{}) {
			t.Errorf("%s: %+v, error %v, want %s", name, g, err, c.want)
		}
	}
}

func TestReadHeap(t *testing.T) {
	page := read(t, "testdata/heap.txt")
	g, err := ReadHeap(strings.NewReader(page))
	want := GoFacts{
		IsGo: true, HeapGoal: known[int64](3229614), Sys: known[int64](13482248), HeapReleased: known[int64](5136384),
		GCs: known[int64](5),
	}
	if err != nil || g != want {
		t.Errorf("%v\ngot  %+v\nwant %+v", err, g, want)
	}
	if g, err := ReadHeap(strings.NewReader(page[:strings.Index(page, "# NumGC")])); err != ErrNoMemStats || g != (GoFacts{}) {
		t.Errorf("cut off: %+v, %v", g, err)
	}
	broken := errors.New("broken")
	if g, err := ReadHeap(io.MultiReader(strings.NewReader(page), iotest.ErrReader(broken))); err != broken || g != (GoFacts{}) {
		t.Errorf("%+v, %v", g, err)
	}
}

func FuzzReadVars(f *testing.F) {
	f.Add(`{"cmdline":["x"],"memstats":{"Alloc":1,"NumGC":2,"NextGC":18446744073709551615}}`)
	f.Add(`{"memstats":{"NumGC":1e-3}}`)
	f.Fuzz(func(t *testing.T, page string) {
		g, err := ReadVars(strings.NewReader(page))
		check(t, g, err)
	})
}

func FuzzReadHeap(f *testing.F) {
	f.Add("# runtime.MemStats\n# Alloc = 5\n# NextGC = 18446744073709551615\n# NumGC = 3\n")
	f.Add("heap profile: 1: 1 [1: 1] @ heap/2\n# runtime.MemStats\n# NumGC = -1\n# Sys = NaN\n")
	f.Fuzz(func(t *testing.T, page string) {
		g, err := ReadHeap(strings.NewReader(page))
		check(t, g, err)
	})
}

func check(t *testing.T, g GoFacts, err error) {
	t.Helper()
	if err != nil && g != (GoFacts{}) || err == nil && (!g.IsGo || !g.GCs.Known()) {
		t.Errorf("%+v, %v", g, err)
	}
	if g.HeapGoal.N < 0 || g.HeapReleased.N < 0 || g.Sys.N < 0 {
		t.Errorf("%+v", g)
	}
}
