// SPDX-License-Identifier: Apache-2.0

package finding

// Limits is what a container gives one process.
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

// CPU is the CPU side of it.
type CPU struct {
	Cores    *float64 `json:"cores"`       // the smaller of the next two; null when neither can be read
	Quota    *float64 `json:"quota_cores"` // the tightest over every visible level
	Affinity *int     `json:"affinity_cpus"`
	Source   *Source  `json:"source"` // what sets the quota

	Weight *int `json:"weight"` // of v2, 1 to 10000
	Shares *int `json:"shares"` // of v1, 2 to 262144
	// Request is the CPU request that weight or shares stand for; null when
	// there is none, or when they may stand for more than one.
	Request    *float64  `json:"request_cores"`
	Candidates []float64 `json:"request_candidates_cores"` // all of them; 0 = nobody set one
	Burst      *float64  `json:"burst_cores"`
	Cpuset     *string   `json:"cpuset"`

	// What bandwidth control did at the level of Source, or in the process's
	// own group where there is no quota. Seconds are summed over CPUs.
	Periods          *int64   `json:"periods"`
	ThrottledPeriods *int64   `json:"throttled_periods"`
	ThrottledSeconds *float64 `json:"throttled_seconds"`

	Pressure *Pressure `json:"pressure"`
	Levels   []Level   `json:"levels"` // visible cgroups, the process's own first
}

// Level is one visible cgroup's CPU quota.
type Level struct {
	Source
	Quota *float64 `json:"quota_cores"`
}

// Memory is the memory side of it.
type Memory struct {
	Hard          *int64  `json:"hard_bytes"` // above it the kernel kills
	Source        *Source `json:"source"`
	Soft          *int64  `json:"soft_bytes"` // above it the kernel throttles
	SoftSource    *Source `json:"soft_source"`
	Shared        bool    `json:"shared"` // the hard limit sits above the process's own group
	Current       *int64  `json:"current_bytes"`
	SharedCurrent *int64  `json:"shared_current_bytes"`
	Host          *int64  `json:"host_bytes"`
	SwapMax       *int64  `json:"swap_max_bytes"`
	SwapCurrent   *int64  `json:"swap_current_bytes"`

	Events   Events    `json:"events"`
	Pressure *Pressure `json:"pressure"`
}

// Events are the kernel's counts of what the memory limits did.
type Events struct {
	High     *int64 `json:"high"`
	Max      *int64 `json:"max"`
	OOM      *int64 `json:"oom"`
	OOMKills *int64 `json:"oom_kills"`
}

// Pressure is pressure stall information: the share of the last 10 s in which
// some or all tasks waited, and for how long since the group was made.
type Pressure struct {
	Some10    *float64 `json:"some_avg10_ratio"`
	Full10    *float64 `json:"full_avg10_ratio"`
	SomeTotal float64  `json:"some_total_seconds"`
	FullTotal float64  `json:"full_total_seconds"`
}
