// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/limits"
)

// num is the number of a figure, NaN when there is none or when it cannot be: every
// comparison with it fails.
func num(n figure.Of[float64]) float64 {
	if !n.Known() || !(n.N >= -1 && n.N < 1<<60) {
		return math.NaN()
	}
	return n.N
}

// none reports whether a limit was looked for, and there is none.
func none(n figure.Of[float64]) bool { return n.State == limits.None }

// Who set a knob.
const (
	ByEnvironment = "environment" // a variable, when the program started
	ByCode        = "code"        // the program itself, or a module in it
	ByRuntime     = "runtime"     // Go, from its cgroup's quota (1.25 and later)
	ByHost        = "host"        // Go, from the CPUs it could run on when it started
)

// Facts is what is known of one process, container, profile or log. What is not
// known is unknown, nil or "". Rates are over the same interval of Seconds.
type Facts struct {
	Target  string `json:"target"`            // as findings name it
	Program string `json:"program,omitempty"` // path of the executable
	// Prebuilt: stripped, or where packages put programs, so that who reads this can
	// hardly change its source.
	Prebuilt bool   `json:"prebuilt,omitempty"`
	Unit     string `json:"unit,omitempty"` // the systemd service that it is, "prometheus.service"

	Go    string `json:"go,omitempty"`    // "go1.26.8"
	Minor int    `json:"minor,omitempty"` // 26; 0 = unknown
	Aware *bool  `json:"aware,omitempty"` // the runtime reads its cgroup's CPU quota
	// Module is the linked module that sets GOMAXPROCS ("go.uber.org/automaxprocs v1.6.0").
	Module string `json:"module,omitempty"`

	Procs      figure.Of[float64] `json:"gomaxprocs,omitzero"`
	ProcsBy    string             `json:"gomaxprocs_by,omitempty"`
	GOGC       figure.Of[float64] `json:"gogc,omitzero"`       // percent; -1 = off
	MemLimit   figure.Of[float64] `json:"gomemlimit,omitzero"` // bytes
	MemLimitBy string             `json:"gomemlimit_by,omitempty"`
	// MemModule is the linked module that sets GOMEMLIMIT ("github.com/KimMachineGun/automemlimit v1.0.1").
	MemModule string `json:"mem_module,omitempty"`

	Live   figure.Of[float64] `json:"live,omitzero"`   // bytes that the last cycle marked
	Goal   figure.Of[float64] `json:"goal,omitzero"`   // bytes at which the current cycle is to end
	Mapped figure.Of[float64] `json:"mapped,omitzero"` // bytes that Go holds of the kernel's memory

	// What the container gives.
	Quota    figure.Of[float64] `json:"quota,omitzero"`     // cores, the tightest of all levels
	OwnQuota figure.Of[float64] `json:"own_quota,omitzero"` // cores, of the process's own group
	Cores    figure.Of[float64] `json:"cores,omitzero"`     // CPUs' worth of time: the smaller of Quota and CPUs
	CPUs     figure.Of[float64] `json:"cpus,omitzero"`      // that it may run on
	Crashes  figure.Of[float64] `json:"crashes,omitzero"`   // 1 where a quota file ends plain Go programs
	MemHard  figure.Of[float64] `json:"mem_hard,omitzero"`  // bytes
	MemUsed  figure.Of[float64] `json:"mem_used,omitzero"`  // bytes of it that the kernel cannot take back
	OOMKills figure.Of[float64] `json:"oom_kills,omitzero"` // in the container since it was made

	// What happened while it was watched.
	Seconds    figure.Of[float64] `json:"seconds,omitzero"`
	Used       figure.Of[float64] `json:"used,omitzero"`        // cores
	KernelWait figure.Of[float64] `json:"kernel_wait,omitzero"` // threads that waited for a CPU, on average, throttling included
	Idle       figure.Of[float64] `json:"idle,omitzero"`        // of the time of the CPUs that it may run on, 0 to 1
	Throttled  figure.Of[float64] `json:"throttled,omitzero"`   // share of the periods, 0 to 1
	Busy       figure.Of[float64] `json:"busy,omitzero"`        // Ps that were not idle, on average
	Spinning   figure.Of[float64] `json:"spinning,omitzero"`    // Ps that looked for work, on average
	Cycles     figure.Of[float64] `json:"cycles,omitzero"`      // collections a second
	GCCores    figure.Of[float64] `json:"gc_cores,omitzero"`    // CPU of collections, in cores

	// What an execution trace tells, of which nothing is CPU time.
	GCHeld   figure.Of[float64] `json:"gc_held,omitzero"`   // share of the Ps' time that the collector held them, 0 to 1; idle marking not
	Stopped  figure.Of[float64] `json:"stopped,omitzero"`   // share of the wall time that the world was stopped, 0 to 1
	RunWait  figure.Of[float64] `json:"run_wait,omitzero"`  // seconds from runnable to running, 99th percentile of goroutines
	HeapPeak figure.Of[float64] `json:"heap_peak,omitzero"` // bytes of objects, dead ones that are not swept among them

	// Shares of the CPU time, 0 to 1.
	OverSize figure.Of[float64] `json:"over_size,omitzero"` // what grows with the number of Ps: scheduler, timers, idle marking, stopping the world
	GCShare  figure.Of[float64] `json:"gc_share,omitzero"`  // marking, assists and sweeping
}

// rounded is the GOMAXPROCS that snug and Go 1.25 take for the quota: rounded up, at
// least 2 (runtime/cgroup_linux.go, adjustCgroupGOMAXPROCS); NaN without a quota.
func (f *Facts) rounded() float64 {
	if q := num(f.Quota); q > 0 {
		return max(2, math.Ceil(q))
	}
	return math.NaN()
}

// quotaBinds reports whether the quota, and not the CPUs there are, says how many Ps
// are of use.
func (f *Facts) quotaBinds() bool {
	return f.rounded() > 0 && !(f.rounded() > num(f.CPUs))
}

// spareGrowth is by how many percent the heap may grow between collections, as far
// as it can be seen from outside: without stacks and globals.
func (f *Facts) spareGrowth() float64 {
	live := num(f.Live)
	if !(live > 0) {
		return math.NaN()
	}
	return 100 * (num(f.Goal) - live) / live
}
