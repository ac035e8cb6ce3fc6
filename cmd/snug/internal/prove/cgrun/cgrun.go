// SPDX-License-Identifier: Apache-2.0

// Package cgrun runs a command in a fresh, real cgroup with a CPU limit, a
// memory limit or both. It is the only writer of cgroupfs in snug.
//
// A command is confined or not started. A small shim (this same program, see
// [ChildMain]) enters the group and reads from inside which group it is in and which
// limits hold there. It becomes the command only after the parent has compared that
// proof with the Spec. If no group can be made, Start returns a [*NoWayError], which
// says what was tried and what would help.
//
// # Where the group is made
//
// The group is below the caller's own group, or as near to it as the kernel allows,
// so that every limit of the caller still holds. Snug writes only to files of groups
// that it created. The ways, in this order:
//
//   - on a machine run by systemd: a transient scope, by systemd-run, for root too.
//     systemd owns the tree there and may move processes that others put in it;
//   - cgroup v2: a directory in the caller's own group, if the controllers are
//     enabled for its children (only the root group may have that and hold
//     processes); cgroup v1: one directory in each hierarchy needed;
//   - cgroup v2, delegated: a directory in the nearest group above the caller's
//     that this user owns and that has the controllers enabled, if the groups in
//     between set no limit.
//
// Controllers may be split between v1 and v2; each is looked up on its own.
//
// A command runs without a group of its own only on request: with Spec.Own, where no
// group can be made, and with Spec.NoLimit, where no limit is wanted.
//
// # Limitations
//
// The proof is taken once, before the command starts. A command with enough
// privilege can leave its group, raise its limits or make itself real-time
// (the CPU quota does not hold real-time threads). A systemd scope disappears with
// its last process. Its counters are read as soon as the command has ended; if
// systemd is quicker, they are unknown. The shim starts within the quota, and slowly
// if the quota is tiny.
//
// The command ignores a signal that was ignored when snug started only if the Go
// runtime leaves it ignored: SIGHUP, SIGINT, SIGCONT and the terminal's three stop
// signals. Others, such as SIGPIPE or SIGQUIT, get their default action. Equal
// signals that reach snug close together may be passed on as one, real-time signals
// too.
//
// A small process, the watchdog, ends the command, all processes that it leaves behind and its group
// when snug ends, even by kill -9. If the watchdog is killed too, the command continues, confined,
// and the next run that makes groups in the same place removes its groups once they are empty.
// systemd removes scopes.
package cgrun

import (
	"os"
	"time"

	"github.com/snug-go/snug/internal/cgroup"
)

// DefaultPeriodMicros is the default CPU period: 100 ms, as in the kernel.
const DefaultPeriodMicros = 100_000

// Bounds of the kernel (kernel/sched/core.c, tg_set_cfs_bandwidth).
const (
	minQuotaMicros = 1000      // for quota and period, min_cfs_quota_period
	maxQuotaMicros = 1<<44 - 1 // max_cfs_runtime
)

// MinMemoryBytes is the smallest accepted memory limit: the shim hands over reliably
// within it, and a small C program runs. An empty Go program needs 1.5 MiB (in 1 MiB
// the kernel killed half of 60).
const MinMemoryBytes = 1 << 20

// Spec is a command and its limits.
type Spec struct {
	// Args is the command and its arguments. [LookPath] looks up Args[0] in PATH of
	// Env, unless it contains a slash.
	Args []string
	// Env is the command's environment; nil means that of this process.
	Env []string
	// Dir is the command's working directory; "" means that of this process.
	Dir string

	// CPUs is the CPU limit in cores, 0 for none. The quota is CPUs times the
	// period, rounded to the microsecond; the kernel's minimum is 1 ms.
	CPUs float64
	// MemoryBytes is the memory limit in bytes, 0 for none, else MinMemoryBytes or
	// more. The kernel rounds it down to whole pages. Swap is denied too, if the
	// kernel can deny it.
	MemoryBytes int64
	// MemoryOptional makes the memory limit a mere safeguard: if no group can be
	// made with it, for example without a memory controller, it is left out, and a
	// warning of the Confinement says why. A CPU limit or a weight must be set
	// as well; they are never left out.
	MemoryOptional bool

	// Weight is the CPU weight of the group when it competes for a CPU, from
	// 1 to 10000 (cpu.weight of cgroup v2); 0 leaves the kernel's 100. The group
	// competes with everything beside it: other groups and single processes,
	// snug itself among them. v1 gets cpu.shares = Weight*1024/100, at least 2.
	Weight int

	// Own runs the command in snug's own groups, within their limits, for example
	// inside a container, where groups cannot be made. It excludes all limits. The
	// limits in force are still read from inside: QuotaMicros, PeriodMicros,
	// BurstMicros and LimitBytes of the Confinement are those of the tightest
	// visible group, 0 if there is none.
	Own bool
	// NoLimit runs the command in no group of its own and reads no limit: nothing is
	// enforced. It excludes all limits.
	//
	// With Own or NoLimit the command has a process group of its own, by which processes
	// that outlived it are found. One that has left that group is not found.
	NoLimit bool
	// Marked puts a variable into the environment, by which processes of a command with NoLimit are
	// found that have left its process group.
	Marked bool
	// RealTime makes a command with NoLimit SCHED_RR of the lowest priority (sched(7)).
	RealTime bool

	// Counters also makes groups in the v1 hierarchies that are needed only for
	// their counters (CPU time, peak memory). On v2 it changes nothing.
	Counters bool

	// Stdin, Stdout and Stderr become the command's files directly, without a copy;
	// nil means this process's own.
	Stdin, Stdout, Stderr *os.File

	// Ready, if not nil, is called when the command is confined and has not yet
	// started. Foreground calls it on another goroutine than the caller's.
	Ready func(Confinement)

	// lead, if not nil, gives the command a process group of its own. It is called
	// with the group's number, the command's pid, as the last step before the
	// command starts.
	lead func(pid int)
}

