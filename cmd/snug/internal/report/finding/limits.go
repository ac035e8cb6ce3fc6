// SPDX-License-Identifier: Apache-2.0

package finding

import (
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
)

// Limits are the limits and usage of the container of one process.
type Limits struct {
	Head
	Target   Target    `json:"target"`
	CPU      CPU       `json:"cpu"`
	Memory   Memory    `json:"memory"`
	Unknown  []Gap     `json:"unknown"`
	Mounts   *Mounts   `json:"unread_mounts,omitempty"` // left out if there are none
	Warnings []Warning `json:"warnings"`
	Next     string    `json:"next"` // the one command to try next
}

// Limited reports whether there is a limit, or may be one that could not be
// read.
func (d *Limits) Limited() bool {
	return d.CPU.Quota.Known() || d.Memory.Hard.Known() || d.Memory.Soft.Known() || len(d.Unknown) > 0
}

// Settle is the function Settle, and lets a gap decide about the quota of the level whose file it
// names. A request is unknown if several fit.
func (d *Limits) Settle() {
	Settle(d, d.Unknown)
	if len(d.CPU.Candidates) > 1 {
		d.CPU.Request.Unknown("", "several requests fit the weight")
	}
	byFile := map[string]string{}
	for _, gap := range d.Unknown {
		if gap.Field == "cpu.quota_cores" {
			byFile[gap.File] = gap.Why
		}
	}
	for i := range d.CPU.Levels {
		l := &d.CPU.Levels[i]
		switch why, unread := byFile[l.File]; {
		case l.Quota.Known():
		case unread:
			l.Quota.Unknown(l.File, why)
		default:
			l.Quota.None()
		}
	}
}

// CPU is the CPU part of the limits.
type CPU struct {
	Cores    figure.Of[float64] `json:"cores"`         // the smaller of the next two; null = neither could be read
	Quota    figure.Of[float64] `json:"quota_cores"`   // the smallest of all visible levels
	Affinity figure.Of[int]     `json:"affinity_cpus"` // CPUs in the affinity mask
	Source   *Source            `json:"source"`        // of the quota; null = no quota

	Weight figure.Of[int] `json:"weight"` // cgroup v2, 1 to 10000
	Shares figure.Of[int] `json:"shares"` // cgroup v1, 2 to 262144
	// Request is the CPU request derived from weight or shares; unknown if several requests
	// fit.
	Request    figure.Of[float64] `json:"request_cores"`
	Candidates []float64          `json:"request_candidates_cores"` // all requests that fit; 0 = unset
	Burst      figure.Of[float64] `json:"burst_cores"`
	Cpuset     *string            `json:"cpuset"` // list such as "0-3,8"; null = none

	// Counters of bandwidth control at the level of source, or in the process's own
	// cgroup if there is no quota.
	Periods          figure.Of[int64]   `json:"periods"`
	ThrottledPeriods figure.Of[int64]   `json:"throttled_periods"`
	ThrottledSeconds figure.Of[float64] `json:"throttled_seconds"`

	Pressure *Pressure `json:"pressure"`
	Levels   []Level   `json:"levels"` // visible cgroups, the process's own first
}

// Level is the CPU quota of one visible cgroup.
type Level struct {
	Source
	Quota figure.Of[float64] `json:"quota_cores"`
}

// Memory is the memory part of the limits.
type Memory struct {
	Hard       figure.Of[int64] `json:"hard_bytes"`  // above it the kernel kills
	Source     *Source          `json:"source"`      // of hard_bytes
	Soft       figure.Of[int64] `json:"soft_bytes"`  // above it the kernel throttles
	SoftSource *Source          `json:"soft_source"` // of soft_bytes
	// an ancestor of the process's own cgroup sets the hard limit
	Shared bool `json:"shared"`
	// charged to the process's own cgroup, including page cache
	Current figure.Of[int64] `json:"current_bytes"`
	// charged at the level of the hard limit; none = not shared
	SharedCurrent figure.Of[int64] `json:"shared_current_bytes"`
	Host          figure.Of[int64] `json:"host_bytes"`     // MemTotal of the machine
	SwapMax       figure.Of[int64] `json:"swap_max_bytes"` // never counted as memory
	SwapCurrent   figure.Of[int64] `json:"swap_current_bytes"`

	Events   Events    `json:"events"`
	Pressure *Pressure `json:"pressure"`
}

