// SPDX-License-Identifier: Apache-2.0

package finding

// KindAgent is the kind of a Node.
const KindAgent = "agent"

// Node is what `snug agent` found at its last scan of a node: Go processes by container,
// and what is wrong with them.
type Node struct {
	Head
	At         string      `json:"at"`               // RFC 3339, of the end of the scan
	Node       *string     `json:"node"`             // its name; null = nobody has told
	Seconds    *float64    `json:"interval_seconds"` // since the scan before; null = this is the first
	Memory     bool        `json:"memory_read"`      // false: no process's memory was read, and Lost says what that costs
	Lost       []string    `json:"lost"`
	Scan       Scan        `json:"scan"`
	Containers []Container `json:"containers"` // those with Go processes
	// Others are containers of pods with names all of whose processes were looked at, and
	// none is Go's, nor has one of Go's run there for a minute as far as was seen; known
	// with --names. There may be more.
	Others  []OtherContainer `json:"other_containers"`
	Skipped []Left           `json:"skipped"`
	Unknown []Gap            `json:"unknown"`
	Next    string           `json:"next"`
}

// Scan is what a scan took, and of how much.
type Scan struct {
	Seconds   float64 `json:"seconds"`
	CPU       float64 `json:"cpu_seconds"`  // of the agent, whatever else it did meanwhile included
	Processes int     `json:"processes"`    // threads of the kernel are none
	Go        int     `json:"go_processes"` // that are listed
	Programs  int     `json:"programs"`     // distinct executables that are known, others than Go's too
}

// Left are processes that could not be looked at.
type Left struct {
	Reason string `json:"reason"` // one of a few words
	Count  int    `json:"count"`
	Hint   string `json:"hint"` // what would help; "" = nothing has to
}

// LeftDenied is the Reason of those for which rights are missing.
const LeftDenied = "denied"

// Denied is how many processes rights were missing for. many says that they are a tenth or
// more: that no Go process was seen then says little.
func (d *Node) Denied() (left Left, many bool) {
	for _, left = range d.Skipped {
		if left.Reason == LeftDenied {
			return left, left.Count > 0 && left.Count*10 >= d.Scan.Processes
		}
	}
	return Left{}, false
}

// ContainerNames are known with --names; null is unknown.
type ContainerNames struct {
	Namespace *string `json:"namespace"`
	Pod       *string `json:"pod"`
	Name      *string `json:"container"`
	Workload  *string `json:"workload"`     // what the pod belongs to: "Deployment/web"
	Image     *string `json:"image"`        // as the pod names it
	Digest    *string `json:"image_digest"` // "sha256:...", of what is run
}

// OtherContainer is a container without Go processes.
type OtherContainer struct {
	ContainerNames
	PodUID *string `json:"pod_uid"`
	ID     *string `json:"container_id"`
}

// Container is what a container gives its Go processes, or, where Unit is set, a group of
// the node itself. null is none, or, where Unknown lists the field, unknown. What is of
// an interval is null at the first scan, but for Throttled, which is then of the time
// since the group was made.
type Container struct {
	ContainerNames
	PodUID  *string `json:"pod_uid"`
	ID      *string `json:"container_id"`
	Runtime *string `json:"runtime"`   // "containerd", "cri-o", "docker", "podman"; null = its name does not tell
	Class   *string `json:"qos_class"` // "Guaranteed", "Burstable", "BestEffort"
	Unit    *string `json:"unit"`      // last part of a cgroup that is no container's: "kubelet.service"; "/" is the root
	Group   *string `json:"cgroup"`    // all of it, with cgroup v1 of cpu and memory where they differ; null where Unit is

	Quota            *float64 `json:"quota_cores"`
	Request          *float64 `json:"request_cores"` // as the weight tells; null where it may stand for several
	Weight           *int     `json:"cpu_weight"`    // of cgroup v2
	Shares           *int     `json:"cpu_shares"`    // of v1
	Throttled        *float64 `json:"throttled_ratio"`
	Periods          *int64   `json:"periods"` // this and the next two since the group was made
	ThrottledPeriods *int64   `json:"throttled_periods"`
	ThrottledSeconds *float64 `json:"throttled_seconds"` // summed over CPUs
	Used             *float64 `json:"used_cores"`        // by its Go processes
	MemoryLimit      *int64   `json:"memory_limit_bytes"`
	Memory           *int64   `json:"memory_bytes"`               // charged, page cache included
	Unreclaimable    *int64   `json:"memory_unreclaimable_bytes"` // of it, or of the level that has the limit
	OOMKills         *int64   `json:"oom_kills"`                  // in the group since it was made

	Processes []NodeProcess `json:"processes"` // the one that started first is the first
	Unknown   []Gap         `json:"unknown"`
}

// Worst is the severity of the worst finding of its processes; "" when there is none.
func (c *Container) Worst() Severity {
	var worst Severity
	for i := range c.Processes {
		if s := Worst(c.Processes[i].Findings); s.Level() > worst.Level() {
			worst = s
		}
	}
	return worst
}

// NodeProcess is a Go process in a Node. Throttled is here of the interval, and that of
// its container.
type NodeProcess struct {
	Process
	Name    string  `json:"name"`    // of the executable, or else what the kernel calls it
	Started *string `json:"started"` // RFC 3339
	// When the CPU quota, and the memory limit, last changed while it ran, as far as was
	// seen, in RFC 3339; null = they did not.
	QuotaChanged *string `json:"quota_changed"`
	LimitChanged *string `json:"memory_limit_changed"`

	Line     *string           `json:"go_line"`          // "1.24": the main module's, as the GODEBUG defaults tell that it built in
	Defaults map[string]string `json:"godebug_defaults"` // of those, what bears on GOMAXPROCS; empty = none
	Aware    *bool             `json:"container_aware"`  // Go follows the CPU quota by itself
	Module   *string           `json:"gomaxprocs_module"`
	SetLimit *string           `json:"gomemlimit_source"` // as GOMAXPROCSSource; null = the default, or unknown
	CPUs     *int              `json:"cpus"`              // that it may run on
	Used     *float64          `json:"used_cores"`
	Window   *float64          `json:"window_seconds"` // the next two are of so long
	PerMin   *float64          `json:"gc_per_minute"`
	GC       *float64          `json:"gc_cpu_ratio"`     // share of its CPU time that collections took; null = none ended in the window
	GCTotal  *float64          `json:"gc_cpu_seconds"`   // since it started, as Go counts; null = unknown
	Pauses   *float64          `json:"gc_pause_seconds"` // since it started
	CPUTotal float64           `json:"cpu_seconds"`      // since it started
}
