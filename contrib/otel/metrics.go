// SPDX-License-Identifier: Apache-2.0

package snugotel

import "go.opentelemetry.io/otel/metric"

// figure is one instrument.
type figure struct {
	name, unit, help string
	kind             kind
	attributes       []string
	at               int // in all, and in the instruments of a registration
}

// kind makes the instrument of a figure.
type kind func(metric.Meter, *figure) (metric.Float64Observable, error)

// all lists the figures. It is complete once the package is initialised.
var all []*figure

// counter is a count since the start of the process.
func counter(name, unit, help string) *figure {
	return define(name, unit, help, nil, func(m metric.Meter, f *figure) (metric.Float64Observable, error) {
		return m.Float64ObservableCounter(f.name, metric.WithUnit(f.unit), metric.WithDescription(f.help))
	})
}

// sum is a quantity that may be added up over processes, in the conventions an UpDownCounter.
func sum(name, unit, help string, attributes ...string) *figure {
	return define(name, unit, help, attributes, func(m metric.Meter, f *figure) (metric.Float64Observable, error) {
		return m.Float64ObservableUpDownCounter(f.name, metric.WithUnit(f.unit), metric.WithDescription(f.help))
	})
}

// state is a sum of processes for which it is 1.
func state(name, help string, attributes ...string) *figure {
	return sum(name, "", help, attributes...)
}

// gauge is a figure whose sum over processes means nothing.
func gauge(name, unit, help string) *figure {
	return define(name, unit, help, nil, func(m metric.Meter, f *figure) (metric.Float64Observable, error) {
		return m.Float64ObservableGauge(f.name, metric.WithUnit(f.unit), metric.WithDescription(f.help))
	})
}

func define(name, unit, help string, attributes []string, k kind) *figure {
	f := &figure{"snug." + name, unit, help, k, attributes, len(all)}
	all = append(all, f)
	return f
}

// The Watcher.
var (
	watching = state("watching", "1 while limits are followed, 0 once watching has ended or where it never began.")
	failed   = state("failed",
		"1 if a panic inside snug, or in a callback, has ended watching or given up a knob. The program goes on with the "+
			"last settings.")
	polls    = counter("polls", "{poll}", "Polls of limits and memory.")
	interval = gauge("poll.interval", "s", "From the latest poll of limits and memory to the next.")
	changes  = counter("changes", "{change}", "How often a knob was set again after the start.")
	givenUp  = state("knob.given_up",
		"1 if snug has given the knob up because another part of the program changed it, else 0.", "knob")
)

// Memory.
var (
	memoryLimit = sum("memory.limit", "By", "Above this the kernel kills or throttles. Absent where there is no limit.")
	memoryUsed  = sum("memory.unreclaimable", "By", "Unreclaimable memory charged to the limited group.")
	memoryNonGo = sum("memory.nongo", "By",
		"snug.memory.unreclaimable less go.memory.used, at least 0: other processes of the container, C, tmpfs.")
	memoryPeak = gauge("memory.nongo_peak", "By",
		"Recent peak of snug.memory.nongo; it decays within minutes. Only with SNUG_ADAPT=memory.")
	pressure = state("pressure.level",
		"1 for how hard the memory limit presses on the garbage collector (calm; tight: effective GOGC below 20; spiral: "+
			"below 10), 0 for the other levels.", "level")
)

// The garbage collector.
var (
	effectiveGOGC = gauge("gc.effective_gogc", "%",
		"How much the heap may grow between collections: GOGC, or less where GOMEMLIMIT decides. Below 10 the collector is "+
			"about to take over. Absent before the first collection.")
	gcShare  = gauge("gc.cpu", "1", "Recent share of the process's CPU time used by garbage collection, 0 to 1.")
	gcCycles = counter("gc.cycles", "{gc_cycle}", "Garbage collections since the process started.")
)

// CPU.
var (
	cores = sum("cpu.limit.cores", "{cpu}",
		"CPU time that the process can use on average, in cores: the smaller of quota and affinity.")
	window     = gauge("cpu.window", "s", "Time over which the CPU averages were taken.")
	used       = sum("cpu.used.cores", "{cpu}", "Cores that the process used, on average over the window.")
	throttled  = gauge("cpu.throttled", "1", "Share of the window's quota periods that were throttled, 0 to 1.")
	goWait     = sum("go.wait.goroutines", "{goroutine}", "Goroutines that waited for a P, on average over the window.")
	kernelWait = sum("kernel.wait.threads", "{thread}",
		"Threads that waited for a CPU while runnable, throttling included, on average over the window.")
	perWakeup = gauge("wakeup.wait", "s",
		"How long a goroutine waited to run per wakeup, for a P and for a CPU, on average over the window.")
	verdict = state("verdict",
		"1 for why the process waits (too-few-procs: Ps are held in system calls while the quota is unused; quota-spent: "+
			"no GOMAXPROCS helps; host-busy: threads wait for CPUs that other processes use), 0 for the other verdicts.",
		"verdict")
	raised = state("gomaxprocs.raised", "1 while GOMAXPROCS is raised because with it the program uses more CPU time.")
)

// The plan.
var (
	planInfo = state("plan.info", "The decision about a knob: the reason's code and what was done.", "knob", "code",
		"action")
	warning = state("warning.info", "A current warning; snug explain CODE says what it means.", "code")
)