// Events are the kernel's counters of memory limit events, for the process's own cgroup.
type Events struct {
	High     figure.Of[int64] `json:"high"`
	Max      figure.Of[int64] `json:"max"`
	OOM      figure.Of[int64] `json:"oom"`
	OOMKills figure.Of[int64] `json:"oom_kills"`
}

// Pressure is pressure stall information: the share of the last 10 s in which some
// or all tasks waited (0 to 1), and the total since the cgroup was created.
type Pressure struct {
	Some10    figure.Of[float64] `json:"some_avg10_ratio"`
	Full10    figure.Of[float64] `json:"full_avg10_ratio"`
	SomeTotal float64            `json:"some_total_seconds"`
	FullTotal float64            `json:"full_total_seconds"`
}

// Plan holds the settings that Go should use in a container, and why.
type Plan struct {
	Head
	Target     Target  `json:"target"`
	Mode       string  `json:"mode"` // on, observe or off: from the SNUG variable
	GOMAXPROCS Procs   `json:"gomaxprocs"`
	GOMEMLIMIT Bytes   `json:"gomemlimit"`
	GOGC       Percent `json:"gogc"`
	// What snug run would set: less than the decisions where Go itself chooses the same.
	Set      []Variable `json:"set"`
	Runtime  Runtime    `json:"runtime"`
	Program  *Program   `json:"program"` // null = no program was named
	Unknown  []Gap      `json:"unknown"`
	Mounts   *Mounts    `json:"unread_mounts,omitempty"` // left out if there are none
	Warnings []Warning  `json:"warnings"`
	Next     string     `json:"next"`
}

// ChosenByGo reports whether the plan has a GOMAXPROCS and sets none, because Go itself chooses that number, and
// would not follow the limit with a variable.
func (p *Plan) ChosenByGo() bool {
	set := slices.ContainsFunc(p.Set, func(v Variable) bool { return v.Name == "GOMAXPROCS" })
	return p.GOMAXPROCS.Value != nil && !set
}

// Variable is an environment variable.
type Variable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Procs is the decision about GOMAXPROCS; a null value leaves it unchanged.
type Procs struct {
	Value *int64 `json:"value"` // 1 or more
	Reason
	Ignored []Reason `json:"ignored"`
}

// Bytes is the decision about GOMEMLIMIT.
type Bytes struct {
	Value *Amount `json:"value_bytes"` // or "off"; null = leave unchanged
	Reason
	Ignored []Reason `json:"ignored"`
}

// Percent is the decision about GOGC.
type Percent struct {
	Value *Amount `json:"value_percent"` // or "off"; null = leave unchanged
	Reason
	Ignored []Reason `json:"ignored"`
}

// Reason says why a number was chosen, or why another one was not.
type Reason struct {
	Code string `json:"reason"` // stable; see `snug explain`
	Text string `json:"text"`
	// The figure that was rounded, capped or divided; at most one is set.
	Cores  *float64 `json:"basis_cores,omitempty"`
	Bytes  *int64   `json:"basis_bytes,omitempty"`
	Source *Source  `json:"source"` // null = neither a file nor a variable
}

// Runtime describes what the Go runtime does by default.
type Runtime struct {
	GOMAXPROCS *int    `json:"gomaxprocs"`    // null = unknown, or Crashes
	Crashes    bool    `json:"crashes"`       // the program would not reach main
	Agrees     bool    `json:"agrees"`        // it equals the plan's value
	Go         *string `json:"go"`            // version; null = recent
	Cgroups    bool    `json:"reads_cgroups"` // this Go follows the CPU quota
	// What automaxprocs sets if the program calls it; null = not linked, or it sees no quota
	Automaxprocs *int `json:"automaxprocs"`
	// automemlimit is linked and may set GOMEMLIMIT
	Automemlimit bool   `json:"automemlimit"`
	Text         string `json:"text"`
	// What Go 1.25 chooses, if no program is given and it differs; null = no difference
	Go125 *int `json:"gomaxprocs_go_1_25"`
	// The newest Go release that snug knows; this one is assumed to read the quota in the same way; null = it is known
	Assumed *string `json:"assumed_as"`
}

// Program is the executable of a plan.
type Program struct {
	File string `json:"file"`
	Main string `json:"main"` // main package; "" = not in the build information
	// Linked modules that set knobs, as "path version".
	Setters []string `json:"setters"`
	// The program's own functions that set a knob when called, to any value.
	ProcsSetBy  []string `json:"gomaxprocs_set_by"`
	MemorySetBy []string `json:"gomemlimit_set_by"`
}
