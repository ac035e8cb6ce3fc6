// SPDX-License-Identifier: Apache-2.0

package finding

import "github.com/snug-go/snug/cmd/snug/internal/figure"

// Node is the result of the last scan of `snug cluster agent`: the Go processes of a node by
// container, with their findings.
type Node struct {
	Head
	At         string      `json:"at"`               // end of the scan, RFC 3339
	Node       *string     `json:"node"`             // node name; null = not configured
	Seconds    *float64    `json:"interval_seconds"` // since the previous scan; null = this is the first
	Memory     bool        `json:"memory_read"`      // false: the memory of processes was not read
	Lost       []string    `json:"lost"`             // what is unknown without the memory of processes, one sentence each
	Scan       Scan        `json:"scan"`
	Containers []Container `json:"containers"` // containers with Go processes
	// Others are containers of named pods in which every process was inspected and no Go
	// process was seen for a minute, and that are in no row of unsupported. Only filled in with --names, and
	// there may be more.
	Others []OtherContainer `json:"other_containers"`
	// Who held the memory of containers near their memory limit, as last read, also of containers
	// that are gone since at most a day. Last read first, up to 64; empty with --no-mem.
	Heaps []LastHeap `json:"last_heaps"`
	// Processes with Go in a library, and programs of gccgo.
	Unsupported []UnsupportedHere `json:"unsupported"`

	Skipped []Left `json:"skipped"` // processes that could not be inspected, by reason
	Unknown []Gap  `json:"unknown"`
	Next    string `json:"next"` // the one command to try next
}

// LastHeap is what held the memory of a container when it was last read.
type LastHeap struct {
	ContainerNames
	PodUID *string `json:"pod_uid"`
	ID     *string `json:"container_id"`
	Unit   *string `json:"unit"` // as in the container
	PID    int     `json:"pid"`
	Name   string  `json:"name"` // of the executable
	At     string  `json:"at"`   // when it was read, RFC 3339
	Gone   *string `json:"gone"` // end of the first scan without the container, RFC 3339; null = it is there
	Memory int64   `json:"memory_unreclaimable_bytes"`
	Limit  int64   `json:"memory_limit_bytes"`
	Took   float64 `json:"cpu_seconds"` // of the agent, for the read
	// Up to five functions, largest first, by the runtime's own profile as of the last collection.
	Holders []HeapHolder `json:"holders"`
	Why     string       `json:"why"` // why there are no holders; "" = there are
}

// HeapHolder is a function and the live objects that it allocated.
type HeapHolder struct {
	Function string `json:"function"`
	At       string `json:"line"`   // "main.go:31"; "" = unknown
	For      string `json:"caller"` // the function that called it; "" = none
	Bytes    int64  `json:"bytes"`  // an estimate from samples
}

// Scan is the cost and the size of a scan.
type Scan struct {
	Seconds   float64 `json:"seconds"`      // wall time
	CPU       float64 `json:"cpu_seconds"`  // of the whole agent process during the scan
	Processes int     `json:"processes"`    // without kernel threads
	Go        int     `json:"go_processes"` // listed in containers
	Programs  int     `json:"programs"`     // distinct executables known, including those not written in Go
}

// Left counts processes that could not be inspected, for one reason.
type Left struct {
	Reason string `json:"reason"` // one of a few fixed words
	Count  int    `json:"count"`
	Hint   string `json:"hint"` // what would help; "" = nothing is needed
}

// LeftDenied is the Reason for missing privileges.
const LeftDenied = "denied"

// Denied returns the processes that privileges were missing for. many reports whether they
// are 10% or more of all: a scan without Go processes then proves little.
func (d *Node) Denied() (left Left, many bool) {
	for _, left = range d.Skipped {
		if left.Reason == LeftDenied {
			return left, left.Count > 0 && left.Count*10 >= d.Scan.Processes
		}
	}
	return Left{}, false
}

