// SPDX-License-Identifier: Apache-2.0

package snugprom

import "github.com/prometheus/client_golang/prometheus"

// metric is one family of the scrape.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// all lists the metrics for Describe. It is complete once the package is initialised.
var all []*metric

func gauge(name, help string, labels ...string) *metric {
	return define(name, help, prometheus.GaugeValue, labels)
}

func counter(name, help string) *metric {
	return define(name, help, prometheus.CounterValue, nil)
}

func define(name, help string, kind prometheus.ValueType, labels []string) *metric {
	m := &metric{prometheus.NewDesc("snug_"+name, help, labels, nil), kind}
	all = append(all, m)
	return m
}

// The Watcher.
var (
	watching = gauge("watching", "1 while limits are followed, 0 once watching has ended or where it never began.")
	failed   = gauge("failed",
		"1 if a panic inside snug, or in a callback, has ended watching or given up a knob. The program goes on with the "+
			"last settings.")
	polls    = counter("polls_total", "Polls of limits and memory.")
	interval = gauge("poll_interval_seconds", "Seconds from the latest poll of limits and memory to the next.")
	changes  = counter("changes_total", "How often a knob was set again after the start.")
	givenUp  = gauge("knob_given_up",
		"1 if snug has given the knob up because another part of the program changed it, else 0.", "knob")
)

// Memory.
var (
	memoryLimit = gauge("memory_limit_bytes",
		"Bytes above which the kernel kills or throttles. Absent where there is no limit.")
	memoryUsed = gauge("memory_unreclaimable_bytes", "Unreclaimable bytes charged to the limited group.")
	memoryGo   = gauge("memory_go_bytes",
		"Bytes held by the Go runtime, including pages never touched: may exceed snug_memory_unreclaimable_bytes.")
	memoryNonGo = gauge("memory_nongo_bytes",
		"snug_memory_unreclaimable_bytes less snug_memory_go_bytes, at least 0: other processes of the container, C, tmpfs.")
	memoryPeak = gauge("memory_nongo_peak_bytes",
		"Recent peak of snug_memory_nongo_bytes; it decays within minutes. Only with SNUG_ADAPT=memory.")
	gomemlimit = gauge("gomemlimit_bytes", "GOMEMLIMIT in force, in bytes. +Inf is off.")
	pressure   = gauge("pressure_level",
		"1 for how hard the memory limit presses on the garbage collector (calm; tight: effective GOGC below 20; spiral: "+
			"below 10), 0 for the other levels.", "level")
)

// The garbage collector.
var (
	gogc          = gauge("gogc_percent", "GOGC in force, in percent. +Inf is off.")
	effectiveGOGC = gauge("gc_effective_gogc_percent",
		"Percent that the heap may grow between collections: GOGC, or less where GOMEMLIMIT decides. Below 10 the "+
			"collector is about to take over. Absent before the first collection.")
	gcShare  = gauge("gc_cpu_ratio", "Recent share of the process's CPU time used by garbage collection, 0 to 1.")
	gcCycles = counter("gc_cycles_total", "Garbage collections since the process started.")
)

// CPU.
var (
	gomaxprocs = gauge("gomaxprocs", "GOMAXPROCS in force, in Ps.")
	cores      = gauge("cpu_limit_cores",
		"CPU time that the process can use on average, in cores: the smaller of quota and affinity.")
	window     = gauge("cpu_window_seconds", "Seconds over which the CPU averages were taken.")
	used       = gauge("cpu_used_cores", "Cores that the process used, on average over the window.")
	throttled  = gauge("cpu_throttled_ratio", "Share of the window's quota periods that were throttled, 0 to 1.")
	goWait     = gauge("go_wait_goroutines", "Goroutines that waited for a P, on average over the window.")
	kernelWait = gauge("kernel_wait_threads",
		"Threads that waited for a CPU while runnable, throttling included, on average over the window.")
	perWakeup = gauge("wakeup_wait_seconds",
		"Seconds that a goroutine waited to run per wakeup, for a P and for a CPU, on average over the window.")
	verdict = gauge("verdict",
		"1 for why the process waits (too-few-procs: Ps are held in system calls while the quota is unused; quota-spent: "+
			"no GOMAXPROCS helps; host-busy: threads wait for CPUs that other processes use), 0 for the other verdicts.",
		"verdict")
	raised = gauge("gomaxprocs_raised", "1 while GOMAXPROCS is raised because with it the program uses more CPU time.")
)

// The plan.
var (
	planInfo = gauge("plan_info", "The decision about a knob: the reason's code and what was done.", "knob", "code",
		"action")
	warning = gauge("warning_info", "A current warning; snug explain CODE says what it means.", "code")
)