// A Way is the way in which a group was made.
type Way string

// The ways to make a group.
const (
	WaySystemd   Way = "systemd-scope" // made by systemd
	WayV2        Way = "cgroup-v2"     // below the caller's own group
	WayV1        Way = "cgroup-v1"     // below the caller's own groups, one per hierarchy
	WayHybrid    Way = "cgroup-hybrid" // some controllers v1, some v2; all below the caller's own
	WayDelegated Way = "delegated"     // as V2 or Hybrid, but v2 in a delegated group above the caller's
	WayContainer Way = "container"     // no group is made: Spec.Own
	WayNone      Way = "none"          // no group is made and nothing is enforced: Spec.NoLimit
)

// HostMemory is MemoryFrom if the machine has less memory than the limit.
const HostMemory = cgroup.HostMemory

// Confinement is the groups and limits of a command, as proved from inside.
type Confinement struct {
	Way Way
	PID int
	// CPUGroup and MemoryGroup are the groups that limit CPU and memory, as in
	// /proc/PID/cgroup; "" if the Spec sets no such limit (nor a weight).
	CPUGroup, MemoryGroup string

	// QuotaMicros and PeriodMicros are the CPU limit of the group itself, in
	// microseconds; 0 if the Spec sets none. It differs from the Spec if systemd
	// rounds it, and on v1 if an ancestor allows less (v1 refuses a quota above the
	// parent's).
	QuotaMicros, PeriodMicros int64
	// BurstMicros is the burst of the group in microseconds, 0 for none: with Own it may have one.
	BurstMicros int64
	// CPUs is the smallest quota/period of the group and every visible ancestor, in
	// cores; CPUsFrom is the file that sets it.
	CPUs     float64
	CPUsFrom string

	// LimitBytes is the memory limit of the group itself; 0 if the Spec sets none,
	// or an optional one was left out. MemoryBytes is the smallest limit of the
	// group and every visible ancestor; MemoryFrom is the file that sets it.
	LimitBytes  int64
	MemoryBytes int64
	MemoryFrom  string

	// Policy is the scheduling policy with which the command starts, named as in
	// sched(7); PolicyWas is the inherited one. With a CPU limit or a weight, and
	// without a group, real-time policies become SCHED_OTHER.
	Policy, PolicyWas string

	// Warnings say what works less well than the Spec asks, one sentence each.
	Warnings []string
}

// Usage is what the kernel counted for a group since Start. A nil field is unknown:
// this kernel or this kind of group does not count it.
//
// With Spec.Own the counters are those of snug's group, so they include snug and its
// load generator. MemoryPeakBytes is then nil, because it could be that of an earlier
// command. CPUTime is always the command's. With Spec.NoLimit only CPUTime is set.
type Usage struct {
	// Periods counts the periods in which the group wanted CPU, and
	// ThrottledPeriods those in which its quota ran out.
	Periods, ThrottledPeriods *uint64
	// ThrottledTime is how long tasks were throttled, summed over CPUs: it can
	// grow faster than the clock.
	ThrottledTime *time.Duration
	// Bursts counts the periods that used more than the quota.
	Bursts *uint64
	// CPUTime is user and system time of all processes in the group. With Own and
	// NoLimit it is that of the command, of the children it has waited for, and of
	// the processes alive in its process group.
	CPUTime *time.Duration
	// Pressure is how long some task of the group was runnable and waited for a CPU (the line
	// "some" of Linux Documentation/accounting/psi.rst); cgroup v2 only.
	Pressure *time.Duration
	// MemoryPeakBytes is the largest amount charged so far.
	MemoryPeakBytes *int64
	// OOMKills counts the OOM kills in this group.
	OOMKills *uint64
}

// Exit says how a command ended.
type Exit struct {
	// Code is the exit code when Signal is 0, else 128 + Signal.
	Code int
	// Signal is the number of the signal that ended the command, 0 for none.
	Signal int
	// UserTime and SystemTime are those of the command and of the children it has
	// waited for (getrusage(2)), since the same moment as Child.AtStart: they
	// include only the shim's last steps.
	UserTime, SystemTime time.Duration
	// MaxRSSBytes is the largest resident set of the command or of a child that it
	// has waited for (ru_maxrss), 0 if unknown. The kernel's maximum covers the time
	// before execve(2) too, when it is the shim's, or snug's at the start of the
	// shim, because vfork(2) shares memory. A command that is not at least 1 MiB
	// larger cannot be distinguished from them.
	MaxRSSBytes int64
}

// Result says how a foreground run ended.
type Result struct {
	Exit
	Confinement Confinement
	Usage       Usage
	// Leftovers is the number of processes that outlived the command in its group
	// and were killed.
	Leftovers int
	// Warning says what could not be cleaned up; nil if everything was.
	Warning error
}
