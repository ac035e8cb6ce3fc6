// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// command runs a command that does not end.
var command func(where string)

func TestMain(m *testing.M) {
	cgrun.ChildMain()
	load.ChildMain()
	workload.ChildMain()
	if where := os.Getenv("SNUG_TEST_COMMANDER"); where != "" {
		command(where) // see TestCommandOfKilledParent
	}
	os.Exit(m.Run())
}

func TestEnvironment(t *testing.T) {
	base := []string{"PATH=/bin", "GOMAXPROCS=7", "GOGC=50", "GOMEMLIMIT=1GiB", "GODEBUG=madvdontneed=1", "A=b=c"}
	tests := []struct {
		name           string
		knobs          finding.Knobs
		trace, builtin bool
		want           []string
	}{
		{"unset takes the operator's away", finding.Knobs{}, false, false, []string{"PATH=/bin", "A=b=c", "GODEBUG=madvdontneed=1"}},
		{"all set", finding.Knobs{GOMAXPROCS: "2", GOGC: "off", GOMEMLIMIT: "64MiB"}, false, false,
			[]string{"PATH=/bin", "A=b=c", "GOMAXPROCS=2", "GOGC=off", "GOMEMLIMIT=64MiB", "GODEBUG=madvdontneed=1"}},
		{"any variables", finding.Knobs{GOGC: "50", Vars: finding.NewVars([]string{"MODE=fast", "A=c"})}, false, false,
			[]string{"PATH=/bin", "A=c", "MODE=fast", "GOGC=50", "GODEBUG=madvdontneed=1"}},
		{"GODEBUG of an arm", finding.Knobs{Vars: finding.NewVars([]string{"GODEBUG=asyncpreemptoff=1,b=2"})}, true, false,
			[]string{"PATH=/bin", "A=b=c", "GODEBUG=asyncpreemptoff=1,b=2,gctrace=1"}},
		{"GODEBUG is added to", finding.Knobs{}, true, true,
			[]string{"PATH=/bin", "A=b=c", "GODEBUG=madvdontneed=1,gctrace=1,containermaxprocs=1,updatemaxprocs=1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := environment(base, test.knobs, test.trace, test.builtin); !slices.Equal(got, test.want) {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestLate(t *testing.T) {
	tests := []struct {
		name     string
		lateness *float64
		p99      *float64
		late     bool
	}{
		{"closed loop", nil, new(0.1), false},
		{"on time", new(0.0009), new(0.002), false},
		{"late beside short latencies", new(0.0011), new(0.002), true},
		{"not late beside long ones", new(0.004), new(0.1), false},
		{"late beside long ones", new(0.006), new(0.1), true},
		{"no latency at all", new(0.002), nil, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			why := late(load.Result{LatenessP99: test.lateness, P99: test.p99})
			if (why != "") != test.late {
				t.Errorf("says %q", why)
			}
		})
	}
}

func TestNoise(t *testing.T) {
	busy, steal := parseStat("cpu  1000 200 300 4000 50 10 20 30 400 0\ncpu0 1 2 3\n")
	if busy == nil || math.Abs(*busy-15.3) > 1e-9 || math.Abs(*steal-0.3) > 1e-9 {
		t.Errorf("busy %v, steal %v; want 15.3 s (guest is part of user, waiting for I/O is idle) and 0.3 s", busy, steal)
	}
	for _, bad := range []string{"", "cpu", "cpu 1 2 3", "cpu  1 2 3 4 5 6 7 x", "intr 1 2 3 4 5 6 7 8 9"} {
		if b, s := parseStat(bad); b != nil || s != nil {
			t.Errorf("%q is read as %v, %v", bad, b, s)
		}
	}
	psi := "some avg10=0.00 avg60=1.25 avg300=0.71 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n"
	if p := parsePressure(psi); p == nil || *p != 1.5 {
		t.Errorf("pressure %v, want 1.5 s", p)
	}
	if p := parsePressure("some nonsense"); p != nil {
		t.Errorf("pressure %v of nonsense", *p)
	}

	at := time.Now()
	a := machineTime{at: at, busy: new(10.0), steal: new(1.0), pressure: new(2.0)}
	b := machineTime{at: at.Add(2 * time.Second), busy: new(13.0), steal: new(1.5), pressure: new(3.0)}
	n := noise(a, b, new(2.0))
	if *n.OtherCPUs != 0.5 || *n.Steal != 0.25 || *n.Pressure != 0.5 {
		t.Errorf("%v others, %v steal, %v pressure; want 0.5 cores, 0.25 cores, 0.5", *n.OtherCPUs, *n.Steal, *n.Pressure)
	}
	if n := noise(a, b, nil); n.OtherCPUs != nil {
		t.Errorf("%v others although the program's own time is not known", *n.OtherCPUs)
	}
}

// TestAccount: only counters of both readings are accounted.
func TestAccount(t *testing.T) {
	two, three := uint64(2), uint64(3)
	cpu := func(d time.Duration) *time.Duration { return &d }
	var run finding.Run
	run.Ops = 4
	a := counters{usage: cgrun.Usage{CPUTime: cpu(time.Second), Periods: &two}}
	b := counters{usage: cgrun.Usage{CPUTime: cpu(3 * time.Second), Periods: &three, ThrottledPeriods: &two}}
	account(&run, a, b, nil)
	if *run.CPU != 2 || *run.CPUPerOp != 0.5 || *run.Periods != 1 || run.ThrottledPeriods != nil {
		t.Errorf("CPU %v, each %v, periods %v, throttled %v", *run.CPU, *run.CPUPerOp, *run.Periods, run.ThrottledPeriods)
	}
}

func TestUsers(t *testing.T) {
	for load, want := range map[string]int{"30 users": 30, "users": 0, "x users": 0, "0 users": 0, "saturated": 0, "80%": 0} {
		if n, ok := Users(load); ok != (want > 0) || ok && n != want {
			t.Errorf("%q: %d, %v; want %d", load, n, ok, want)
		}
	}
}

// TestRuns does one run of each kind in a real cgroup.
func TestRuns(t *testing.T) {
	if !slices.Contains(strings.Split(os.Getenv("SNUG_E2E"), ","), "root") {
		t.Skip("set SNUG_E2E=root to run programs in real cgroups")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	base := Runner{Self: self, Ready: time.Minute, WarmUp: 100 * time.Millisecond, Window: 400 * time.Millisecond}
	base.Request.Timeout = time.Minute
	tests := []struct {
		name    string
		arm     finding.Arm
		rate    float64
		command []string
		trace   bool
		check   func(*testing.T, finding.Run)
	}{
		{name: "service, saturated", arm: finding.Arm{Workload: "http", Quota: 0.5, Load: LoadSaturated}, check: func(t *testing.T, r finding.Run) {
			if r.RPS == nil || r.GCs == nil || *r.Procs < 1 {
				t.Errorf("rps %v, GCs %v, procs %v", r.RPS, r.GCs, r.Procs)
			}
		}},
		{name: "service, open loop", arm: finding.Arm{Workload: "http", Quota: 0.5, Load: "50/s"}, rate: 50, check: func(t *testing.T, r finding.Run) {
			if r.Offered == nil || r.Generator == nil || r.Generator.LatenessP99 == nil || r.P50 == nil {
				t.Errorf("offered %v, generator %v, P50 %v", r.Offered, r.Generator, r.P50)
			}
		}},
		{name: "self-driven, explicit GOMAXPROCS", arm: finding.Arm{Workload: "fib", Quota: 0.5, Load: LoadSelf, Knobs: finding.Knobs{GOMAXPROCS: "3"}}, check: func(t *testing.T, r finding.Run) {
			if r.Procs == nil || *r.Procs != 3 || r.RPS == nil {
				t.Errorf("procs %v, rps %v", r.Procs, r.RPS)
			}
		}},
		{name: "self-driven, traced", arm: finding.Arm{Workload: "fib", Quota: 0.5, Load: LoadSelf, Knobs: finding.Knobs{GOGC: "10"}}, trace: true, check: func(t *testing.T, r finding.Run) {
			for _, name := range TraceMetrics {
				if v, ok := r.Reported[name]; !ok || v < 0 || strings.HasSuffix(name, "_share") && v > 1 {
					t.Errorf("%s is %v, %v", name, v, ok)
				}
			}
			if wall := r.Reported["trace_wall_seconds"]; wall < r.Window || r.Reported["trace_stopped_seconds"] > wall {
				t.Errorf("%v in %v s", r.Reported, r.Window)
			}
		}},
		{name: "batch", arm: finding.Arm{Workload: "command", Quota: 0.5, Memory: 64 << 20, Load: LoadBatch}, command: []string{"sh", "-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"}, check: func(t *testing.T, r finding.Run) {
			if r.Wall == nil || *r.Wall <= 0 || r.Confined.MemoryBytes != 64<<20 {
				t.Errorf("wall %v, memory %d", r.Wall, r.Confined.MemoryBytes)
			}
		}},
		{name: "batch, out of memory", arm: finding.Arm{Workload: "command", Quota: 1, Memory: 16 << 20, Load: LoadBatch}, command: []string{"sh", "-c", "exec tail /dev/zero"}, check: func(t *testing.T, r finding.Run) {
			if r.OOMKills == nil || *r.OOMKills == 0 || r.Wall != nil || r.Errors == 0 || !strings.Contains(r.Exit, "OOM-killed") {
				t.Errorf("kills %v, wall %v, errors %d, exit %q", r.OOMKills, r.Wall, r.Errors, r.Exit)
			}
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := base
			r.Command, r.Exec = test.command, test.trace
			run, err := r.Run(context.Background(), experiment.Trial{Arm: test.arm, Seed: 1, Rate: test.rate})
			if err != nil {
				t.Fatal(err)
			}
			if run.CPU == nil || run.Periods == nil || run.Confined.Policy != "SCHED_OTHER" || run.Confined.QuotaMicros == 0 || run.Peak == nil {
				t.Errorf("CPU %v, periods %v, peak %v, %+v", run.CPU, run.Periods, run.Peak, run.Confined)
			}
			test.check(t, run)
		})
	}
	t.Run("a command that fails", func(t *testing.T) {
		r := base
		r.Command = []string{"sh", "-c", "echo broken >&2; exit 3"}
		_, err := r.Run(context.Background(), experiment.Trial{Arm: finding.Arm{Workload: "command", Quota: 1, Load: LoadBatch}})
		var target *TargetError
		if !errors.As(err, &target) || !strings.Contains(target.What, "exit code 3") || !strings.Contains(target.What, "broken") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("an experiment that was interrupted", func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(300*time.Millisecond, cancel)
		r := base
		r.Window = time.Minute
		if _, err := r.Run(ctx, experiment.Trial{Arm: finding.Arm{Workload: "http", Quota: 1, Load: LoadSaturated}}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
	})
}

// TestWatched: the watch has its time under a load, and ends with one that fails.
func TestWatched(t *testing.T) {
	full := false
	r := &Runner{Watch: func(ctx context.Context, pid int) {
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(pid) * time.Millisecond):
			full = true
		}
	}}
	failed := errors.New("no answer")
	if err := r.watched(t.Context(), 3_600_000, func(context.Context) error { return failed }); err != failed || full {
		t.Error(err, full)
	}
	if err := r.watched(t.Context(), 1, func(context.Context) error { return nil }); err != nil || !full {
		t.Error(err, full)
	}
}
