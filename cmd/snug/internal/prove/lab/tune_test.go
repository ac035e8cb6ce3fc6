// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/limits"
)

// parsedTune returns a tune with this command line.
func parsedTune(t *testing.T, line string) (*Tune, error) {
	t.Helper()
	got := &Tune{Lab: Lab{Getenv: func(string) string { return "" }}}
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	fs.SetInterspersed(false)
	got.Sweep.AddLimits(fs)
	got.Sweep.AddKnobs(fs)
	flagvalue.Define(fs, "workload", "", "", func(text string) (string, bool) { return text, true }, &got.Workload)
	flagvalue.Define(fs, "load", "", "", ParseLoad, &got.Load)
	fs.IntVar(&got.Users, "users", 0, "")
	fs.StringArrayVar(&got.Constraints, "constraint", nil, "")
	flagvalue.Define(fs, "budget", "", "", parseTime, &got.Budget)
	got.Add(fs)
	if err := fs.Parse(strings.Fields(line)); err != nil {
		return nil, err
	}
	got.Cmd = fs.Args()
	return got, nil
}

func TestTuneInput(t *testing.T) {
	const url = "--url http://127.0.0.1:1/ "
	for _, c := range []struct {
		name, line, workload, load, objective string
	}{
		{"batch", "-- cmd", "command", "batch", "wall"},
		{"batch for its CPU time", "--objective cpu -- cmd", "command", "batch", "cpu"},
		{"service", url + "-- cmd", "command", "saturated", "cpu"},
		{"service with a load", url + "--load 50% -- cmd", "command", "50%", "cpu"},
		{"latency", url + "--objective p99 -- cmd", "command", "80%", "p99"},
		{"latency at a rate", url + "--objective p99 --load 400/s -- cmd", "command", "400/s", "p99"},
		{"service with users", url + "--users 8 -- cmd", "command", "8 users", "cpu"},
		{"load command", "--load-cmd x --url tcp://127.0.0.1:1 -- cmd", "command", "command", "cpu"},
		{"load command of users", "--load-cmd x --url tcp://127.0.0.1:1 --users 8 -- cmd", "command", "8 users", "cpu"},
		{"load command at a rate for its tails", "--load-cmd x --url tcp://127.0.0.1:1 --load 800/s --objective p99 -- cmd", "command", "800/s", "p99"},
		{"throughput with users", url + "--users 8 --objective rps -- cmd", "command", "8 users", "rps"},
		{"built-in service", "--workload http", "http", "saturated", "cpu"},
		{"built-in fixed work", "--workload xml/pool", "xml/pool", "batch", "wall"},
		{"drives itself", "--workload syscall", "syscall", "self", "cpu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			tn, err := parsedTune(t, c.line)
			if err != nil {
				t.Fatal(err)
			}
			in, err := tn.input()
			if err != nil {
				t.Fatal(err)
			}
			if in.Base.Workload != c.workload || in.Base.Load != c.load || in.Objective.String() != c.objective {
				t.Errorf("%s, %s, %s; want %s, %s, %s", in.Base.Workload, in.Base.Load, in.Objective, c.workload, c.load, c.objective)
			}
			if in.Budget != 15*time.Minute || in.Seed != 1 || in.Base.Rate != rateOf(c.load) || !in.Base.Is("default") {
				t.Errorf("budget %s, seed %d, rate %g, labels %q", in.Budget, in.Seed, in.Base.Rate, in.Base.Labels)
			}
		})
	}
}

func TestTuneComplete(t *testing.T) {
	tn, err := parsedTune(t, "--cpus 0.5 --memory 200MiB --gomaxprocs 1,default --gogc 50,off --gomemlimit 50%,default,off --window 1s --warmup 500ms -- cmd")
	if err != nil {
		t.Fatal(err)
	}
	in, err := tn.input()
	if err != nil {
		t.Fatal(err)
	}
	tn.choice, tn.machine.CPUs, tn.runner = machine(16), 16, &runner.Runner{Self: "snug"}
	if err := tn.complete(in); err != nil {
		t.Fatal(err)
	}
	if in.CPUs != 16 || in.Base.Quota != 0.5 || in.Base.Memory != 200<<20 || *in.Snug != (finding.Knobs{GOMAXPROCS: "1", GOMEMLIMIT: "180MiB"}) {
		t.Errorf("CPUs %d, %+v, snug %+v", in.CPUs, in.Base, in.Snug)
	}
	v := in.Values
	for _, pair := range [][2]string{
		{strings.Join(v.GOMAXPROCS, ","), "1,"}, {strings.Join(v.GOGC, ","), "50,off"}, {strings.Join(v.GOMEMLIMIT, ","), "100MiB,,off"},
	} {
		if pair[0] != pair[1] {
			t.Errorf("values %q, want %q", pair[0], pair[1])
		}
	}
	if in.PerRun != 1500*time.Millisecond+runCost {
		t.Errorf("a run takes %s", in.PerRun)
	}
}

// TestTuneRefusesLoads that it would ignore or cannot compare.
func TestTuneRefusesLoads(t *testing.T) {
	for line, want := range map[string]string{
		"--users 8 -- cmd": "--users: a load for a program that is not a service",
		"--url http://127.0.0.1:1/ --users 8 --load 800/s -- cmd":     "two loads",
		"--url http://127.0.0.1:1/ --users 8 --objective p99 -- cmd":  "latency of a closed loop",
		"--url http://127.0.0.1:1/ --load 800/s --objective rps -- c": "open loop",
	} {
		tn, err := parsedTune(t, line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tn.input(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", line, err, want)
		}
	}
}

// TestTunePace: a small budget has short runs; what you set stays.
func TestTunePace(t *testing.T) {
	for line, want := range map[string][2]time.Duration{
		"-- cmd":                           {3 * time.Second, time.Second},
		"--budget 5m -- cmd":               {2500 * time.Millisecond, time.Second},
		"--budget 1m -- cmd":               {time.Second, time.Second},
		"--budget 1m --window 2s -- cmd":   {2 * time.Second, time.Second},
		"--budget 1m --warmup 2s -- cmd":   {time.Second, 2 * time.Second},
		"--budget 60m --window 10s -- cmd": {10 * time.Second, time.Second},
	} {
		tn, err := parsedTune(t, line)
		if err != nil {
			t.Fatal(err)
		}
		if tn.pace(); tn.window != want[0] || tn.warmUp != want[1] {
			t.Errorf("%s: window %s, warm-up %s; want %v", line, tn.window, tn.warmUp, want)
		}
	}
}

// TestTuneInItsContainer: a percentage is of the container's own limit if snug sets none,
// and of nothing if there is no limit.
func TestTuneInItsContainer(t *testing.T) {
	tn, err := parsedTune(t, "--gomemlimit 50% -- cmd")
	if err != nil {
		t.Fatal(err)
	}
	in, err := tn.input()
	if err != nil {
		t.Fatal(err)
	}
	tn.choice, tn.runner = machine(16), &runner.Runner{Own: true}
	if err := tn.complete(in); err == nil || err.Error() != "--gomemlimit: a percentage without a limit" {
		t.Errorf("without a limit: %v", err)
	}
	tn.choice.limits.Memory.Hard = limits.Of[int64](300 << 20)
	in.Memory, in.Values.GOMEMLIMIT = 300<<20, nil
	if err := tn.complete(in); err != nil || strings.Join(in.Values.GOMEMLIMIT, ",") != "150MiB" || in.Base.Memory != 0 {
		t.Errorf("%v, %q, %d", err, in.Values.GOMEMLIMIT, in.Base.Memory)
	}
}
