// SPDX-License-Identifier: Apache-2.0

// Package workload has the built-in programs that snug measures. They run as children of
// the snug binary itself (see [ChildMain]), in a cgroup and with Go's variables in the
// environment. They behave like an ordinary Go program: nothing here sets GOMAXPROCS,
// GOGC or GOMEMLIMIT.
//
// snug's own main package turns off the runtime's container awareness with //go:debug
// lines. To start a workload with Go's real default GOMAXPROCS, put [Defaults] into its
// environment, which overrides those lines.
//
// # Services
//
// A service (http, http/gc) prints
//
//	listening http://127.0.0.1:40000/
//
// on stdout once it serves. It answers GET / with work, and has /-/stats ([Stats]) and
// /-/probe ([Probe]) on the same port, like a program's debug endpoints. On SIGTERM it
// stops listening, finishes the requests in progress and exits with 0.
//
// # Self-driven programs
//
// All others drive themselves and speak a line protocol:
//
//	stdout  {"event":"warm"}                  warmed up, idle, waits
//	stdin   go
//	stdout  {"event":"done","result":{...}}   a Result; idle, waits
//	stdin   end of file                       exits with 0
//
// They wait for the end of stdin so that their cgroup can be read while they are in it.
// At the end of stdin at any other time they exit with code 1: a workload does not
// outlive the snug that started it. (For a service that is Options.UntilEOF.)
//
// Exit codes: 1 if a workload could not do its work, 2 for wrong usage.
package workload

import (
	"slices"
	"strings"
	"time"
)

// Defaults is the value of GODEBUG with which a workload sizes itself by its CPU quota,
// as Go 1.25 and later do by default. It overrides the //go:debug lines of snug's own
// main package.
const Defaults = "containermaxprocs=1,updatemaxprocs=1"

// Options configure a workload. The zero value of each field is the workload's own
// default. Args ignores the fields that a workload does not have.
type Options struct {
	Warm   time.Duration // self-driven: how long to warm up; default 1 s
	Window time.Duration // self-driven, no batch: how long to work; default 4 s
	Trace  string        // self-driven: file for an execution trace of the work, without the warm-up; "" is none

	Addr     string // services: where to listen; default 127.0.0.1:0
	UntilEOF bool   // services: end when stdin does

	Threads  int           // probe: how many threads spin; default GOMAXPROCS
	Ops      int           // pool: tasks; default 1,000,000
	Docs     int           // xml: documents; default 100
	DocBytes int           // xml: approximate size of each in bytes; default 1,500,000
	Workers  int           // xml/pool: goroutines; default 4. burst: tasks of a burst; default 8. syscall: default 16
	Work     time.Duration // burst: approximate CPU time of a burst; default 150 ms
	Every    time.Duration // burst: from one to the next; default 200 ms
	Most     int           // fib: maximum of outstanding goroutines; default 256, of fib/unbounded 500,000
}

type kind int

const (
	service kind = iota
	windowed
	batch
)

// entry is one workload.
type entry struct {
	name     string
	what     string
	kind     kind
	flags    []string // besides those of its kind
	defaults Options
	make     func(Options) program // nil for a service
}

var xmlFlags = []string{"docs", "doc-bytes"}
var xmlDefaults = Options{Docs: 100, DocBytes: 1_500_000, Workers: 4}

