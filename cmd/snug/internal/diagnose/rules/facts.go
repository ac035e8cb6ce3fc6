// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/internal/plan"
	"github.com/snug-go/snug/limits"
)

// amount is a figure of Facts.
type amount = figure.Of[float64]

// num returns the number of a figure, or NaN if it is unknown, none or out of range. Every
// comparison with NaN is false, so rules do not fire on it.
func num(n amount) float64 {
	if !n.Known() || !(n.N >= -1 && n.N < 1<<60) {
		return math.NaN()
	}
	return n.N
}

// none reports whether a limit was read and there is none.
func none(n amount) bool { return n.State == limits.None }

// Who set GOMAXPROCS or GOMEMLIMIT.
const (
	ByEnvironment = "environment" // a variable, when the program started
	ByCode        = "code"        // the program itself, or a module in it
	ByRuntime     = "runtime"     // Go, from its cgroup's quota (1.25 and later, if found)
	ByHost        = "host"        // Go, from the CPUs it could run on when it started
)

// Facts holds what is known about one process, container, profile or log. A field that is
// not known is unknown, nil or "". All rates are over the same interval, Seconds.
type Facts struct {
	Target  string `json:"target"`            // name in findings
	Program string `json:"program,omitempty"` // path of the executable
	// Prebuilt reports that the program is stripped or installed by a package, so the
	// user can probably not change its source.
	Prebuilt bool   `json:"prebuilt,omitempty"`
	Unit     string `json:"unit,omitempty"` // its systemd service, "prometheus.service"

	Go    string `json:"go,omitempty"`    // "go1.26.8"
	Minor int    `json:"minor,omitempty"` // 26; 0 = unknown
	Aware *bool  `json:"aware,omitempty"` // the runtime reads its cgroup's CPU quota
	// Missed: it looked for the quota and did not find it, as Go 1.25 where the root of the mount is not "/".
	Missed bool `json:"missed,omitempty"`
	// Module is the linked module that sets GOMAXPROCS ("go.uber.org/automaxprocs v1.6.0").
	Module string `json:"module,omitempty"`

	Procs      amount `json:"gomaxprocs,omitzero"`
	ProcsBy    string `json:"gomaxprocs_by,omitempty"`
	Injector   string `json:"injector,omitempty"`  // container runtime that may have set the variable: "CRI-O"; "" = none
	PodSets    *bool  `json:"pod_sets,omitempty"`  // the pod sets the variable, or may; nil = unknown
	GOGC       amount `json:"gogc,omitzero"`       // percent; -1 = off
	MemLimit   amount `json:"gomemlimit,omitzero"` // bytes
	MemLimitBy string `json:"gomemlimit_by,omitempty"`
	// MemModule is the linked module that sets GOMEMLIMIT ("github.com/KimMachineGun/automemlimit v1.0.1").
	MemModule string `json:"mem_module,omitempty"`

	Live   amount `json:"live,omitzero"`   // bytes marked by the last cycle
	Goal   amount `json:"goal,omitzero"`   // heap size in bytes at which the current cycle should end
	Kept   amount `json:"kept,omitzero"`   // Live over the heap goal of the last cycle, 0 to 1
	Mapped amount `json:"mapped,omitzero"` // bytes of memory that Go holds

	// What the container gives.
	Quota    amount `json:"quota,omitzero"`     // cores, the tightest of all levels
	OwnQuota amount `json:"own_quota,omitzero"` // cores, of the process's own group
	Cores    amount `json:"cores,omitzero"`     // CPU time available, in cores: the smaller of Quota and CPUs
	CPUs     amount `json:"cpus,omitzero"`      // number of CPUs it may run on
	Crashes  amount `json:"crashes,omitzero"`   // 1 if a quota file crashes plain Go programs
	MemHard  amount `json:"mem_hard,omitzero"`  // bytes
	MemUsed  amount `json:"mem_used,omitzero"`  // bytes in use that the kernel cannot reclaim
	OOMKills amount `json:"oom_kills,omitzero"` // in the container, since it was created

	// What happened while it was watched.
	Seconds    amount `json:"seconds,omitzero"`
	Age        amount `json:"age,omitzero"`         // seconds since it started
	Used       amount `json:"used,omitzero"`        // cores
	KernelWait amount `json:"kernel_wait,omitzero"` // threads that waited for a CPU, on average, throttling included
	Idle       amount `json:"idle,omitzero"`        // share of the time of the CPUs it may run on, 0 to 1
	Throttled  amount `json:"throttled,omitzero"`   // share of the periods, 0 to 1
	Ever       amount `json:"ever,omitzero"`        // the same since the group was made, for all of its processes
	Busy       amount `json:"busy,omitzero"`        // Ps that were not idle, on average
	Spinning   amount `json:"spinning,omitzero"`    // Ps that looked for work, on average
	Cycles     amount `json:"cycles,omitzero"`      // collections a second
	CallRate   amount `json:"call_rate,omitzero"`   // system calls that read or write, a second
	CallBytes  amount `json:"call_bytes,omitzero"`  // bytes that such a call moves, on average
	GCCores    amount `json:"gc_cores,omitzero"`    // CPU of collections, in cores

	// What grew steadily while it was watched; nil = nothing did, or it is unknown.
	LiveGrowth   *Trend `json:"live_growth,omitempty"`   // live heap, bytes
	GoGrowth     *Trend `json:"go_growth,omitempty"`     // memory that Go holds, bytes
	OtherGrowth  *Trend `json:"other_growth,omitempty"`  // resident memory of the process that is not Go's, bytes
	ThreadGrowth *Trend `json:"thread_growth,omitempty"` // threads
	// GoroutineGrowth is of goroutines, and Creators of those that were added.
	GoroutineGrowth *Trend   `json:"goroutine_growth,omitempty"`
	Creators        []Holder `json:"creators,omitempty"`
	Holding         []Holder `json:"holding,omitempty"` // what allocated the live heap, bytes
	Goroutines      amount   `json:"goroutines,omitzero"`
	MutexWaits      amount   `json:"mutex_waits,omitzero"` // goroutines that wait for a mutex, on average
	Waiters         []Holder `json:"waiters,omitempty"`    // where they wait
	// Goroutines by what they do, on average, and threads that sleep in the kernel for them.
	Running       amount   `json:"running,omitzero"`
	Runnable      amount   `json:"runnable,omitzero"`       // wait for a P
	Queued        []Holder `json:"queued,omitempty"`        // their go statements
	Calling       amount   `json:"calling,omitzero"`        // are in system calls or in C
	Callers       []Holder `json:"callers,omitempty"`       // what makes these calls, without those that never ended
	Blocked       amount   `json:"blocked,omitzero"`        // threads asleep in system calls, the runtime's monitor too
	AlwaysBlocked amount   `json:"always_blocked,omitzero"` // the smallest number of them in a look

	// Finalizers run one after the other. Both are shares of the looks, 0 to 1: those that found one at
	// work, and those in which it waited. The holders are the finalizers that were seen, by share.
	Finalizing     amount   `json:"finalizing,omitzero"`
	FinalizerWaits amount   `json:"finalizer_waits,omitzero"`
	Finalizers     []Holder `json:"finalizers,omitempty"`

	// KeepsTimers: a timer stays in memory until it fires. The others are what time.After and time.Tick
	// allocated of the live heap, objects and bytes, and what calls them.
	KeepsTimers  bool     `json:"keeps_timers,omitempty"`
	TimerObjects amount   `json:"timer_objects,omitzero"`
	TimerBytes   amount   `json:"timer_bytes,omitzero"`
	TimerSetters []Holder `json:"timer_setters,omitempty"`

	// From an execution trace. None of these is CPU time.
	GCHeld   amount `json:"gc_held,omitzero"`   // share of the Ps' time held by the collector without idle marking, 0 to 1
	Stopped  amount `json:"stopped,omitzero"`   // share of the wall time with the world stopped, 0 to 1
	RunWait  amount `json:"run_wait,omitzero"`  // seconds from runnable to running, 99th percentile of goroutines
	HeapPeak amount `json:"heap_peak,omitzero"` // bytes of objects, including dead ones not yet swept

	// Shares of the CPU time, 0 to 1.
	OverSize amount `json:"over_size,omitzero"` // what grows with the Ps: scheduler, timers, idle marking, stops
	GCShare  amount `json:"gc_share,omitzero"`  // collections, without idle marking
	Sched    amount `json:"sched,omitzero"`     // the scheduler and timers
	Timers   amount `json:"timers,omitzero"`    // timers alone
	Locks    amount `json:"locks,omitzero"`     // taking, releasing and waiting for locks
	Stacks   amount `json:"stacks,omitzero"`    // growing stacks
	Syscalls amount `json:"syscalls,omitzero"`  // system calls
	// Sites are the functions of the program that ask for this work, largest first.
	Sites []cpuprof.Site `json:"sites,omitempty"`
}

