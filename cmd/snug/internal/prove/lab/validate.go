// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/message"
	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/runner"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// This file rejects flags that an experiment would ignore, before minutes are
// spent on it.

// checkFlags rejects flags about requests if there is no URL, and flags about a batch if
// there is no batch.
func (l *Lab) checkFlags() error {
	if len(l.Metrics) > 0 && l.loadCmd == "" && (len(l.Cmd) == 0 || len(l.URLs) > 0) {
		return message.Usage("--metric: no batch that prints anything",
			"name a program that does its work and ends after --, without --url")
	}
	if err := l.checkCommands(); err != nil {
		return err
	}
	if l.grpc != "" && l.method != "" {
		return message.Usage("--grpc with --method: a call of gRPC is a POST", "leave out --method")
	}
	if len(l.URLs) > 0 {
		return nil
	}
	f := l.requestFlag()
	switch {
	case f != "":
	case l.timeout != 0 && len(l.Cmd) > 0:
		f = "--timeout"
	case l.ready != 0 && len(l.Cmd) > 0:
		f = "--ready"
	default:
		return nil
	}
	return message.Usage(f+": no service to send requests to",
		"give the address where it serves: --url http://127.0.0.1:PORT/")
}

// requestFlag returns the first flag given that shapes the requests of snug's load generator; "" = none.
func (l *Lab) requestFlag() string {
	for _, f := range []struct {
		name  string
		given bool
	}{{"--method", l.method != ""}, {"--body", l.body != ""}, {"--header", len(l.header) > 0}, {"--http2", l.http2},
		{"--grpc", l.grpc != ""}} {
		if f.given {
			return f.name
		}
	}
	return ""
}

// checkCommands rejects --load-cmd and --prepare without a service that snug starts, and an
// address that takes a load command without one.
func (l *Lab) checkCommands() error {
	flag := "--load-cmd"
	if l.loadCmd == "" {
		flag = "--prepare"
	}
	switch {
	case !l.Beside():
	case len(l.Cmd) == 0:
		return message.Usage(flag+": no service that snug starts", "give the service's command after --")
	case len(l.URLs) == 0:
		return message.Usage(flag+": no address of the service to wait for",
			"say where it listens: --url http://127.0.0.1:PORT/, or --url tcp://127.0.0.1:PORT with --load-cmd")
	}
	if l.loadCmd == "" {
		for _, u := range l.URLs {
			if !isHTTP(u) {
				return message.Usage("--url "+message.Quote(runner.Redacted(u))+": neither http nor https",
					"--load-cmd 'CMD' loads a service that does not speak HTTP")
			}
		}
		return nil
	}
	if f := l.requestFlag(); f != "" {
		return message.Usage(f+": the load command has its own requests",
			"leave it out, or put it into the command of --load-cmd")
	}
	return nil
}

// Beside reports whether commands run beside the measured program: --load-cmd or --prepare.
func (l *Lab) Beside() bool { return l.loadCmd != "" || l.fill != "" }

// checkCommandLoads rejects loads that a load command cannot be asked for.
func (l *Lab) checkCommandLoads(loads []string) error {
	if l.loadCmd == "" {
		return nil
	}
	for _, load := range loads {
		if _, users := runner.Users(load); !users && rateOf(load) == 0 {
			return message.Usage("--load "+load+": not a load of a load command",
				"--load 800/s gives it SNUG_RATE=800; without --load it sends as much as it wants")
		}
	}
	return nil
}

// checkObjective rejects an objective that runs under these loads do not measure.
func (l *Lab) checkObjective(loads []string) error {
	open := slices.ContainsFunc(loads, func(load string) bool { return experiment.OpenLoop(finding.Arm{Load: load}) })
	batch := slices.Contains(loads, runner.LoadBatch)
	self := slices.Contains(loads, runner.LoadSelf)
	closed := slices.ContainsFunc(loads, func(load string) bool {
		_, users := runner.Users(load)
		_, ramp := finding.ParseRamp(load)
		return users || ramp || load == runner.LoadSaturated || load == runner.LoadCommand
	})
	switch {
	case l.objective == "wall" && !batch:
		return message.Usage("--objective wall: only a command that ends has a duration", "a service has cpu, rps and p99")
	case batch && !open && !closed && !self && (l.objective == "rps" || l.objective == "p99"):
		return message.Usage("--objective "+l.objective+": a command that ends has neither rps nor p99",
			"compare wall or cpu; a service needs --url")
	case l.objective == "p99" && closed && !open && !self && l.loadCmd == "":
		return message.Usage("--objective p99: latency of a closed loop is not compared",
			"give a rate: --load 80% or --load 800/s")
	case l.objective == "rps" && open && !closed && !self:
		return message.Usage("--objective rps: the throughput of an open loop is its offered load",
			"--load saturated shows what the service can do")
	}
	return nil
}

// checkConstraint rejects a constraint on a figure that runs under this load do not
// measure.
func checkConstraint(constraint, load string) error {
	name, _, _ := strings.Cut(constraint, "<")
	name, _, _ = strings.Cut(name, ">")
	batch := load == runner.LoadBatch
	switch name {
	case "wall":
		if !batch {
			return message.Usage("--constraint "+message.Quote(constraint)+": only a command that ends has a duration",
				"a service has p99 and rps")
		}
	case "rps", "p50", "p95", "p99":
		if batch {
			return message.Usage("--constraint "+message.Quote(constraint)+
				": a command that ends has neither throughput nor latency", "it has wall, cpu, rss and peak; a service needs --url")
		}
	}
	return nil
}

// checkTrace rejects --trace for anything but built-in workloads that drive themselves,
// and selects the figures of the traces.
func (b *Bench) checkTrace(builtin bool) error {
	if !b.Trace {
		return nil
	}
	if !builtin {
		return message.Usage("--trace: no built-in workload",
			"a program has to write a trace itself: snug trace reads it, also from http://HOST/debug/pprof/trace?seconds=5")
	}
	if i := slices.IndexFunc(b.Sweep.Workloads, workload.IsService); i >= 0 || len(b.Sweep.Workloads) == 0 {
		return message.Usage("--trace: a service is not traced", "name a workload that drives itself: --workload xml/single")
	}
	b.Metrics = runner.TraceMetrics
	return nil
}

// check rejects a GOMEMLIMIT that the memory limit does not allow.
func (s *sweep) check(c *choice) error {
	for _, memory := range orOne(s.Memory, 0) {
		for _, m := range s.memlimit {
			if _, err := memoryLimit(m, c.memory(memory), "--gomemlimit"); err != nil {
				return err
			}
		}
		for _, set := range s.sets {
			if _, err := memoryLimit(set.memory, c.memory(memory), "--set GOMEMLIMIT"); err != nil {
				return err
			}
		}
	}
	return nil
}

// raw returns all runs of an experiment.
func raw(d *finding.Bench) (runs []finding.Run) {
	for _, c := range d.Cells {
		runs = append(runs, c.Rounds...)
	}
	return runs
}

// loadFlag returns the flag that chose the loads.
func (b *Bench) loadFlag() string {
	switch {
	case b.Full:
		return "--full"
	case len(b.Users) > 0:
		return "--users"
	}
	return "--load"
}
