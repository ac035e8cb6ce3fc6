// SPDX-License-Identifier: Apache-2.0

// Package limits reads what a container gives a process: CPU quota, affinity
// and weight, memory limits, and what the kernel counts about them. It reads
// cgroup v2, v1 and mixtures of both, every level that can be seen from here,
// and it never decides anything and never writes.
//
// Three kinds of nothing are kept apart: none (there is no limit), unknown (it
// could not be read) and an error (there is no such process). Files that are
// missing, empty, unreadable or full of garbage make figures unknown; they are
// never an error, because other people's programs read limits at start-up.
//
// Self reads this process's limits, and Read those of another or of a saved tree. Open
// keeps the files open, to read again and again. A Follower reads this process's limits
// alone, in the smallest code.
//
// Programs can size their own pools and caches from it:
//
//	l, err := limits.Self()
//	if bytes, ok := l.Memory.Hard.Get(); err == nil && ok {
//		cache.SetMaxBytes(bytes / 4)
//	}
package limits

import (
	"errors"
	"time"
)

// ErrNotSupported is returned (wrapped) when the live machine is asked for
// somewhere else than on Linux.
var ErrNotSupported = errors.New("reading this machine's limits needs Linux")

// Limits is what a container gives one process, as far as it can be seen.
// Slices in it are shared between reads and must not be changed.
type Limits struct {
	CPU      CPU
	Memory   Memory
	Unknown  []Gap     // what could not be read; empty when all of it could
	Warnings []Warning // what a reader of the figures should know
}

// CPU is the CPU side of a container.
type CPU struct {
	// Cores is how many CPUs' worth of time the process can use on average:
	// the smaller of Quota and Affinity. Unknown when neither can be read.
	Cores Value[float64]
	// Quota is the smallest quota/period over every visible level, in cores,
	// as the kernel enforces it (kernel doc: scheduler/sched-bwc.rst). It is
	// not clamped to the machine: the kernel accepts 17592186044.415 cores.
	Quota  Value[float64]
	Source Source // the level that sets Quota
	// Affinity is the number of CPUs the process may run on, from
	// sched_getaffinity(2) or Cpus_allowed in proc_pid_status(5).
	Affinity Value[int]
	// Levels are the visible cgroups from the process's own outwards.
	Levels []CPULevel
	// Throttle counts what bandwidth control did at the level that sets Quota,
	// or in the process's own group when no level does.
	Throttle Throttle

	// The rest is read only with Detail.

	// Weight is cpu.weight of v2: 1 to 10000, 100 unless someone set it.
	Weight Value[int]
	// Shares is cpu.shares of v1: 2 to 262144, 1024 unless someone set it.
	Shares Value[int]
	// Requests are the CPU requests, in cores, that Weight or Shares may stand
	// for. One is a hint; two are ambiguous; none says nothing. See Requests.
	Requests []float64
	// Burst is how much unused quota the group may save up, in cores of one
	// period (cpu.max.burst, cpu.cfs_burst_us). Above 0 it makes Throttled
	// understate how often the quota was used up.
	Burst Value[float64]
	// Cpuset is the group's effective CPU list ("0-3,8"). It explains Affinity,
	// nothing more. "" when it cannot be read.
	Cpuset   string
	Pressure Pressure

	// Runtime is the level whose quota the Go runtime reads since Go 1.25, nil where
	// there is none that it could. For this process, read with Detail, it is looked up
	// as the runtime does it: the first mount that fits, hidden or not. Else it is the
	// process's own cgroup.
	Runtime *CPULevel
}

// CPULevel is one visible cgroup's bandwidth limit.
type CPULevel struct {
	_ [0]func() // not comparable: == would be 700 bytes of code in every program

	Source
	Quota Value[float64] // quota/period, in cores
	// Go is Quota as the Go runtime reads it since Go 1.25 (internal/runtime/cgroup,
	// ReadCPULimit), in cores: none also where it does not understand the text.
	Go Value[float64]
	// CrashesGo: the quota ends plain programs of Go 1.25 to 1.27 that run directly in
	// this cgroup, before main or when it is set live.
	CrashesGo bool
}

// Throttle is bandwidth control's own count since the group was made.
type Throttle struct {
	Periods   Value[int64]  // periods in which the group wanted to run
	Throttled Value[int64]  // of these, how many ran into the quota
	Time      time.Duration // waiting time, summed over CPUs: it may exceed wall time
}

// Memory is the memory side of a container.
type Memory struct {
	_ [0]func() // not comparable: == would be 700 bytes of code in every program

	// Hard is the number of bytes above which the kernel kills: the smallest
	// of memory.max, v1's limit and hierarchical limit, and the host's memory.
	// None when no level sets a limit, however small the host is.
	Hard   Value[int64]
	Source Source // the file that sets Hard
	// Soft is the number of bytes above which the kernel throttles allocation:
	// the smallest of Hard and memory.high.
	Soft       Value[int64]
	SoftSource Source
	// Shared is true when Hard is set on a level above the process's own
	// group, so that other groups may use the same bytes.
	Shared bool
	// SoftShared is the same for Soft.
	SoftShared bool
	// Current is what the process's own group is charged with, page cache
	// included. SharedCurrent is the same for the level that sets Hard when
	// Shared is true.
	Current, SharedCurrent Value[int64]
	// Host is MemTotal.
	Host Value[int64]
	// Unreclaimable is how many bytes of what is charged to the level that sets
	// Soft, or to the process's own group when no visible level does, the kernel
	// cannot take back without swap: all but page cache and, on v2, reclaimable
	// slab. The kernel's sums may lag by 256 KiB for each CPU. Read only with the
	// part Unreclaimable; never none.
	Unreclaimable Value[int64]

	// The rest is read only with Detail.

	// SwapMax and SwapCurrent are reported and never counted as memory.
	SwapMax, SwapCurrent Value[int64]
	Events               MemoryEvents
	Pressure             Pressure
}

// MemoryEvents are the kernel's counts for the process's own group and the
// groups below it (memory.events; v1: memory.failcnt as Max and oom_kill of
// memory.oom_control).
type MemoryEvents struct {
	High, Max, OOM, OOMKills Value[int64]
}

// Pressure is pressure stall information of the process's own group (kernel
// doc: accounting/psi.rst): the share of the last 10 s in which some or all
// tasks waited, 0 to 1, and the totals since the group was made.
type Pressure struct {
	Some10, Full10       Value[float64]
	SomeTotal, FullTotal time.Duration
}