// Holder is a function of the program that holds something, largest first in lists.
type Holder struct {
	Function string  `json:"function"`
	At       string  `json:"at,omitempty"`  // "main.go:31"; "" = unknown
	For      string  `json:"for,omitempty"` // its caller; "" = not told
	N        float64 `json:"n"`
}

// Trend is steady growth, in units per second.
type Trend struct {
	PerSecond float64 `json:"per_second"`
	// Min and Max are the slowest and fastest growth from a quarter of the watch to the next.
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	From string  `json:"from"` // "12 collections"
}

// rounded returns the GOMAXPROCS that Go 1.25 chooses for the quota. It is NaN without a quota.
func (f *Facts) rounded() float64 {
	if q := num(f.Quota); q > 0 {
		return float64(plan.GoProcs(q))
	}
	return math.NaN()
}

// advised returns the GOMAXPROCS that snug chooses for the quota. It is NaN without a quota.
func (f *Facts) advised() float64 {
	if n := plan.ProcsForLimit(num(f.Quota), &plan.Policy{}); n > 0 {
		return float64(n)
	}
	return f.rounded() // above any machine's
}

// fitting returns the GOMAXPROCS that snug chooses in the container.
func (f *Facts) fitting() float64 {
	if f.quotaBinds() {
		return f.advised()
	}
	return math.Ceil(num(f.Cores))
}

// quotaBinds reports whether the quota bounds the useful number of Ps, and not the number
// of CPUs.
func (f *Facts) quotaBinds() bool {
	return f.rounded() > 0 && !(f.rounded() > num(f.CPUs))
}

// spareGrowth returns the percent by which the heap may grow between collections. It
// leaves out stacks and globals, which cannot be seen from outside.
func (f *Facts) spareGrowth() float64 {
	live := num(f.Live)
	if !(live > 0) {
		return math.NaN()
	}
	return 100 * (num(f.Goal) - live) / live
}
