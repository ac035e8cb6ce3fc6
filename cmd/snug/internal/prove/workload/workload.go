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
//	{"event":"listening","url":"http://127.0.0.1:40000/","gomaxprocs":2}
//
// on stdout once it serves, and answers GET / with work. On SIGTERM and at the end of stdin it
// stops listening, finishes the requests in progress and exits with 0.
//
// # Self-driven programs
//
// All others drive themselves:
//
//	stdout  {"event":"warm"}                  warmed up, idle, waits
//	stdin   go
//	stdout  {"event":"done","result":{...}}   a Result; idle, waits
//	stdin   end of file                       exits with 0
//
// They wait for the end of stdin so that their cgroup can be read while they are in it.
// At the end of stdin at any other time they exit with code 1: a workload does not
// outlive the snug that started it.
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
// default.
type Options struct {
	Warm   time.Duration `json:",omitempty"` // self-driven: how long to warm up; default 1 s
	Window time.Duration `json:",omitempty"` // self-driven, no batch: how long to work; default 4 s
	// Trace is the file for an execution trace of a self-driven workload, without the warm-up; "" is none.
	Trace string `json:",omitempty"`

	Threads  int           `json:",omitempty"` // probe: how many threads spin; default GOMAXPROCS
	Ops      int           `json:",omitempty"` // pool: tasks
	Docs     int           `json:",omitempty"` // xml: documents
	DocBytes int           `json:",omitempty"` // xml: approximate size of each in bytes
	Workers  int           `json:",omitempty"` // xml/pool, burst, syscall: goroutines
	Work     time.Duration `json:",omitempty"` // burst: approximate CPU time of a burst
	Every    time.Duration `json:",omitempty"` // burst: from one to the next
	Most     int           `json:",omitempty"` // fib: maximum of outstanding goroutines
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
	defaults Options
	make     func(Options) program // nil for a service
}

var xmlDefaults = Options{Docs: 100, DocBytes: 1_500_000, Workers: 4}

var entries = []entry{
	{name: "http", kind: service,
		what: "HTTP service: asks a back end, hashes, decodes and encodes JSON; about 0.6 ms of CPU a request"},
	{name: "http/gc", kind: service,
		what: "the same with a live heap of 60,000 objects and JSON of 60 items"},
	{name: "probe", kind: windowed,
		what: "spinning threads that record how long they were held back",
		make: func(o Options) program { return &spinner{threads: o.Threads} }},
	{name: "fib", kind: windowed, defaults: Options{Most: 256},
		what: "goroutine storm: go fib(10), at most 256 outstanding",
		make: func(o Options) program { return &storm{limit: o.Most} }},
	{name: "fib/unbounded", kind: windowed, defaults: Options{Most: 500_000},
		what: "goroutine storm without a bound; measures the length of its own queue",
		make: func(o Options) program { return &flood{limit: o.Most} }},
	{name: "pool/numcpu", kind: batch, defaults: Options{Ops: 1_000_000},
		what: "a million small tasks behind a semaphore sized once from NumCPU",
		make: func(o Options) program { return &tasks{gate: byNumCPU, n: o.Ops} }},
	{name: "pool/gomaxprocs", kind: batch, defaults: Options{Ops: 1_000_000},
		what: "a million small tasks behind a semaphore sized once from GOMAXPROCS",
		make: func(o Options) program { return &tasks{gate: byProcs, n: o.Ops} }},
	{name: "pool/limiter", kind: batch, defaults: Options{Ops: 1_000_000},
		what: "a million small tasks behind snug's limiter, which follows GOMAXPROCS",
		make: func(o Options) program { return &tasks{gate: byLimiter, n: o.Ops} }},
	{name: "xml/single", kind: batch, defaults: Options{Docs: 100, DocBytes: 1_500_000, Workers: 1},
		what: "RSS documents parsed one after the other",
		make: func(o Options) program { return &reader{options: o, how: byWorkers} }},
	{name: "xml/fanout", kind: batch, defaults: xmlDefaults,
		what: "RSS documents parsed by one goroutine each, all kept in memory",
		make: func(o Options) program { return &reader{options: o, how: allAtOnce} }},
	{name: "xml/pool", kind: batch, defaults: xmlDefaults,
		what: "RSS documents parsed by four goroutines",
		make: func(o Options) program { return &reader{options: o, how: byWorkers} }},
	{name: "syscall", kind: windowed, defaults: Options{Workers: 16},
		what: "pipeline blocked in system calls of 1 to 5 ms, with a stage that uses CPU",
		make: func(o Options) program { return &pipeline{sources: o.Workers} }},
	{name: "burst", kind: windowed,
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
