// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

func TestFillIn(t *testing.T) {
	for _, c := range []struct {
		name, flags    string
		cmd            []string
		workloads      string
		loads          string // of the first workload
		procs          string
		window, warmUp time.Duration
		objective      string
	}{
		{"nothing", "", nil, "http", "saturated", "1,8", quickWindow, 400 * time.Millisecond, "auto"},
		{"rounds only", "--rounds 3", nil, "http", "saturated", "1,8", quickWindow, 400 * time.Millisecond, "auto"},
		{"full", "--full", nil, "http", "saturated,50%,80%", "1,8", fullWindow, time.Second, "auto"},
		{"a quota", "--cpus 0.5", nil, "http", "saturated", "1,8", plainWindow, time.Second, "auto"},
		{"a knob", "--gogc 50", nil, "http", "saturated", "", plainWindow, time.Second, "auto"},
		{"times", "--window 300ms --warmup 2s", nil, "http", "saturated", "1,8", 300 * time.Millisecond, 2 * time.Second, "auto"},
		{"users", "--users 5,10", nil, "http", "5 users,10 users", "1,8", plainWindow, time.Second, "auto"},
		{"loads and users", "--load 50%,saturated --users 5", nil, "http", "50%,saturated,5 users", "1,8", plainWindow, time.Second, "auto"},
		{"fixed work", "--workload xml/pool", nil, "xml/pool", "batch", "1,8", plainWindow, time.Second, "auto"},
		{"a family of workloads", "--workload xml --trace", nil, "xml/single,xml/fanout,xml/pool", "batch", "1,8", plainWindow, time.Second, "auto"},
		{"several workloads", "--workload http,xml/pool", nil, "http,xml/pool", "saturated", "1,8", plainWindow, time.Second, "auto"},
		{"drives itself", "--workload syscall", nil, "syscall", "self", "1,8", plainWindow, time.Second, "auto"},
		{"command", "", []string{"true"}, "command", "batch", "1,2,4", plainWindow, time.Second, "auto"},
		{"command for its CPU time", "--objective cpu", []string{"true"}, "command", "batch", "1,2,4", plainWindow, time.Second, "cpu"},
		{"service", "--url http://127.0.0.1:1/", []string{"serve"}, "command", "saturated", "1,2,4", plainWindow, time.Second, "auto"},
		{"service, full", "--full --url http://127.0.0.1:1/", []string{"serve"}, "command", "saturated,50%,80%", "1,2,4", fullWindow, time.Second, "auto"},
		{"load command", "--load-cmd x --url tcp://127.0.0.1:1", []string{"serve"}, "command", "command", "1,2,4", plainWindow, time.Second, "auto"},
		{"load command at rates, of users", "--load-cmd x --url tcp://127.0.0.1:1 --load 5/s,9/s --users 8", []string{"serve"}, "command", "5/s,9/s,8 users", "1,2,4", plainWindow, time.Second, "auto"},
		{"load command for its tails", "--load-cmd x --url tcp://127.0.0.1:1 --objective p99", []string{"serve"}, "command", "command", "1,2,4", plainWindow, time.Second, "p99"},
		{"service of somebody else", "--url http://127.0.0.1:1/ --load 5/s", nil, "url", "5/s", "", plainWindow, time.Second, "auto"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := parsed(t, c.flags)
			b.Cmd = c.cmd
			if err := b.complete(); err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%s | %s | %s | %s %s | %s", strings.Join(b.Sweep.Workloads, ","), strings.Join(b.loadsOf(b.Sweep.Workloads[0]), ","),
				strings.Join(b.Sweep.procs, ","), b.window, b.warmUp, b.objective)
			want := fmt.Sprintf("%s | %s | %s | %s %s | %s", c.workloads, c.loads, c.procs, c.window, c.warmUp, c.objective)
			if got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestTraceable(t *testing.T) {
	for _, c := range []struct {
		name, flags string
		cmd         []string
		refused     string // prefix of the error; "" is none
	}{
		{"drives itself", "--workload fib --trace", nil, ""},
		{"nothing named", "--trace", nil, "--trace: a service is not traced"},
		{"a service among others", "--workload fib,http --trace", nil, "--trace: a service is not traced"},
		{"a command", "--trace", []string{"true"}, "--trace: no built-in workload"},
		{"a service of somebody else", "--trace --url http://127.0.0.1:1/", nil, "--trace: no built-in workload"},
	} {
		b := parsed(t, c.flags)
		b.Cmd = c.cmd
		err := b.complete()
		if c.refused == "" && (err != nil || !slices.Equal(b.Metrics, runner.TraceMetrics)) {
			t.Errorf("%s: %v, shows %q", c.name, err, b.Metrics)
		}
		if c.refused != "" && (err == nil || !strings.HasPrefix(err.Error(), c.refused)) {
			t.Errorf("%s: %v, want %s", c.name, err, c.refused)
		}
	}
}

func TestComparable(t *testing.T) {
	for _, c := range []struct {
		objective, loads string
		ok               bool
	}{
		{"cpu", "saturated", true}, {"cpu", "batch", true}, {"cpu", "self", true}, {"cpu", "50%", true},
		{"rps", "saturated", true}, {"rps", "5 users", true}, {"rps", "self", true}, {"rps", "50%,saturated", true},
		{"rps", "50%", false}, {"rps", "800/s", false}, {"rps", "batch", false},
		{"p99", "50%", true}, {"p99", "800/s", true}, {"p99", "saturated,80%", true}, {"p99", "self", true},
		{"p99", "saturated", false}, {"p99", "5 users", false}, {"p99", "batch", false},
		{"wall", "batch", true}, {"wall", "saturated,batch", true},
		{"wall", "saturated", false}, {"wall", "self", false}, {"wall", "50%", false},
	} {
		l := Lab{objective: c.objective}
		if err := l.checkObjective(strings.Split(c.loads, ",")); (err == nil) != c.ok {
			t.Errorf("%s under %s: %v", c.objective, c.loads, err)
		}
	}
}

func TestBounded(t *testing.T) {
	for _, c := range []struct {
		constraint, load string
		ok               bool
	}{
		{"p99<20ms", "80%", true}, {"p99<=20ms", "batch", false}, {"rps>=1000", "saturated", true}, {"rps>1000", "batch", false},
		{"wall<=3s", "batch", true}, {"wall<3s", "self", false}, {"rss<=400MiB", "batch", true}, {"peak<=400MiB", "saturated", true}, {"cpu<1ms", "batch", true},
	} {
		if err := checkConstraint(c.constraint, c.load); (err == nil) != c.ok {
			t.Errorf("%s under %s: %v", c.constraint, c.load, err)
		}
	}
}

func TestCheckable(t *testing.T) {
	kills := func(n uint64) *uint64 { return &n }
	byDefault, current, other := []string{"default"}, []string{"current", "snug"}, []string{}
	cpu := []finding.Comparison{{Metric: "cpu_seconds_per_op"}}
	for _, c := range []struct {
		name        string
		cells       []finding.Cell
		comparisons []finding.Comparison
		code        int // -1 is success
	}{
		{"compared", []finding.Cell{{Labels: byDefault, OOMKills: kills(0)}, {Labels: other}}, cpu, -1},
		{"compared in something else", []finding.Cell{{Labels: byDefault}, {Labels: other}}, []finding.Comparison{{Metric: "rps"}}, message.ExitFailed},
		{"nothing compared", []finding.Cell{{Labels: byDefault}}, nil, message.ExitFailed},
		{"another is killed", []finding.Cell{{Labels: byDefault}, {Labels: other, OOMKills: kills(1)}}, cpu, -1},
		{"the default is killed", []finding.Cell{{Labels: byDefault, OOMKills: kills(1)}, {Labels: other}}, nil, message.ExitFinding},
		{"the default is killed, the current is not", []finding.Cell{{Labels: byDefault, OOMKills: kills(1)}, {Labels: current}}, cpu, -1},
		{"the current is killed", []finding.Cell{{Labels: byDefault}, {Labels: current, OOMKills: kills(1)}}, nil, message.ExitFinding},
		{"all are killed", []finding.Cell{{Labels: byDefault, OOMKills: kills(1)}, {Labels: other, OOMKills: kills(2)}}, nil, message.ExitFailed},
	} {
		d := &finding.Bench{Setup: finding.Setup{Objective: "cpu"}, Cells: c.cells, Comparisons: c.comparisons}
		code := -1
		var f *message.Failure
		if errors.As(checkable(d), &f) {
			code = f.Code
		}
		if code != c.code {
			t.Errorf("%s: %+v, want %d", c.name, f, c.code)
		}
	}
}
