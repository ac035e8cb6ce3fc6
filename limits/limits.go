// SPDX-License-Identifier: Apache-2.0

// Package limits reads the resources a container gives a process: CPU quota, affinity and
// weight, memory limits, and the kernel's counters for them. It reads cgroup v2, v1 and
// mixtures of both, at every level visible to the process. It makes no decisions and writes
// nothing.
//
// It distinguishes none (there is no limit), unknown (it could not be read) and an error
// (there is no such process). A file that is missing, empty, unreadable or malformed makes
// figures unknown but is never an error, because programs read their limits at start.
//
// Self reads the calling process's limits, and Read those of another process or of a saved
// tree. Open keeps the files open for repeated reads. A Follower polls the calling process's
// limits only, with the least code.
//
// Programs can size their own pools and caches:
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

// ErrNotSupported is returned (wrapped) when this machine is to be read and is not Linux.
var ErrNotSupported = errors.New("reading this machine's limits needs Linux")

// Limits are the visible resources of one process. Their slices are shared between reads and
// must not be changed.
type Limits struct {
	CPU      CPU
	Memory   Memory
	Gaps     []Gap     // what could not be read; empty if everything was
	Warnings []Warning // what you should know about the figures
}

// CPU holds the CPU limits of a container.
type CPU struct {
	// Cores is the CPU time the process can use on average, in CPUs: the smaller of Quota
	// and Affinity. It is unknown if neither can be read.
	Cores Value[float64]
	// Quota is the smallest quota/period over every visible level, in cores,
	// as the kernel enforces it (kernel doc: scheduler/sched-bwc.rst). It is
	// not clamped to the machine: the kernel accepts 17592186044.415 cores.
	Quota       Value[float64]
	QuotaSource Source // the level that sets Quota
	// Affinity is the number of CPUs that the threads of the process may use together, from
	// sched_getaffinity(2) or Cpus_allowed in proc_pid_status(5). One pinned thread does not
	// shrink it.
	Affinity Value[int]
	// Levels are the visible cgroups, from the process's own outwards.
	Levels []CPULevel
	// Throttle holds the bandwidth controller's counters of the level that sets Quota, or of
	// the process's own group if no level does.
	Throttle Throttle

	// The fields below are read only with Detail.

	// Weight is v2's cpu.weight: 1 to 10000, by default 100.
	Weight Value[int]
	// Shares is v1's cpu.shares: 2 to 262144, by default 1024.
	Shares Value[int]
	// RequestHints are the CPU requests, in cores, that Weight or Shares may stand for. One is a
	// hint, two are ambiguous, none says nothing.
	RequestHints []float64
	// Burst is the unused quota that the group may accumulate, in cores of one period
	// (cpu.max.burst, cpu.cfs_burst_us). If it is above 0, Throttled understates how often
	// the quota was used up.
	Burst Value[float64]
	// Cpuset is the group's effective CPU list ("0-3,8"), which explains Affinity. It is ""
	// if it cannot be read.
	Cpuset   string
	Pressure Pressure

	// RuntimeLevel is the level whose quota the Go runtime reads since Go 1.26, or nil if there
	// is none it could read. For the calling process, with Detail, it is looked up as the
	// runtime does: the first mount that fits, hidden or not. Otherwise it is the process's
	// own cgroup. RuntimeLevel125 is the same for Go 1.25, which looks elsewhere and often finds
	// nothing.
	RuntimeLevel, RuntimeLevel125 *CPULevel
}

// CPULevel is the bandwidth limit of one visible cgroup.
type CPULevel struct {
	_ [0]func() // not comparable: == would be 700 bytes of code in every program

	Source
	Quota Value[float64] // quota/period, in cores
	// GoQuota is Quota as the Go runtime reads this text since Go 1.25 (internal/runtime/cgroup,
	// ReadCPULimit), in cores. It is also none if the runtime cannot parse the text.
	GoQuota Value[float64]
	// CrashesGo: with this quota a plain program of Go 1.25 to 1.27 that runs directly in
	// this cgroup, and finds it, crashes before main or when the quota is set.
	CrashesGo bool
}

// Throttle holds the bandwidth controller's counters since the group was created.
type Throttle struct {
	Periods   Value[int64]  // periods in which the group was runnable
	Throttled Value[int64]  // of these, the periods in which it used up the quota
	Time      time.Duration // time throttled, summed over CPUs: it may exceed wall time
}

// Memory holds the memory limits of a container.
type Memory struct {
	_ [0]func() // not comparable: == would be 700 bytes of code in every program

	// Hard is the number of bytes above which the kernel kills the process: the smallest of
	// memory.max, v1's limit and hierarchical limit, and the host's memory. It is none if no
	// level sets a limit, however small the host is. If lxcfs shows the host's memory, which is
	// then the container's, that is a limit too.
	Hard       Value[int64]
	HardSource Source // the file that sets Hard
	// Soft is the number of bytes above which the kernel throttles allocation: the smaller of
	// Hard and memory.high.
	Soft       Value[int64]
	SoftSource Source
	// HardShared is true if Hard is set on a level above the process's own group: other groups
	// may use the same bytes.
	HardShared bool
	// SoftShared is the same for Soft.
	SoftShared bool
	// Current is the memory charged to the process's own group, including page cache.
	// SharedCurrent is the same for the level that sets Hard, if HardShared is true.
	Current, SharedCurrent Value[int64]
	// Host is MemTotal, less the memory that is reserved as huge pages.
	Host Value[int64]
	// AddressSpace is the number of bytes that the calling process may still map: the smaller of what
	// RLIMIT_AS and RLIMIT_DATA leave (getrlimit(2)). It is none if they are infinite, and unknown
	// for other processes.
	AddressSpace Value[int64]
	// Unreclaimable is the number of bytes that the kernel cannot reclaim without swap: all
	// but page cache and, on v2, reclaimable slab. It counts the level that sets Soft, or the
	// process's own group if no visible level does. The kernel's sums may lag by 256 KiB for
	// each CPU. It is read only with the part Unreclaimable, and is never none.
	Unreclaimable Value[int64]

	// The fields below are read only with Detail.

	// SwapMax and SwapCurrent are reported but never counted as memory.
	SwapMax, SwapCurrent Value[int64]
	Events               MemoryEvents
	Pressure             Pressure
}

// MemoryEvents are the kernel's counters for the process's own group and its descendants
// (memory.events; v1: memory.failcnt as Max and oom_kill of memory.oom_control).
type MemoryEvents struct {
	High, Max, OOM, OOMKills Value[int64]
}

// Pressure is the pressure stall information of the process's own group (kernel doc:
// accounting/psi.rst): the share of the last 10 s in which some or all tasks waited, 0 to 1,
// and the totals since the group was created.
type Pressure struct {
	SomeAvg10, FullAvg10 Value[float64]
	SomeTotal, FullTotal time.Duration
}
