// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"encoding/json"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestNames(t *testing.T) {
	var services, batches []string
	for _, n := range Names() {
		if what, ok := Describe(n); !ok || what == "" {
			t.Errorf("%s: %q, %v", n, what, ok)
		}
		if IsService(n) {
			services = append(services, n)
		}
		if IsBatch(n) {
			batches = append(batches, n)
		}
	}
	if want := []string{"http", "http/gc"}; !slices.Equal(services, want) {
		t.Errorf("services %q, want %q", services, want)
	}
	if want := []string{"pool/numcpu", "pool/gomaxprocs", "pool/limiter", "xml/single", "xml/fanout", "xml/pool"}; !slices.Equal(batches, want) {
		t.Errorf("batches %q, want %q", batches, want)
	}
	if _, ok := Describe("nonsense"); ok || IsService("nonsense") || IsBatch("nonsense") {
		t.Error("an unknown name is known")
	}
}

func TestFamily(t *testing.T) {
	for _, c := range []struct {
		name string
		want []string
	}{
		{"xml", []string{"xml/single", "xml/fanout", "xml/pool"}},
		{"xml/pool", []string{"xml/pool"}},
		{"fib", []string{"fib"}}, // although it has variants
		{"xm", nil},
		{"xml/", nil},
		{"", nil},
	} {
		if got := Family(c.name); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestArgs(t *testing.T) {
	everything := Options{
		Warm: time.Second, Window: 1500 * time.Millisecond, Trace: "t.trace",
		Threads: 2, Ops: 3, Docs: 4, DocBytes: 5, Workers: 6, Work: 7 * time.Millisecond, Every: 9 * time.Millisecond, Most: 8,
	}
	for _, e := range entries {
		got, o, err := parse(Args(e.name, everything)[1:])
		if err != nil || got.name != e.name || o != everything {
			t.Errorf("%s: back to %+v, %v", e.name, o, err)
		}
		own := e.defaults
		own.Warm, own.Window = time.Second, 4*time.Second
		for _, args := range [][]string{{e.name}, Args(e.name, Options{})[1:]} {
			if _, o, err := parse(args); err != nil || o != own {
				t.Errorf("%q: %+v, %v; want its own defaults", args, o, err)
			}
		}
	}
}

// TestBurstIsThrottled: by default a fan-out needs more than a period's quota of one CPU,
// and less than the CPU gives until the next fan-out.
func TestBurstIsThrottled(t *testing.T) {
	e, _ := find("burst")
	if o := e.defaults; o.Work <= 100*time.Millisecond || o.Work >= o.Every || o.Workers < 2 {
		t.Errorf("%v of CPU every %v over %d goroutines", o.Work, o.Every, o.Workers)
	}
	what, _ := Describe("burst")
	for _, want := range []string{"every 200 ms", "8 goroutines", "150 ms of CPU"} {
		if o := e.defaults; !strings.Contains(what, want) || o.Every != 200*time.Millisecond || o.Workers != 8 || o.Work != 150*time.Millisecond {
			t.Errorf("%q does not describe %+v", what, o)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, want string
		code       int
	}{
		{"workload", "one of: http, http/gc, probe", 2},
		{"workload nonsense", `"nonsense" is none of: http`, 2},
		{"workload fib --ops=3", "fib: invalid character", 2},
		{"workload fib {} 3", "which?", 2},
	} {
		c := startArgs(t, strings.Fields(tt.args))
		text := c.wait(tt.code)
		if !strings.Contains(text, tt.want) || tt.code != 0 && (strings.Count(text, "\n") != 1 || !strings.HasPrefix(text, "snug workload: ")) {
			t.Errorf("%s: stderr %q, want one line with %q", tt.args, text, tt.want)
		}
	}
}

// TestSelfDriven: each program really does its work, and counts it correctly.
func TestSelfDriven(t *testing.T) {
	t.Parallel()
	const short = 200 * time.Millisecond
	one := newFeed(20_000)
	xml := Options{Warm: 1, Docs: 12, DocBytes: 20_000}
	xmlRight := func(r *Result) bool {
		return r.Ops == 12 && r.Counts["hits"] == int64(12*one.hits) && r.Counts["items"] == int64(12*one.items) && one.hits > 0
	}
	for _, tt := range []struct {
		name    string
		o       Options
		latency bool
		right   func(*Result) bool
	}{
		{"probe", Options{Warm: 1, Window: 350 * time.Millisecond}, false, func(r *Result) bool {
			return r.Ops == 0 && r.Probe.Threads == 2 && r.Probe.Procs == 2 && len(r.Probe.Worst) >= 3 && r.Probe.Seconds >= 0.35
		}},
		{"fib", Options{Warm: 1, Window: short, Most: 16}, false, func(r *Result) bool { return r.Ops >= 64 && r.Ops%64 == 0 && r.Note == "" }},
		{"fib/unbounded", Options{Warm: 1, Window: short}, false, func(r *Result) bool {
			return r.Ops >= 64 && r.Counts["backlog_max"] > 0 && strings.Contains(r.Note, "without a bound")
		}},
		{"fib/unbounded", Options{Warm: 1, Window: time.Hour, Most: 1}, false, func(r *Result) bool {
			return r.Ops >= 64 && strings.Contains(r.Note, "to protect the machine")
		}},
		{"pool/numcpu", Options{Warm: 1, Ops: 5000}, false, func(r *Result) bool { return r.Ops == 5000 && r.Counts["permits_first"] == int64(runtime.NumCPU()) }},
		{"pool/gomaxprocs", Options{Warm: 1, Ops: 5000}, false, func(r *Result) bool { return r.Ops == 5000 && r.Counts["permits_first"] == 2 }},
		{"pool/limiter", Options{Warm: 1, Ops: 5000}, false, func(r *Result) bool { return r.Ops == 5000 && r.Counts["permits_last"] == 2 }},
		{"xml/single", xml, false, xmlRight},
		{"xml/fanout", xml, false, xmlRight},
		{"xml/pool", xml, false, xmlRight},
		{"burst", Options{Warm: 1, Window: 450 * time.Millisecond, Work: time.Millisecond, Every: 100 * time.Millisecond}, true, func(r *Result) bool {
			return r.Ops == 4 && r.Seconds >= 0.4 && r.P95 == nil && *r.P50 > 0 // 4 samples: no P95
		}},
		{"syscall", Options{Warm: 1, Window: short, Workers: 4}, true, func(r *Result) bool {
			return r.Ops >= 4 && *r.P50 >= 0.001 && *r.Max >= *r.P50
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "syscall" && runtime.GOOS != "linux" {
				text := start(t, tt.name, tt.o).wait(1)
				if !strings.Contains(text, errNoBlocking.Error()) {
					t.Errorf("stderr %q", text)
				}
				return
			}
			c := start(t, tt.name, tt.o, "GOMAXPROCS=2", "GOGC=50", "GOMEMLIMIT=100MiB")
			r := c.result()
			if text := c.end(0); text != "" {
				t.Errorf("stderr %q", text)
			}
			if r.Workload != tt.name || r.Seconds <= 0 || !tt.right(r) {
				t.Errorf("%+v", *r)
			}
			if (r.Latency != nil) != tt.latency || (r.Max != nil) != tt.latency {
				t.Fatalf("latency %v, max %v, want one: %v", r.Latency, r.Max, tt.latency)
			}
			if tt.latency {
				var n int64
				for _, k := range r.Latency.Counts {
					n += k
				}
				if n != r.Ops || !slices.IsSorted(r.Latency.Seconds) || len(r.Latency.Seconds) != len(r.Latency.Counts) {
					t.Errorf("%d samples of %d operations: %+v", n, r.Ops, r.Latency)
				}
			}
		})
	}
}

func TestProtocol(t *testing.T) {
	t.Parallel()
	t.Run("stdin-ends-before-go", func(t *testing.T) {
		c := start(t, "fib", Options{Warm: 1})
		c.expect(ReadEvents(c.stdout), "warm")
		if text := c.end(1); !strings.Contains(text, "stdin ended before the work was done") {
			t.Errorf("stderr %q", text)
		}
	})
	t.Run("stdin-ends-in-the-warm-up", func(t *testing.T) {
		start(t, "probe", Options{Warm: time.Hour}).end(1)
	})
	t.Run("stdin-ends-in-the-window", func(t *testing.T) {
		c := start(t, "burst", Options{Warm: 1, Window: time.Hour})
		c.expect(ReadEvents(c.stdout), "warm")
		io.WriteString(c.stdin, "go\n")
		c.end(1)
	})
	t.Run("no-go", func(t *testing.T) {
		c := start(t, "fib", Options{Warm: 1})
		c.expect(ReadEvents(c.stdout), "warm")
		io.WriteString(c.stdin, "stop\n")
		if text := c.wait(2); !strings.Contains(text, `stdin said "stop"`) {
			t.Errorf("stderr %q", text)
		}
	})
	t.Run("warm-says-nothing-before-go", func(t *testing.T) {
		c := start(t, "pool/numcpu", Options{Warm: 1, Ops: 10})
		events := ReadEvents(c.stdout)
		c.expect(events, "warm")
		time.Sleep(50 * time.Millisecond)
		io.WriteString(c.stdin, "go\n")
		if r := c.expect(events, "done").Result; r.Ops != 10 {
			t.Errorf("%+v", r)
		}
		c.stdin.Close()
		if e, err := events.Next("done"); err != io.EOF {
			t.Errorf("after done: %+v, %v", e, err)
		}
	})
	t.Run("program-fails", func(t *testing.T) {
		c := start(t, "probe", Options{Warm: 1, Threads: 3}, "GOMAXPROCS=2")
		if text := c.wait(1); text != "snug workload: probe: 3 spinning threads with GOMAXPROCS 2\n" {
			t.Errorf("stderr %q", text)
		}
	})
}

func TestReadEvents(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"ended", "", "EOF"},
		{"cut-off", `{"event":"wa`, "unexpected EOF"},
		{"other-text", "hello\n", "workload said"},
		{"another", `{"event":"warm"}` + "\n", "instead of done"},
		{"done-with-nothing", `{"event":"done"}` + "\n", "instead of done"},
	} {
		if e, err := ReadEvents(strings.NewReader(tt.text)).Next("done"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %+v, %v; want %s", tt.name, e, err, tt.want)
		}
	}
}

// TestJSON: a figure that was not measured is null in the document.
func TestJSON(t *testing.T) {
	b, err := json.Marshal(Result{Workload: "fib"})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"p99_seconds":null`, `"latency":null`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s lacks %s", b, want)
		}
	}
}

func TestLatency(t *testing.T) {
	l := new(latency)
	var r Result
	if l.fill(&r); r.P50 != nil || r.Latency != nil {
		t.Errorf("of nothing: %+v", r)
	}
	for i := range 100 {
		l.add(time.Duration(i+1) * time.Millisecond)
	}
	l.fill(&r)
	for _, tt := range []struct {
		name string
		got  *float64
		want float64
	}{{"p50", r.P50, 0.050}, {"p95", r.P95, 0.095}, {"p99", r.P99, 0.099}, {"max", r.Max, 0.100}} {
		if tt.got == nil || math.Abs(*tt.got/tt.want-1) > 0.002 {
			t.Errorf("%s %v, want %g", tt.name, tt.got, tt.want)
		}
	}
	l.add(-time.Second)
	l.add(1000 * time.Hour)
	if l.fill(&r); *r.Max < 3590 || r.Latency.Seconds[0] > 1e-5 {
		t.Errorf("outside of the range: max %g, least %g", *r.Max, r.Latency.Seconds[0])
	}
}

func TestMainDoesNothingElse(t *testing.T) {
	old := os.Args
	defer func() { os.Args = old }()
	os.Args = []string{"snug", "bench"}
	ChildMain() // would end the test
}
