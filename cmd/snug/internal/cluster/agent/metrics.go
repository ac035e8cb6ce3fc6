// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"maps"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/profile/promtext"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// The labels of what belongs to a container. Its names where they are known; only where
// they are not, its pod's UID and its own id, which are new whenever it starts again. What
// is not known is empty, which to Prometheus is a label that is not there. Nothing of a
// command line or an environment is ever a label.
var containerLabels = []string{"namespace", "pod", "container", "pod_uid", "container_id"}

// metric is one family.
type metric struct {
	name, help string
	kind       promtext.Type
	own        []string // names of the labels that are its own, not the container's
}

// families are all metrics there are, in the order of the page. It is complete once the
// package is initialised.
var families []*metric

func define(name, help string, kind promtext.Type, own ...string) *metric {
	m := &metric{name, help, kind, own}
	families = append(families, m)
	return m
}

func ofContainer(name, help string, kind promtext.Type, own ...string) *metric {
	return define("snug_go_container_"+name, help, kind, own...)
}

const (
	gauge   = promtext.Gauge
	counter = promtext.Counter
)

// Containers with Go processes. What is of one process is of the one that started first:
// the program itself, whatever is run beside it now and then.
var (
	info      = ofContainer("info", "What the container's first Go process is: its Go, the module's go line, whether Go follows the CPU quota by itself, who set the knobs, and the workload that the pod belongs to, to join others with.", gauge, "go_version", "go_line", "container_aware", "gomaxprocs_by", "gomemlimit_by", "workload")
	processes = ofContainer("processes", "Go processes in the container.", gauge)
	started   = ofContainer("start_time_seconds", "When the first Go process started, in seconds since 1970.", gauge)
	resized   = ofContainer("resized_timestamp_seconds", "When the CPU quota or the memory limit last changed while the first Go process ran, in seconds since 1970. Absent where it did not, as far as the agent has seen.", gauge, "resource")

	gomaxprocs = ofContainer("gomaxprocs", "GOMAXPROCS in force, in Ps.", gauge)
	gomemlimit = ofContainer("gomemlimit_bytes", "GOMEMLIMIT in force, in bytes. +Inf is off.", gauge)
	gogc       = ofContainer("gogc_percent", "GOGC in force, in percent. +Inf is off.", gauge)
	heapLive   = ofContainer("heap_live_bytes", "Bytes that the last garbage collection found in use.", gauge)
	heapGoal   = ofContainer("heap_goal_bytes", "Bytes at which the next garbage collection is to end. Absent where there is no goal.", gauge)
	resident   = ofContainer("resident_memory_bytes", "Resident memory of the first Go process.", gauge)
	cpuSeconds = ofContainer("cpu_seconds_total", "CPU time that the first Go process has used.", counter)
	gcCycles   = ofContainer("gc_cycles_total", "Garbage collections that were completed.", counter)
	gcCPU      = ofContainer("gc_cpu_seconds_total", "CPU time of garbage collections as Go counts it, without marking by idle Ps. Too much where CPU is short: compare it with itself, or take snug_go_container_gc_cpu_ratio.", counter)
	gcPause    = ofContainer("gc_pause_seconds_total", "Time that all goroutines were stopped by garbage collections.", counter)
	gcShare    = ofContainer("gc_cpu_ratio", "Share of the CPU time that garbage collection took in the last minute, 0 to 1. Absent where none ended.", gauge)
	affinity   = ofContainer("affinity_cpus", "CPUs that the first Go process may run on.", gauge)

	quota            = ofContainer("cpu_quota_cores", "CPU quota, in cores: the tightest of all levels. Absent where there is none.", gauge)
	request          = ofContainer("cpu_request_cores", "CPU request, in cores, as the weight of the group tells. Absent where it may stand for several.", gauge)
	periods          = ofContainer("cpu_periods_total", "Periods of the quota in which the container wanted to run. Absent where there is no quota.", counter)
	throttledPeriods = ofContainer("cpu_throttled_periods_total", "Periods in which it ran into the quota. Absent where there is no quota.", counter)
	throttledSeconds = ofContainer("cpu_throttled_seconds_total", "Time that it was kept from running by the quota, summed over CPUs. Absent where there is no quota.", counter)
	throttled        = ofContainer("cpu_throttled_ratio", "Share of the periods between the last two scans in which it ran into the quota, 0 to 1. Absent where there is no quota, or it did not run.", gauge)
	memoryLimit      = ofContainer("memory_limit_bytes", "Memory limit. Absent where there is none.", gauge)
	memoryUsed       = ofContainer("memory_usage_bytes", "Memory that the container is charged with, page cache included.", gauge)
	memoryHeld       = ofContainer("memory_unreclaimable_bytes", "Memory of the group that has the limit that the kernel cannot take back.", gauge)
	oomKills         = ofContainer("oom_kills_total", "Processes of the container that were killed for want of memory.", counter)

	found = ofContainer("finding", "1 for each thing that is wrong; snug explain ID says what it means.", gauge, "id", "severity")
)