// ContainerNames are filled in with --names; null is unknown.
type ContainerNames struct {
	Namespace *string `json:"namespace"`
	Pod       *string `json:"pod"`
	Name      *string `json:"container"`
	Workload  *string `json:"workload"`     // owner of the pod: "Deployment/web"
	Image     *string `json:"image"`        // as the pod names it
	Digest    *string `json:"image_digest"` // "sha256:..." of the image that runs
}

// OtherContainer is a container without Go.
type OtherContainer struct {
	ContainerNames
	PodUID *string `json:"pod_uid"`
	ID     *string `json:"container_id"`
}

// UnsupportedHere is a process with a Go runtime that snug does not read, and its container; all null =
// none.
type UnsupportedHere struct {
	ContainerNames
	PodUID *string `json:"pod_uid"`
	ID     *string `json:"container_id"`
	Unsupported
}

// Container describes a container with Go processes or, if unit is set, a cgroup of the
// node itself. Figures over an interval are "none" at the first scan, except throttled_*, which
// then covers the time since the cgroup was created.
type Container struct {
	ContainerNames
	PodUID *string `json:"pod_uid"`
	ID     *string `json:"container_id"`
	// "containerd", "cri-o", "docker", "podman"; null = not known from the cgroup's name
	Runtime *string `json:"runtime"`
	Class   *string `json:"qos_class"` // "Guaranteed", "Burstable", "BestEffort"
	// last part of the path of a cgroup outside containers: "kubelet.service"; "/" = the root
	Unit *string `json:"unit"`
	// full path, with cgroup v1 those of cpu and memory if they differ; null if unit is null
	Group *string `json:"cgroup"`

	Quota figure.Of[float64] `json:"quota_cores"`
	// from the weight; unknown if several requests give that weight
	Request          figure.Of[float64] `json:"request_cores"`
	Weight           figure.Of[int]     `json:"cpu_weight"`        // cgroup v2, 1 to 10000
	Shares           figure.Of[int]     `json:"cpu_shares"`        // cgroup v1, 2 to 262144
	Throttled        figure.Of[float64] `json:"throttled_ratio"`   // throttled periods over periods, 0 to 1
	Periods          figure.Of[int64]   `json:"periods"`           // this and the next two: since the cgroup was created
	ThrottledPeriods figure.Of[int64]   `json:"throttled_periods"` // of periods
	ThrottledSeconds figure.Of[float64] `json:"throttled_seconds"` // summed over CPUs
	Used             figure.Of[float64] `json:"used_cores"`        // by its Go processes, over the interval
	MemoryLimit      figure.Of[int64]   `json:"memory_limit_bytes"`
	Memory           figure.Of[int64]   `json:"memory_bytes"` // charged, including page cache
	// part of it, or of the usage at the level with the limit
	Unreclaimable figure.Of[int64] `json:"memory_unreclaimable_bytes"`
	OOMKills      figure.Of[int64] `json:"oom_kills"` // in the cgroup since it was created

	Processes []NodeProcess `json:"processes"` // oldest first
	Unknown   []Gap         `json:"unknown"`
}

// Worst returns the highest severity among the findings of its processes; "" without any.
func (c *Container) Worst() Severity {
	return worst(c.Processes, func(p *NodeProcess) Severity { return Worst(p.Findings) })
}

// NodeProcess is a Go process of a node. Its throttled_ratio is its container's, over the interval.
type NodeProcess struct {
	Process
	Name    string  `json:"name"`    // of the executable, or the kernel's name for the process
	Started *string `json:"started"` // RFC 3339
	// When the CPU quota and the memory limit were last seen to change while it ran, in
	// RFC 3339; null = never.
	QuotaChanged *string `json:"quota_changed"`
	LimitChanged *string `json:"memory_limit_changed"`

	// "1.24": go line of the main module, derived from the built-in GODEBUG defaults
	Line     *string           `json:"go_line"`
	Defaults map[string]string `json:"godebug_defaults"`  // the ones that affect GOMAXPROCS; empty = none
	Aware    *bool             `json:"container_aware"`   // the Go runtime itself follows the CPU quota
	Module   *string           `json:"gomaxprocs_module"` // linked module that may have set GOMAXPROCS; null = none
	// same words as gomaxprocs_source; null = the default, or unknown
	SetLimit *string            `json:"gomemlimit_source"`
	CPUs     figure.Of[int]     `json:"cpus"`           // in its affinity mask
	Used     figure.Of[float64] `json:"used_cores"`     // CPU seconds per second, over the interval
	Window   figure.Of[float64] `json:"window_seconds"` // length that the next two cover
	PerMin   figure.Of[float64] `json:"gc_per_minute"`  // collections
	// share of its CPU time spent in collections; none = no collection ended in the window
	GC       figure.Of[float64] `json:"gc_cpu_ratio"`
	GCTotal  figure.Of[float64] `json:"gc_cpu_seconds"`   // since it started, the runtime's estimate
	Pauses   figure.Of[float64] `json:"gc_pause_seconds"` // since it started
	CPUTotal float64            `json:"cpu_seconds"`      // since it started
}

