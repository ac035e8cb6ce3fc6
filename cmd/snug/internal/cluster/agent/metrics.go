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
var containerLabels = [...]string{"namespace", "pod", "container", "pod_uid", "container_id"}

// metric is one family of the page: its index in the registry.
type metric int

// The metrics, in the order of the page.
const (
	// Containers with Go processes. What is of one process is of the one that started first:
	// the program itself, whatever is run beside it now and then.
	info metric = iota
	processes
	started
	resized

	gomaxprocs
	gomemlimit
	gogc
	heapLive
	heapGoal
	resident
	cpuSeconds
	gcCycles
	gcCPU
	gcPause
	gcShare
	affinity

	quota
	request
	periods
	throttledPeriods
	throttledSeconds
	throttled
	memoryLimit
	memoryUsed
	memoryHeld
	oomKills

	found

	// The agent itself.
	scanSeconds
	scanCPU
	scansTotal
	scanEvery
	scanEnded
	allSeen
	goSeen
	programs
	skipped
	memoryRead

	metricCount // how many there are
)

// family is what the page says of a metric.
type family struct {
	name   string
	kind   promtext.Type
	help   string
	labels []string // its own, beside those of the container
}

// registry is the table of all metrics; a new one is a constant above and a row here.
type registry [metricCount]family

func newRegistry() *registry {
	const (
		gauge   = promtext.Gauge
		counter = promtext.Counter
	)
	return &registry{
		info:      {"snug_go_container_info", gauge, "What the container's first Go process is: its Go, the module's go line, whether Go follows the CPU quota by itself, who set the knobs, and the workload that the pod belongs to, to join others with.", []string{"go_version", "go_line", "container_aware", "gomaxprocs_by", "gomemlimit_by", "workload"}},
		processes: {"snug_go_container_processes", gauge, "Go processes in the container.", nil},
		started:   {"snug_go_container_start_time_seconds", gauge, "When the first Go process started, in seconds since 1970.", nil},
		resized:   {"snug_go_container_resized_timestamp_seconds", gauge, "When the CPU quota or the memory limit last changed while the first Go process ran, in seconds since 1970. Absent where it did not, as far as the agent has seen.", []string{"resource"}},

		gomaxprocs: {"snug_go_container_gomaxprocs", gauge, "GOMAXPROCS in force, in Ps.", nil},
		gomemlimit: {"snug_go_container_gomemlimit_bytes", gauge, "GOMEMLIMIT in force, in bytes. +Inf is off.", nil},
		gogc:       {"snug_go_container_gogc_percent", gauge, "GOGC in force, in percent. +Inf is off.", nil},
		heapLive:   {"snug_go_container_heap_live_bytes", gauge, "Bytes that the last garbage collection found in use.", nil},
		heapGoal:   {"snug_go_container_heap_goal_bytes", gauge, "Bytes at which the next garbage collection is to end. Absent where there is no goal.", nil},
		resident:   {"snug_go_container_resident_memory_bytes", gauge, "Resident memory of the first Go process.", nil},
		cpuSeconds: {"snug_go_container_cpu_seconds_total", counter, "CPU time that the first Go process has used.", nil},
		gcCycles:   {"snug_go_container_gc_cycles_total", counter, "Garbage collections that were completed.", nil},
		gcCPU:      {"snug_go_container_gc_cpu_seconds_total", counter, "CPU time of garbage collections as Go counts it, without marking by idle Ps. Too much where CPU is short: compare it with itself, or take snug_go_container_gc_cpu_ratio.", nil},
		gcPause:    {"snug_go_container_gc_pause_seconds_total", counter, "Time that all goroutines were stopped by garbage collections.", nil},
		gcShare:    {"snug_go_container_gc_cpu_ratio", gauge, "Share of the CPU time that garbage collection took in the last minute, 0 to 1. Absent where none ended.", nil},
		affinity:   {"snug_go_container_affinity_cpus", gauge, "CPUs that the first Go process may run on.", nil},

		quota:            {"snug_go_container_cpu_quota_cores", gauge, "CPU quota, in cores: the tightest of all levels. Absent where there is none.", nil},
		request:          {"snug_go_container_cpu_request_cores", gauge, "CPU request, in cores, as the weight of the group tells. Absent where it may stand for several.", nil},
		periods:          {"snug_go_container_cpu_periods_total", counter, "Periods of the quota in which the container wanted to run. Absent where there is no quota.", nil},
		throttledPeriods: {"snug_go_container_cpu_throttled_periods_total", counter, "Periods in which it ran into the quota. Absent where there is no quota.", nil},
		throttledSeconds: {"snug_go_container_cpu_throttled_seconds_total", counter, "Time that it was kept from running by the quota, summed over CPUs. Absent where there is no quota.", nil},
		throttled:        {"snug_go_container_cpu_throttled_ratio", gauge, "Share of the periods between the last two scans in which it ran into the quota, 0 to 1. Absent where there is no quota, or it did not run.", nil},
		memoryLimit:      {"snug_go_container_memory_limit_bytes", gauge, "Memory limit. Absent where there is none.", nil},
		memoryUsed:       {"snug_go_container_memory_usage_bytes", gauge, "Memory that the container is charged with, page cache included.", nil},
		memoryHeld:       {"snug_go_container_memory_unreclaimable_bytes", gauge, "Memory of the group that has the limit that the kernel cannot take back.", nil},
		oomKills:         {"snug_go_container_oom_kills_total", counter, "Processes of the container that were killed for want of memory.", nil},

		found: {"snug_go_container_finding", gauge, "1 for each thing that is wrong; snug explain ID says what it means.", []string{"id", "severity"}},

		scanSeconds: {"snug_agent_scan_duration_seconds", gauge, "How long the last scan took. It rests on purpose.", nil},
		scanCPU:     {"snug_agent_scan_cpu_seconds", gauge, "CPU time that the agent used during the last scan.", nil},
		scansTotal:  {"snug_agent_scans_total", counter, "Scans that were completed.", nil},
		scanEvery:   {"snug_agent_scan_interval_seconds", gauge, "Time from the beginning of one scan to that of the next.", nil},
		scanEnded:   {"snug_agent_last_scan_timestamp_seconds", gauge, "When the last scan ended, in seconds since 1970.", nil},
		allSeen:     {"snug_agent_processes", gauge, "Processes of the node at the last scan.", nil},
		goSeen:      {"snug_agent_go_processes", gauge, "Go processes at the last scan, in containers or the node's own.", []string{"place"}},
		programs:    {"snug_agent_programs", gauge, "Distinct executables that are known.", nil},
		skipped:     {"snug_agent_processes_skipped", gauge, "Processes that were passed over at the last scan, by reason.", []string{"reason"}},
		memoryRead:  {"snug_agent_memory_read", gauge, "1 if the memory of processes is read, 0 with --no-mem.", nil},
	}
}

// metrics are what the last scan found: a scrape looks at no process.
func (a *Agent) metrics() string {
	s := newScrape()
	a.sample(s)
	var page promtext.Page
	for m, f := range s.families {
		if len(s.series[m]) == 0 {
			continue // of nothing there is
		}
		page.Family(f.name, f.help, f.kind)
		for _, one := range s.series[m] {
			page.Sample(one.value, one.labels...)
		}
	}
	page.Self()
	return page.String()
}

// sample collects all series.
func (a *Agent) sample(s *scrape) {
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
		s.container(series[values], pairs(containerLabels[:], values[:]))
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