// The agent itself.
var (
	scanSeconds = define("snug_agent_scan_duration_seconds", "How long the last scan took. It rests on purpose.", gauge)
	scanCPU     = define("snug_agent_scan_cpu_seconds", "CPU time that the agent used during the last scan.", gauge)
	scansTotal  = define("snug_agent_scans_total", "Scans that were completed.", counter)
	scanEvery   = define("snug_agent_scan_interval_seconds", "Time from the beginning of one scan to that of the next.", gauge)
	scanEnded   = define("snug_agent_last_scan_timestamp_seconds", "When the last scan ended, in seconds since 1970.", gauge)
	allSeen     = define("snug_agent_processes", "Processes of the node at the last scan.", gauge)
	goSeen      = define("snug_agent_go_processes", "Go processes at the last scan, in containers or the node's own.", gauge, "place")
	programs    = define("snug_agent_programs", "Distinct executables that are known.", gauge)
	skipped     = define("snug_agent_processes_skipped", "Processes that were passed over at the last scan, by reason.", gauge, "reason")
	memoryRead  = define("snug_agent_memory_read", "1 if the memory of processes is read, 0 with --no-mem.", gauge)
)

// metrics are what the last scan found: a scrape looks at no process.
func (a *Agent) metrics() string {
	s := scrape{}
	a.sample(s)
	var page promtext.Page
	for _, m := range families {
		if len(s[m]) == 0 {
			continue // of nothing there is
		}
		page.Family(m.name, m.help, m.kind)
		for _, one := range s[m] {
			page.Sample(one.value, one.labels...)
		}
	}
	page.Self()
	return page.String()
}

// sample collects all series.
func (a *Agent) sample(s scrape) {
	a.mu.Lock()
	d, ended, scans := a.last, a.ended, a.scans
	a.mu.Unlock()
	s.number(scansTotal, float64(scans))
	s.number(memoryRead, flag(!a.opts.Outside))
	if d == nil {
		return
	}
	s.number(scanSeconds, d.Scan.Seconds)
	s.number(scanCPU, d.Scan.CPU)
	s.number(scanEvery, a.opts.Interval.Seconds())
	s.number(scanEnded, float64(ended.UnixMilli())/1e3)
	s.number(allSeen, float64(d.Scan.Processes))
	s.number(programs, float64(d.Scan.Programs))
	counts := map[string]int{}
	for _, l := range d.Skipped {
		counts[l.Reason] = l.Count
	}
	for _, reason := range reasons {
		s.number(skipped, float64(counts[reason]), reason)
	}
	inContainers, own := 0, 0
	series := map[[5]string]*finding.Container{}
	for i := range d.Containers {
		c := &d.Containers[i]
		if c.Unit != nil {
			own += len(c.Processes)
			continue
		}
		inContainers += len(c.Processes)
		// A container that starts again may be there twice for a moment, with the same names.
		if other := series[labelsOf(c)]; other == nil || later(c, other) {
			series[labelsOf(c)] = c
		}
	}
	s.number(goSeen, float64(inContainers), "container")
	s.number(goSeen, float64(own), "node")
	for _, values := range slices.SortedFunc(maps.Keys(series), func(x, y [5]string) int { return slices.Compare(x[:], y[:]) }) {
		s.container(series[values], pairs(containerLabels, values[:]))
	}
}

// labelsOf are the values of containerLabels.
func labelsOf(c *finding.Container) [5]string {
	if c.Namespace != nil && c.Pod != nil && c.Name != nil {
		return [5]string{*c.Namespace, *c.Pod, *c.Name}
	}
	return [5]string{word(c.Namespace), word(c.Pod), word(c.Name), word(c.PodUID), word(c.ID)}
}

// later reports whether a container's first process started after another's.
func later(c, other *finding.Container) bool {
	x, y := c.Processes[0].Started, other.Processes[0].Started
	return x != nil && (y == nil || *x > *y) // RFC 3339 of one zone
}