// Watch is one sample of the Go processes of a machine. `snug top --json` prints one per line.
type Watch struct {
	Head
	At        string       `json:"at"`               // RFC 3339
	Seconds   *float64     `json:"interval_seconds"` // since the previous sample; null = this is the first
	Machine   int          `json:"cpus"`             // CPUs of the machine; 0 = unknown
	Processes []TopProcess `json:"processes"`        // by pid
	Others    []Skipped    `json:"others"`           // processes that could not be inspected, as in json:ps
	// Unsupported lists processes with Go in a library, and programs of gccgo.
	Unsupported []Unsupported `json:"unsupported"`
	Selected    []string      `json:"selected"` // the pids and names you asked for; empty = all
	Ended       []int         `json:"ended"`    // selected pids whose processes have ended; empty if you selected names
}

// Over reports whether all processes selected by pid have ended.
func (w *Watch) Over() bool { return len(w.Ended) > 0 && len(w.Ended) == len(w.Selected) }

// TopProcess is one process of a sample. Figures over an interval are "none" in the first sample
// of a process. throttled_ratio covers the interval, and is "none" if the cgroup did not run in it.
type TopProcess struct {
	Process
	Name    string             `json:"name"`         // of the executable, or the kernel's name for the process
	Used    figure.Of[float64] `json:"used_cores"`   // CPU seconds per second, over the interval
	Waiting figure.Of[float64] `json:"waiting"`      // runnable threads waiting for a CPU, mean over the interval
	Heap    figure.Of[int64]   `json:"heap_bytes"`   // allocated, or marked by the last collection
	Mapped  figure.Of[int64]   `json:"mapped_bytes"` // memory that Go holds from the kernel
	Threads int                `json:"threads"`
	CPUs    figure.Of[int]     `json:"cpus"`              // in its affinity mask
	Module  *string            `json:"gomaxprocs_module"` // linked module that may have set GOMAXPROCS; null = none
	// same words as gomaxprocs_source; null = the default, or unknown
	SetLimit  *string            `json:"gomemlimit_source"`
	Window    figure.Of[float64] `json:"window_seconds"` // length that the fields below cover, at most 30
	PerMinute figure.Of[float64] `json:"gc_per_minute"`  // collections
	// share of its CPU time spent in them, 0 to 1; none = no collection ended in the window
	GC figure.Of[float64] `json:"gc_cpu_ratio"`
	// share of time that collections stopped all goroutines, 0 to 1
	Paused    figure.Of[float64] `json:"pause_ratio"`
	MeanPause figure.Of[float64] `json:"pause_seconds"` // stopped per collection, mean
	// sched_latency over the window; none = none was measured, or sched_latency is unknown
	Lately figure.Of[Spread] `json:"window_sched_latency"`
	// gc_stops over the window; none = no collection ended, or gc_stops is unknown
	Stopped  figure.Of[Spread]  `json:"window_gc_stops"`
	Busy     figure.Of[float64] `json:"busy_ps"`     // Ps not idle, including spinning ones, mean over samples
	Spinning figure.Of[float64] `json:"spinning_ps"` // Ps looking for work
	Idle     figure.Of[float64] `json:"idle_ps"`     // idle Ps, mean over samples
}
