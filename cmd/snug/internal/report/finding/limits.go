// SPDX-License-Identifier: Apache-2.0

package finding

// Limits are the limits and usage of the container of one process.
type Limits struct {
	Head
	Target   Target    `json:"target"`
	CPU      CPU       `json:"cpu"`
	Memory   Memory    `json:"memory"`
	Unknown  []Gap     `json:"unknown"`
	Warnings []Warning `json:"warnings"`
	Next     string    `json:"next"` // the one command to try next
}

// Limited reports whether there is a limit, or may be one that could not be
// read.
func (d *Limits) Limited() bool {
	return d.CPU.Quota != nil || d.Memory.Hard != nil || d.Memory.Soft != nil || len(d.Unknown) > 0
}

// CPU is the CPU part of Limits.
type CPU struct {
	Cores    *float64 `json:"cores"`         // the smaller of the next two; null = neither could be read
	Quota    *float64 `json:"quota_cores"`   // the smallest of all visible levels; null = none
	Affinity *int     `json:"affinity_cpus"` // CPUs in the affinity mask
	Source   *Source  `json:"source"`        // of the quota; null = no quota

	Weight *int `json:"weight"` // cgroup v2, 1 to 10000
	Shares *int `json:"shares"` // cgroup v1, 2 to 262144
	// Request is the CPU request derived from weight or shares; null = there is none,
	// or several requests fit.
	Request    *float64  `json:"request_cores"`
	Candidates []float64 `json:"request_candidates_cores"` // all requests that fit; 0 = unset
	Burst      *float64  `json:"burst_cores"`              // null = none
	Cpuset     *string   `json:"cpuset"`                   // list such as "0-3,8"; null = none

	// Counters of bandwidth control at the level of Source, or in the process's own
	// cgroup if there is no quota. Seconds are summed over CPUs.
	Periods          *int64   `json:"periods"`
	ThrottledPeriods *int64   `json:"throttled_periods"`
	ThrottledSeconds *float64 `json:"throttled_seconds"`

	Pressure *Pressure `json:"pressure"`
	Levels   []Level   `json:"levels"` // visible cgroups, the process's own first
}

// Level is the CPU quota of one visible cgroup.
type Level struct {
	Source
	Quota *float64 `json:"quota_cores"` // null = none
}

// Memory is the memory part of Limits.
type Memory struct {
	Hard          *int64  `json:"hard_bytes"`           // above it the kernel kills; null = none
	Source        *Source `json:"source"`               // of hard_bytes
	Soft          *int64  `json:"soft_bytes"`           // above it the kernel throttles; null = none
	SoftSource    *Source `json:"soft_source"`          // of soft_bytes
	Shared        bool    `json:"shared"`               // an ancestor of the process's own cgroup sets the hard limit
	Current       *int64  `json:"current_bytes"`        // charged to the process's own cgroup, including page cache
	SharedCurrent *int64  `json:"shared_current_bytes"` // charged at the level of the hard limit; null = not shared
	Host          *int64  `json:"host_bytes"`           // MemTotal of the machine
	SwapMax       *int64  `json:"swap_max_bytes"`       // null = none; never counted as memory
	SwapCurrent   *int64  `json:"swap_current_bytes"`

	Events   Events    `json:"events"`
	Pressure *Pressure `json:"pressure"`
}

// Events are the kernel's counters of memory limit events, for the process's own cgroup.
type Events struct {
	High     *int64 `json:"high"`
	Max      *int64 `json:"max"`
	OOM      *int64 `json:"oom"`
	OOMKills *int64 `json:"oom_kills"`
}

// Pressure is pressure stall information: the share of the last 10 s in which some
// or all tasks waited (0 to 1), and the total since the cgroup was created.
type Pressure struct {
	Some10    *float64 `json:"some_avg10_ratio"`
	Full10    *float64 `json:"full_avg10_ratio"`
	SomeTotal float64  `json:"some_total_seconds"`
	FullTotal float64  `json:"full_total_seconds"`
}
