// SPDX-License-Identifier: Apache-2.0

package rules

import "math"

// Num is a figure and where it was read. A nil Num is unknown, and no rule goes
// by it.
type Num struct {
	V      float64 `json:"v"`
	Source string  `json:"source,omitempty"` // a file, "/proc/4711/mem, 11/11 votes", "perf, 646 samples"
	Raw    string  `json:"raw,omitempty"`    // its text there; "" where it has none
}

// get is the figure, NaN when it is unknown or cannot be: every comparison with it
// fails.
func (n *Num) get() float64 {
	if n == nil || !(n.V >= -1 && n.V < 1<<60) {
		return math.NaN()
	}
	return n.V
}

// None reports whether a limit is known, and there is none.
func (n *Num) None() bool { return n.get() == 0 }

// Who set a knob.
const (
	ByEnvironment = "environment" // a variable, when the program started
	ByCode        = "code"        // the program itself, or a module in it
	ByRuntime     = "runtime"     // Go, from its cgroup's quota (1.25 and later)
	ByHost        = "host"        // Go, from the CPUs it could run on when it started
)

// Facts is what is known of one process, container, profile or log. What is not
// known is nil or "". Rates are over the same interval of Seconds.
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

	Procs      *Num   `json:"gomaxprocs,omitempty"`
	ProcsBy    string `json:"gomaxprocs_by,omitempty"`
	GOGC       *Num   `json:"gogc,omitempty"`       // percent; -1 = off
	MemLimit   *Num   `json:"gomemlimit,omitempty"` // bytes; 0 = none
	MemLimitBy string `json:"gomemlimit_by,omitempty"`
	// MemModule is the linked module that sets GOMEMLIMIT ("github.com/KimMachineGun/automemlimit v1.0.1").
	MemModule string `json:"mem_module,omitempty"`

	Live   *Num `json:"live,omitempty"`   // bytes that the last cycle marked
	Goal   *Num `json:"goal,omitempty"`   // bytes at which the current cycle is to end
	Mapped *Num `json:"mapped,omitempty"` // bytes that Go holds of the kernel's memory

	// What the container gives.
	Quota    *Num `json:"quota,omitempty"`     // cores, the tightest of all levels; 0 = none
	OwnQuota *Num `json:"own_quota,omitempty"` // cores, of the process's own group; 0 = none
	Cores    *Num `json:"cores,omitempty"`     // CPUs' worth of time: the smaller of Quota and CPUs
	CPUs     *Num `json:"cpus,omitempty"`      // that it may run on
	Crashes  *Num `json:"crashes,omitempty"`   // 1 where a quota file ends plain Go programs
	MemHard  *Num `json:"mem_hard,omitempty"`  // bytes; 0 = none
	MemUsed  *Num `json:"mem_used,omitempty"`  // bytes of it that the kernel cannot take back
	OOMKills *Num `json:"oom_kills,omitempty"` // in the container since it was made

	// What happened while it was watched.
	Seconds    *Num `json:"seconds,omitempty"`
	Used       *Num `json:"used,omitempty"`        // cores
	KernelWait *Num `json:"kernel_wait,omitempty"` // threads that waited for a CPU, on average, throttling included
	Idle       *Num `json:"idle,omitempty"`        // of the time of the CPUs that it may run on, 0 to 1
	Throttled  *Num `json:"throttled,omitempty"`   // share of the periods, 0 to 1
	Busy       *Num `json:"busy,omitempty"`        // Ps that were not idle, on average
	Spinning   *Num `json:"spinning,omitempty"`    // Ps that looked for work, on average
	Cycles     *Num `json:"cycles,omitempty"`      // collections a second
	GCCores    *Num `json:"gc_cores,omitempty"`    // CPU of collections, in cores

	// What an execution trace tells, of which nothing is CPU time.
	GCHeld   *Num `json:"gc_held,omitempty"`   // share of the Ps' time that the collector held them, 0 to 1; idle marking not
	Stopped  *Num `json:"stopped,omitempty"`   // share of the wall time that the world was stopped, 0 to 1
	RunWait  *Num `json:"run_wait,omitempty"`  // seconds from runnable to running, 99th percentile of goroutines
	HeapPeak *Num `json:"heap_peak,omitempty"` // bytes of objects, dead ones that are not swept among them

	// Shares of the CPU time, 0 to 1.
	OverSize *Num `json:"over_size,omitempty"` // what grows with the number of Ps: scheduler, timers, idle marking, stopping the world
	GCShare  *Num `json:"gc_share,omitempty"`  // marking, assists and sweeping
}

// rounded is the GOMAXPROCS that snug and Go 1.25 take for the quota: rounded up, at
// least 2 (runtime/cgroup_linux.go, adjustCgroupGOMAXPROCS); NaN without a quota.
func (f *Facts) rounded() float64 {
	if q := f.Quota.get(); q > 0 {
		return max(2, math.Ceil(q))
	}
	return math.NaN()
}

// quotaBinds reports whether the quota, and not the CPUs there are, says how many Ps
// are of use.
func (f *Facts) quotaBinds() bool {
	return f.rounded() > 0 && !(f.rounded() > f.CPUs.get())
}

// spareGrowth is by how many percent the heap may grow between collections, as far
// as it can be seen from outside: without stacks and globals.
func (f *Facts) spareGrowth() float64 {
	live := f.Live.get()
	if !(live > 0) {
		return math.NaN()
	}
	return 100 * (f.Goal.get() - live) / live
}