var entries = []entry{
	{name: "http", kind: service,
		what: "HTTP service: asks a back end, hashes, decodes and encodes JSON; about 0.6 ms of CPU a request"},
	{name: "http/gc", kind: service,
		what: "the same with a live heap of 60,000 objects and JSON of 60 items"},
	{name: "probe", kind: windowed, flags: []string{"threads"},
		what: "spinning threads that record how long they were held back",
		make: func(o Options) program { return &spinner{threads: o.Threads} }},
	{name: "fib", kind: windowed, flags: []string{"most"}, defaults: Options{Most: 256},
		what: "goroutine storm: go fib(10), at most 256 outstanding",
		make: func(o Options) program { return &storm{limit: o.Most} }},
	{name: "fib/unbounded", kind: windowed, flags: []string{"most"}, defaults: Options{Most: 500_000},
		what: "goroutine storm without a bound; measures the length of its own queue",
		make: func(o Options) program { return &flood{limit: o.Most} }},
	{name: "pool/numcpu", kind: batch, flags: []string{"ops"}, defaults: Options{Ops: 1_000_000},
		what: "a million small tasks behind a semaphore sized once from NumCPU",
		make: func(o Options) program { return &tasks{gate: byNumCPU, n: o.Ops} }},
	{name: "pool/gomaxprocs", kind: batch, flags: []string{"ops"}, defaults: Options{Ops: 1_000_000},
		what: "a million small tasks behind a semaphore sized once from GOMAXPROCS",
		make: func(o Options) program { return &tasks{gate: byProcs, n: o.Ops} }},
	{name: "pool/limiter", kind: batch, flags: []string{"ops"}, defaults: Options{Ops: 1_000_000},
		what: "a million small tasks behind snug's limiter, which follows GOMAXPROCS",
		make: func(o Options) program { return &tasks{gate: byLimiter, n: o.Ops} }},
	{name: "xml/single", kind: batch, flags: xmlFlags, defaults: xmlDefaults,
		what: "RSS documents parsed one after the other",
		make: func(o Options) program { return &reader{options: o, how: oneByOne} }},
	{name: "xml/fanout", kind: batch, flags: xmlFlags, defaults: xmlDefaults,
		what: "RSS documents parsed by one goroutine each, all kept in memory",
		make: func(o Options) program { return &reader{options: o, how: allAtOnce} }},
	{name: "xml/pool", kind: batch, flags: append([]string{"workers"}, xmlFlags...), defaults: xmlDefaults,
		what: "RSS documents parsed by four goroutines",
		make: func(o Options) program { return &reader{options: o, how: byWorkers} }},
	{name: "syscall", kind: windowed, flags: []string{"workers"}, defaults: Options{Workers: 16},
		what: "pipeline blocked in system calls of 1 to 5 ms, with a stage that uses CPU",
		make: func(o Options) program { return &pipeline{sources: o.Workers} }},
	{name: "burst", kind: windowed, flags: []string{"work", "every", "workers"},
		defaults: Options{Work: 150 * time.Millisecond, Every: 200 * time.Millisecond, Workers: 8},
		what:     "a fan-out every 200 ms, of 8 goroutines and 150 ms of CPU together",
		make:     func(o Options) program { return &bursts{work: o.Work, every: o.Every, tasks: o.Workers} }},
}

func find(name string) (entry, bool) {
	i := slices.IndexFunc(entries, func(e entry) bool { return e.name == name })
	if i < 0 {
		return entry{}, false
	}
	return entries[i], true
}

// Names returns the names of all workloads, variants after a slash.
func Names() []string {
	var names []string
	for _, e := range entries {
		names = append(names, e.name)
	}
	return names
}

// Describe returns a line about a workload, and whether it exists.
func Describe(name string) (string, bool) {
	e, ok := find(name)
	return e.what, ok
}

// Family returns the workload of this name, or else those whose names begin with it and a
// slash; nil if there are none.
func Family(name string) []string {
	if _, ok := find(name); ok {
		return []string{name}
	}
	var all []string
	for _, n := range Names() {
		if strings.HasPrefix(n, name+"/") {
			all = append(all, n)
		}
	}
	return all
}

// IsService reports whether a workload is a service, which needs a load. It is false for
// an unknown name.
func IsService(name string) bool {
	e, ok := find(name)
	return ok && e.kind == service
}

// IsBatch reports whether a workload does a fixed amount of work, whose wall time is the
// result. It is false for an unknown name.
func IsBatch(name string) bool {
	e, ok := find(name)
	return ok && e.kind == batch
}
