// SPDX-License-Identifier: Apache-2.0

package lab

import (
	"errors"
	"slices"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/snug-go/snug/cmd/snug/internal/flagvalue"
	"github.com/snug-go/snug/internal/plan"
)

// Add defines the flags that bench and tune share.
func (l *Lab) Add(fs *pflag.FlagSet) {
	l.addLoad(fs)
	flagvalue.Define(fs, "rounds", "measure every setting `N` times (default 7)", "a whole number from 1 to 1000",
		parseRounds(1), &l.rounds)
	flagvalue.Define(fs, "window", "measure for `DURATION` in each run", "a time from 100ms to 1h", parseWindow, &l.window)
	flagvalue.Define(fs, "warmup", "load for `DURATION` before each window (default 1s)", "a time such as 1s", parseTime,
		&l.warmUp)
	l.seed = 1
	flagvalue.Define(fs, "seed", "seed `N` of order, arrivals and resampling (default 1)", "a whole number",
		func(text string) (uint64, bool) {
			n, err := strconv.ParseUint(text, 10, 64)
			return n, err == nil
		}, &l.seed)
	flagvalue.Define(fs, "objective", "what better means, one `OBJECTIVE`: cpu (per request), rps, p99, wall, none, or "+
		"auto (default): what the data call for", "auto, cpu, rps, p99, wall or none", func(text string) (string, bool) {
		return text, slices.Contains(Objectives, text)
	}, &l.objective)
	fs.BoolVar(&l.RealTime, "rt", false, "the load generator gets real-time priority (needs root)")
	fs.BoolVar(&l.noLimit, "no-limit", false, "make no cgroup and enforce no limit; every output says so")
	fs.Var((*flagvalue.Text)(&l.RecordFile), "record", "write each run to `FILE` as it ends, and resume from there")
	fs.Var((*flagvalue.Text)(&l.HTML), "html", "also write a report to `FILE`, a self-contained page")
}

// addLoad defines the flags for the service and its requests.
func (l *Lab) addLoad(fs *pflag.FlagSet) {
	flagvalue.DefineList(fs, "url", "load the service at `URL`; several are replicas",
		"an address such as http://127.0.0.1:8080/ or, with --load-cmd, tcp://127.0.0.1:4222", parseURL, &l.URLs)
	flagvalue.Define(fs, "load-cmd", "load the service with `CMD`, by sh -c outside its cgroup, instead of HTTP requests",
		"a command for sh -c", parseCommand, &l.loadCmd)
	flagvalue.Define(fs, "prepare",
		"run `CMD` before each run's warm-up, by sh -c outside the cgroup, to fill the service", "a command for sh -c",
		parseCommand, &l.fill)
	fs.StringVar(&l.method, "method", "", "HTTP `METHOD` of the requests (default GET, with --body POST)")
	fs.StringVar(&l.body, "body", "", "`TEXT` to send, or @FILE")
	fs.BoolVar(&l.http2, "http2", false, "speak HTTP/2, also without TLS (prior knowledge)")
	flagvalue.Define(fs, "grpc", "call `METHOD` of gRPC, such as greet.Greeter/Hello, with the protobuf message of --body",
		"a method such as greet.Greeter/Hello", parseMethod, &l.grpc)
	fs.StringArrayVar(&l.header, "header", nil, "send `HEADER` with each request, such as 'Name: value'; repeatable")
	flagvalue.Define(fs, "timeout", "a request may take `DURATION` (default 10s)", "a time such as 10s", parseTime,
		&l.timeout)
	flagvalue.Define(fs, "ready", "wait up to `DURATION` until the service listens (default 10s)", "a time such as 10s",
		parseTime, &l.ready)
}

// Sections puts the flags of bench and tune under titles in a help. A command need not have all of
// them.
func Sections(fs *pflag.FlagSet) {
	for _, s := range []struct {
		title string
		names []string
	}{
		{"Container", []string{"cpus", "memory", "no-limit"}},
		{"Docker or podman", []string{"in", "image", "in-arg", "snug-linux"}},
		{"Settings to compare", []string{"gomaxprocs", "gogc", "gomemlimit", "set"}},
		{"Load", []string{"workload", "load", "users", "url", "rate", "load-cmd", "prepare", "method", "body", "header",
			"http2", "grpc", "timeout", "ready", "rt"}},
		{"Experiment",
			[]string{"budget", "constraint", "slo", "rounds", "window", "warmup", "seed", "objective", "trace", "full"}},
		{"Output", []string{"metric", "check", "record", "html", "benchfmt", "json"}},
	} {
		for _, name := range s.names {
			if fs.Lookup(name) != nil {
				flagvalue.Section(fs, s.title, name)
			}
		}
	}
}

// AddLimits defines the flags for limits.
func (s *sweep) AddLimits(fs *pflag.FlagSet) {
	flagvalue.DefineList(fs, "cpus", "limit CPU time to the CPUs in `LIST`, such as 0.5,1,1500m (default 1)",
		plan.Want("SNUG_CPU_LIMIT"), plan.ParseCPUs, &s.CPUs)
	flagvalue.DefineList(fs, "memory", "limit memory to the sizes in `LIST`, such as 256MiB,1GiB",
		plan.Want("SNUG_MEMORY_LIMIT"), plan.ParseBytes, &s.Memory)
}

// AddKnobs defines the flags for knobs.
func (s *sweep) AddKnobs(fs *pflag.FlagSet) {
	flagvalue.DefineList(fs, "gomaxprocs", "compare the values of GOMAXPROCS in `LIST`, such as 1,2,8",
		"whole numbers from 1, or default", parseKnob(func(text string) bool {
			_, ok := plan.ParseProcs(text)
			return ok
		}), &s.procs)
	flagvalue.DefineList(fs, "gogc", "compare the values of GOGC in `LIST`, such as 50,100,off",
		"whole numbers from 1, off, or default", parseKnob(func(text string) bool {
			_, ok := flagvalue.ParseGOGC(text)
			return ok
		}), &s.gogc)
	flagvalue.DefineList(fs, "gomemlimit",
		"compare the values of GOMEMLIMIT in `LIST`, such as 124MiB,90%; percentages are of --memory",
		plan.Want("SNUG_GOMEMLIMIT")+"; or default", func(text string) (plan.Memory, bool) {
			if text == "default" {
				return plan.Memory{}, true
			}
			return plan.ParseMemory(text)
		}, &s.memlimit)
}

// AddSets defines --set: one setting of several variables. --gomaxprocs, --gogc and
// --gomemlimit together would try every combination.
func (s *sweep) AddSets(fs *pflag.FlagSet) {
	fs.Var(&flagvalue.Parsed{Take: func(text string) error {
		one, ok := parseSet(text)
		if !ok {
			return errors.New("variables and their values, as GOGC=off,GOMEMLIMIT=90% or MODE=fast,GOGC=200")
		}
		s.sets = append(s.sets, one)
		return nil
	}}, "set", "compare one `SETTING` of several variables, Go's or any, such as MODE=fast,GOMEMLIMIT=90%; repeatable")
}
