// SPDX-License-Identifier: Apache-2.0

package snugprom

import "github.com/prometheus/client_golang/prometheus"

// metric is one family of the scrape.
type metric struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}

// all are the metrics that Describe speaks of. It is complete once the package is
// initialised.
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
	failed   = gauge("failed", "1 if a panic inside snug, or in a callback, has ended watching or given up a knob. The program goes on with the last settings.")
	polls    = counter("polls_total", "How often limits and memory were looked at.")
	interval = gauge("poll_interval_seconds", "Seconds from the latest look at limits and memory to the next.")
	changes  = counter("changes_total", "How often a knob was set again after the start.")
	givenUp  = gauge("knob_given_up", "1 if snug has given the knob up because another part of the program changed it, else 0.", "knob")
)

// Memory.
var (
	memoryLimit = gauge("memory_limit_bytes", "Bytes above which the kernel kills or throttles. Absent where there is no limit.")
	memoryUsed  = gauge("memory_unreclaimable_bytes", "Bytes that the limited group is charged with and that cannot be reclaimed.")
	memoryGo    = gauge("memory_go_bytes", "Bytes that the Go runtime holds, pages that were never touched included: it may exceed snug_memory_unreclaimable_bytes.")
	memoryNonGo = gauge("memory_nongo_bytes", "snug_memory_unreclaimable_bytes less snug_memory_go_bytes, at least 0: other processes of the container, C, tmpfs.")
	memoryPeak  = gauge("memory_nongo_peak_bytes", "What snug_memory_nongo_bytes has reached lately; it decays within minutes. Only with SNUG_ADAPT=memory.")
	gomemlimit  = gauge("gomemlimit_bytes", "GOMEMLIMIT in force, in bytes. +Inf is off.")
	pressure    = gauge("pressure_level", "1 for how hard the memory limit presses on the garbage collector (calm; tight: effective GOGC below 20; spiral: below 10), 0 for the other levels.", "level")
)

// The garbage collector.
var (
	gogc          = gauge("gogc_percent", "GOGC in force, in percent. +Inf is off.")
	effectiveGOGC = gauge("gc_effective_gogc_percent", "Percent that the heap may grow between collections: GOGC, or less where GOMEMLIMIT decides. Below 10 the collector is about to take over. Absent before the first collection.")
	gcShare       = gauge("gc_cpu_ratio", "Share of the process's CPU time that garbage collection took lately, 0 to 1.")
	gcCycles      = counter("gc_cycles_total", "Garbage collections since the process started.")
)

// CPU.
var (
	gomaxprocs = gauge("gomaxprocs", "GOMAXPROCS in force, in Ps.")
	cores      = gauge("cpu_limit_cores", "CPUs' worth of time that the process can use on average, in cores: the smaller of quota and affinity.")
	window     = gauge("cpu_window_seconds", "Seconds over which the CPU averages were taken.")
	used       = gauge("cpu_used_cores", "Cores that the process used, on average over the window.")
	throttled  = gauge("cpu_throttled_ratio", "Share of the window's quota periods that were throttled, 0 to 1.")
	goWait     = gauge("go_wait_goroutines", "Goroutines that waited for a P, on average over the window.")
	kernelWait = gauge("kernel_wait_threads", "Threads that waited for a CPU while runnable, throttling included, on average over the window.")
	perWakeup  = gauge("wakeup_wait_seconds", "Seconds that a goroutine waited to run each time it was woken, for a P and for a CPU, on average over the window.")
	verdict    = gauge("verdict", "1 for what the waiting is due to (too-few-procs: Ps are held in system calls while the quota is unused; quota-spent: no GOMAXPROCS helps; host-busy: threads wait for CPUs that other processes have), 0 for the other verdicts.", "verdict")
	raised     = gauge("gomaxprocs_raised", "1 while GOMAXPROCS is raised because the program uses more CPU time so.")
)

// The plan.
var (
	planInfo = gauge("plan_info", "What was decided about a knob: the reason's code and what was done.", "knob", "code", "action")
	warning  = gauge("warning_info", "A warning that holds; snug explain CODE says what it means.", "code")
)
