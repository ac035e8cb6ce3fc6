// SPDX-License-Identifier: Apache-2.0

package serve

import "github.com/snug-go/snug/cmd/snug/internal/profile/promtext"

// containerLabels are the labels of a container's series: its names, or if these are unknown
// its pod's UID and the beginning of its own id, which changes at each restart. Unknown labels are empty, which
// to Prometheus means absent. No part of a command line or an environment is ever a label.
var containerLabels = [...]string{"namespace", "pod", "container", "pod_uid", "container_id"}

// workloadLabels are the labels of a workload's series; statLabels has which of its figures it is: mean, p95, most,
// least, sum or count.
var (
	workloadLabels = []string{"namespace", "workload", "container"}
	infoLabels     = []string{"namespace", "workload", "container", "go", "gogc", "gomaxprocs"}
	statLabels     = []string{"namespace", "workload", "container", "stat"}
)

// metric is one family of the page: its index in the registry.
type metric int

// The metrics, in the order of the page.
const (
	// Containers with Go processes. Figures of one process are of the first one that started,
	// which is the container's program.
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
	goroutines
	latency
	stops
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
	unsupported

	// Workloads: what sizing needs. From needLive on they have the order of needs.Names.
	needInfo
	needSeen
	needLive
	needRest
	needOther
	needUsed
	needAllocated
	needCPU
	needGC
	needCycles
	needGoal
	needThrottled
	needLimit
	needRequest

	// The same figures by the names of OpenTelemetry's semantic conventions, if they are asked for.
	otelProcs
	otelMemLimit
	otelGOGC
	otelGoal
	otelCycles
	otelGoroutines
	otelLatency

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
	maxOpen
	maxKnown
	droppedAll

	metricCount
)

// family describes a metric.
type family struct {
	name   string
	kind   promtext.Type
	help   string
	labels []string // in addition to those of the container
}

// registry is the table of all metrics. To add one, add a constant above and a row here.
type registry [metricCount]family

func newRegistry() *registry {
	const (
		gauge   = promtext.Gauge
		counter = promtext.Counter
		spread  = promtext.Histogram
	)
	return &registry{
		info:      {"snug_go_container_info", gauge, "The container's first Go process: its Go version, the module's go line, whether Go follows the CPU quota by itself, who set the knobs, and the pod's workload. Join it with other metrics.", []string{"go_version", "go_line", "container_aware", "gomaxprocs_by", "gomemlimit_by", "workload"}},
		processes: {"snug_go_container_processes", gauge, "Go processes in the container.", nil},
		started:   {"snug_go_container_start_time_seconds", gauge, "When the first Go process started, in seconds since 1970.", nil},
		resized:   {"snug_go_container_resized_timestamp_seconds", gauge, "When the CPU quota or the memory limit last changed while the first Go process ran, in seconds since 1970. Absent if the agent has seen no change.", []string{"resource"}},

		gomaxprocs: {"snug_go_container_gomaxprocs", gauge, "GOMAXPROCS in force, in Ps.", nil},
		gomemlimit: {"snug_go_container_gomemlimit_bytes", gauge, "GOMEMLIMIT in force, in bytes. +Inf is off.", nil},
		gogc:       {"snug_go_container_gogc_percent", gauge, "GOGC in force, in percent. +Inf is off.", nil},
		heapLive:   {"snug_go_container_heap_live_bytes", gauge, "Live heap as of the last garbage collection, in bytes.", nil},
		heapGoal:   {"snug_go_container_heap_goal_bytes", gauge, "Heap goal of the next garbage collection, in bytes. Absent if there is no goal.", nil},
		resident:   {"snug_go_container_resident_memory_bytes", gauge, "Resident memory of the first Go process.", nil},
		cpuSeconds: {"snug_go_container_cpu_seconds_total", counter, "CPU time of the first Go process.", nil},
		gcCycles:   {"snug_go_container_gc_cycles_total", counter, "Completed garbage collections.", nil},
		gcCPU:      {"snug_go_container_gc_cpu_seconds_total", counter, "CPU time of garbage collections as Go counts it, without marking by idle Ps. Too high if CPU is short: compare it only with itself, or use snug_go_container_gc_cpu_ratio.", nil},
		gcPause:    {"snug_go_container_gc_pause_seconds_total", counter, "Time for which garbage collections stopped all goroutines.", nil},
		gcShare:    {"snug_go_container_gc_cpu_ratio", gauge, "Share of the CPU time that garbage collection took in the last minute, or between the last two scans if they are rarer, 0 to 1. Absent if no collection ended.", nil},
		goroutines: {"snug_go_container_goroutines", gauge, "Goroutines of the first Go process, without the runtime's own.", nil},
		latency:    {"snug_go_container_sched_latency_seconds", spread, "How long goroutines were runnable before they ran. Go measures one time in eight, and keeps no sum. Absent if the container's names are unknown.", nil},
		stops:      {"snug_go_container_gc_stop_seconds", spread, "How long each stop of all goroutines for a garbage collection took; a collection has two. Go keeps no sum. Absent if the container's names are unknown.", nil},
		affinity:   {"snug_go_container_affinity_cpus", gauge, "CPUs that the first Go process may run on.", nil},

		quota:            {"snug_go_container_cpu_quota_cores", gauge, "CPU quota, in cores: the lowest of all levels. Absent if there is none.", nil},
		request:          {"snug_go_container_cpu_request_cores", gauge, "CPU request, in cores, derived from the weight of the cgroup. Absent if the weight fits several requests.", nil},
		periods:          {"snug_go_container_cpu_periods_total", counter, "Periods of the quota in which the container was runnable. Absent if there is no quota.", nil},
		throttledPeriods: {"snug_go_container_cpu_throttled_periods_total", counter, "Periods in which the container was throttled. Absent if there is no quota.", nil},
		throttledSeconds: {"snug_go_container_cpu_throttled_seconds_total", counter, "Time for which the quota kept the container from running, summed over CPUs. Absent if there is no quota.", nil},
		throttled:        {"snug_go_container_cpu_throttled_ratio", gauge, "Share of the periods between the last two scans in which the container was throttled, 0 to 1. Absent if there is no quota, or the container did not run.", nil},
		memoryLimit:      {"snug_go_container_memory_limit_bytes", gauge, "Memory limit. Absent if there is none.", nil},
		memoryUsed:       {"snug_go_container_memory_usage_bytes", gauge, "Memory charged to the container, including page cache.", nil},
		memoryHeld:       {"snug_go_container_memory_unreclaimable_bytes", gauge, "Memory that the kernel cannot reclaim, in the cgroup that has the limit.", nil},
		oomKills:         {"snug_go_container_oom_kills_total", counter, "Processes of the container that were OOM-killed.", nil},

		found: {"snug_go_container_finding", gauge, "1 for each finding; snug explain ID says what it means.", []string{"id", "severity"}},

		unsupported: {"snug_go_container_unsupported_processes", gauge, "Processes of the container with Go that the agent does not read: in a library, or built by gccgo.", nil},

		needInfo:      {"snug_go_workload_info", gauge, "Containers of the workload on this node. This and the next are what snug size --prometheus decides by; their weights halve every day.", infoLabels},
		needSeen:      {"snug_go_workload_seen_seconds", gauge, "For how long the agent has seen the workload, on this node.", workloadLabels},
		needLimit:     {"snug_go_workload_memory_limit_bytes", gauge, "Memory limit of those of its containers that have one.", statLabels},
		needRequest:   {"snug_go_workload_cpu_request_cores", gauge, "CPU request of those of its containers for which it is known.", statLabels},
		needLive:      {"snug_go_workload_heap_live_bytes", gauge, "Live heap of a container.", statLabels},
		needRest:      {"snug_go_workload_go_rest_bytes", gauge, "Memory of a container that Go holds beside objects.", statLabels},
		needOther:     {"snug_go_workload_other_bytes", gauge, "Memory in use of a container that is not Go's, resident pages of its code with it.", statLabels},
		needUsed:      {"snug_go_workload_used_bytes", gauge, "Memory in use of a container that cannot be reclaimed, and resident pages of its code.", statLabels},
		needAllocated: {"snug_go_workload_allocated_bytes_per_second", gauge, "Allocation rate of a container.", statLabels},
		needCPU:       {"snug_go_workload_cpu_cores", gauge, "CPU use of a container's Go processes.", statLabels},
		needGC:        {"snug_go_workload_gc_cpu_cores", gauge, "CPU use of a container's garbage collections.", statLabels},
		needCycles:    {"snug_go_workload_gc_cycles_per_second", gauge, "Garbage collections of a container.", statLabels},
		needGoal:      {"snug_go_workload_heap_goal_bytes", gauge, "Heap goal of a container.", statLabels},
		needThrottled: {"snug_go_workload_throttled_ratio", gauge, "Share of the periods in which a container was throttled, 0 to 1.", statLabels},

		otelProcs:      {"go_processor_limit", gauge, "go.processor.limit: GOMAXPROCS in force, in Ps.", nil},
		otelMemLimit:   {"go_memory_limit_bytes", gauge, "go.memory.limit: GOMEMLIMIT in force. Absent if it is off.", nil},
		otelGOGC:       {"go_config_gogc_percent", gauge, "go.config.gogc: GOGC in force. Absent if it is off.", nil},
		otelGoal:       {"go_memory_gc_goal_bytes", gauge, "go.memory.gc.goal: heap goal of the next garbage collection. Absent if there is no goal.", nil},
		otelCycles:     {"go_memory_gc_cycles_total", counter, "go.memory.gc.cycles: completed garbage collections.", nil},
		otelGoroutines: {"go_goroutine_count", gauge, "go.goroutine.count: goroutines of the first Go process, without the runtime's own.", nil},
		otelLatency:    {"go_schedule_duration_seconds", spread, "go.schedule.duration: how long goroutines were runnable before they ran. Go measures one time in eight, and keeps no sum. Absent if the container's names are unknown.", nil},

		scanSeconds: {"snug_agent_scan_duration_seconds", gauge, "Duration of the last scan, pauses included.", nil},
		scanCPU:     {"snug_agent_scan_cpu_seconds", gauge, "CPU time of the agent during the last scan.", nil},
		scansTotal:  {"snug_agent_scans_total", counter, "Completed scans.", nil},
		scanEvery:   {"snug_agent_scan_interval_seconds", gauge, "Time from the beginning of one scan to that of the next.", nil},
		scanEnded:   {"snug_agent_last_scan_timestamp_seconds", gauge, "When the last scan ended, in seconds since 1970.", nil},
		allSeen:     {"snug_agent_processes", gauge, "Processes of the node at the last scan.", nil},
		goSeen:      {"snug_agent_go_processes", gauge, "Go processes at the last scan, by place: in a container, or directly on the node.", []string{"place"}},
		programs:    {"snug_agent_programs", gauge, "Distinct known executables.", nil},
		skipped:     {"snug_agent_processes_skipped", gauge, "Processes that the last scan skipped, by reason.", []string{"reason"}},
		memoryRead:  {"snug_agent_memory_read", gauge, "1 if the agent reads the memory of processes, 0 with --no-mem.", nil},
		maxOpen:     {"snug_agent_max_open_files", gauge, "Most files the agent keeps open, derived from its memory limit.", nil},
		maxKnown:    {"snug_agent_max_processes", gauge, "Most Go processes that fit the agent's memory limit. Absent if it has none.", nil},
		droppedAll:  {"snug_agent_detail_dropped_total", counter, "Go processes dropped since they no longer fit.", nil},
	}
}
