// SPDX-License-Identifier: Apache-2.0

// Package cgrun runs a command in a fresh, real cgroup with a CPU limit, a
// memory limit or both. It is the only writer of cgroupfs in snug.
//
// The promise is: confined or not started. A small shim (this very program,
// see [ChildMain]) enters the group, reads from inside where it is and what
// holds there, and becomes the command only after the parent has compared that
// proof with what was asked. Where no group can be made, Start returns a
// [*NoWayError] that says what was tried and what would help.
//
// # Where the group is made
//
// Always below the caller's own group, or as near to it as the kernel allows,
// so that no limit of the caller is shed; and never by writing to a file that
// snug did not create. The ways, in this order:
//
//   - on a machine run by systemd: a transient scope, asked of systemd-run, as
//     root too. systemd owns the tree there and may move what others put in it;
//   - cgroup v2: a directory in the caller's own group, if the controllers are
//     enabled for its children (only the root group may hold processes and have
//     that), and cgroup v1: one in each hierarchy needed;
//   - cgroup v2, delegated: a directory in the nearest group above the caller's
//     that this user owns and that has the controllers enabled, provided that
//     no limit is set on the groups stepped over.
//
// Controllers may be split between v1 and v2; each is looked up on its own.
//
// Without a group of its own a command runs where nothing can be made (Spec.Own) or
// where nothing is wanted (Spec.NoLimit), and only if that is asked for.
//
// # Limitations
//
// The proof is taken once, before the command starts. A command with enough
// privilege can leave its group, raise its limits or make itself real-time
// (real-time threads are not held by the CPU quota). On the systemd way the
// group disappears with its last process. Its counters are read as soon as the
// command has ended; should systemd be quicker yet, they are unknown. The shim
// itself starts within the quota, slowly in a tiny one.
//
// Signals that are ignored when snug starts are ignored by the command only as far
// as the Go runtime leaves them so: SIGHUP, SIGINT, SIGCONT and the terminal's
// three stop signals; others, as SIGPIPE or SIGQUIT, get their default action.
// Equal signals that come to snug close together may be passed on as one, real-time
// signals too.
//
// After kill -9 of snug the command lives on, confined, unless Spec.Tied asks for a
// watchdog; the next run by the same user removes its groups once they are empty
// (see record). A scope is systemd's to remove.
package cgrun

import (
	"os"
	"time"

	"github.com/snug-go/snug/internal/cgroup"
)

// DefaultPeriodMicros is the CPU period used when none is asked for: the
// kernel's own default, 100 ms.
const DefaultPeriodMicros = 100_000

// Bounds the kernel sets (kernel/sched/core.c, tg_set_cfs_bandwidth).
const (
	minQuotaMicros  = 1000      // for quota and period, min_cfs_quota_period
	maxPeriodMicros = 1_000_000 // max_cfs_quota_period
	maxQuotaMicros  = 1<<44 - 1 // max_cfs_runtime
)

// MinMemoryBytes is the smallest memory limit that is accepted: in it the shim
// hands over reliably, and a small C program runs. An empty Go program needs 1.5
// MiB (in 1 MiB the kernel killed half of 60).
const MinMemoryBytes = 1 << 20

// Spec says what to run, and within which limits.
type Spec struct {
	// Args is the command and its arguments. Args[0] is looked up in PATH of
	// Env unless it holds a slash, as by [LookPath].
	Args []string
	// Env is the command's environment; nil means that of this process.
	Env []string
	// Dir is where the command starts; "" means here.
	Dir string

	// CPUs is the CPU limit in cores, 0 for none. The quota is CPUs times the
	// period, rounded to the microsecond; the kernel wants at least 1 ms of it.
	CPUs float64
	// PeriodMicros is the period of the CPU limit in microseconds, from 1000 to
	// 1000000; 0 means DefaultPeriodMicros.
	PeriodMicros int64
	// MemoryBytes is the memory limit in bytes, 0 for none, else at least
	// MinMemoryBytes. The kernel rounds it down to whole pages. Swap is denied
	// on top of it where the kernel can.
	MemoryBytes int64
	// MemoryOptional makes the memory limit a mere safeguard: where no group can be
	// made with it, as without a memory controller, it is left out, and a warning
	// of the Confinement says so and why. A CPU limit or a weight must be asked for
	// as well; they are never left out.
	MemoryOptional bool

	// BurstMicros is how much unused quota the group may save up and use on top
	// of it in a later period, in microseconds, 0 for none, at most the quota
	// (Linux Documentation/scheduler/sched-bwc.rst; since 5.14). No limit above
	// the group is loosened by it. systemd has no property for it.
	BurstMicros int64
	// Weight is the share of the CPU that the group gets where it competes, from
	// 1 to 10000 (cpu.weight of cgroup v2); 0 leaves the kernel's 100. It counts
	// against everything beside the group: other groups and single processes,
	// snug itself among them. v1 gets cpu.shares = Weight*1024/100, at least 2.
	Weight int

	// Own runs the command in the groups that snug itself is in, within their
	// limits, as inside a container, where groups cannot be made; no limit may be
	// asked for with it. What limits are in force is read from inside as ever:
	// QuotaMicros, PeriodMicros, BurstMicros and LimitBytes of the Confinement are
	// then those of the tightest group that can be seen, 0 where there is none.
	Own bool
	// NoLimit runs the command in no group of its own, and looks at no limit:
	// nothing is enforced. No limit may be asked for with it.
	//
	// With either, Remove and Tied find a process that outlived the command by
	// its process group (Tied gives the command one of its own): one that has
	// left it gets away.
	NoLimit bool

	// Tied has the command, all it leaves behind and its group end with snug,
	// even by kill -9: a small process of snug's, the watchdog, sees to it. One
	// serves the whole program; it starts with the first such command, in a
	// session of its own, and ends with snug. In vain where the watchdog is
	// killed too.
	Tied bool

	// Counters asks for groups in those v1 hierarchies, too, that are needed
	// only to count (CPU time, peak memory). On v2 it changes nothing.
	Counters bool

	// Stdin, Stdout and Stderr become the command's files as they are, nothing
	// is copied; nil means this process's own.
	Stdin, Stdout, Stderr *os.File

	// Ready, if not nil, is called once the command is known to be confined and
	// has not yet started; with Foreground on another goroutine than the caller's.
	Ready func(Confinement)

	// lead, if not nil, gives the command a process group of its own. It is called
	// with its number, the command's pid, last of all before the command starts.
	lead func(pid int)
}

// A Way is how a group came to be.
type Way string

// The ways a group is made.
const (
	WaySystemd   Way = "systemd-scope" // asked of systemd
	WayV2        Way = "cgroup-v2"     // below the caller's own group
	WayV1        Way = "cgroup-v1"     // below the caller's own groups, one a hierarchy
	WayHybrid    Way = "cgroup-hybrid" // some controllers v1, some v2; all below the caller's own
	WayDelegated Way = "delegated"     // as V2 or Hybrid, but v2 in a delegated group above the caller's
	WayContainer Way = "container"     // none is made: Spec.Own
	WayNone      Way = "none"          // none is made and nothing is enforced: Spec.NoLimit
)

// HostMemory is MemoryFrom where the machine has less than was asked for.
const HostMemory = cgroup.HostMemory

// Confinement is what holds for a command, as proved from inside.
type Confinement struct {
	Way Way
	PID int
	// CPUGroup and MemoryGroup are the groups that limit CPU and memory, as in
	// /proc/PID/cgroup; "" where no such limit (nor a weight) was asked for.
	CPUGroup, MemoryGroup string

	// QuotaMicros and PeriodMicros are the CPU limit of the group itself, in
	// microseconds; 0 where none was asked for. It differs from what was asked
	// where systemd rounds it, and on v1 where an ancestor allows less (v1
	// refuses a quota above the parent's).
	QuotaMicros, PeriodMicros int64
	// BurstMicros is the group's burst in microseconds, 0 for none. It is less
	// than was asked for where the quota is.
	BurstMicros int64
	// CPUs is the smallest quota/period of the group and every ancestor that
	// can be seen, in cores; CPUsFrom is the file it stands in.
	CPUs     float64
	CPUsFrom string

	// LimitBytes is the memory limit of the group itself; 0 where none was
	// asked for, or an optional one was left out. MemoryBytes is the smallest of
	// the group and every ancestor that can be seen; MemoryFrom is the file it
	// stands in.
	LimitBytes  int64
	MemoryBytes int64
	MemoryFrom  string

	// Policy is the scheduling policy the command starts with, in the kernel's
	// words (sched(7)); PolicyWas is what it had inherited. With a CPU limit or
	// a weight, and without a group, real-time policies become SCHED_OTHER.
	Policy, PolicyWas string

	// Warnings are things that work less well than asked, one sentence each.
	Warnings []string
}

// Usage is what the kernel counted for a group since Start. A nil field means that
// this kernel or this kind of group does not say.
//
// With Spec.Own the counters are those of the group that snug is in, which they
// share: snug and its load generator are in them. MemoryPeakBytes is nil then; it
// could be that of an earlier command. CPUTime is always the command's. With
// Spec.NoLimit there is nothing but CPUTime.
type Usage struct {
	// Periods counts the periods in which the group wanted CPU, and
	// ThrottledPeriods those in which its quota ran out.
	Periods, ThrottledPeriods *uint64
	// ThrottledTime is how long tasks were held back, summed over CPUs: it can
	// grow faster than the clock.
	ThrottledTime *time.Duration
	// Bursts counts the periods in which more than the quota was used, and
	// BurstTime is how much more, summed over CPUs.
	Bursts    *uint64
	BurstTime *time.Duration
	// CPUTime is user and system time of all processes in the group. With Own and
	// NoLimit: of the command, of the children it has waited for, and, if it has
	// a process group of its own (Tied), of what lives in that.
	CPUTime *time.Duration
	// Pressure is how long some task of the group waited for a CPU while it could
	// have run, and MemoryPressure how long one waited for memory (the lines
	// "some" of Linux Documentation/accounting/psi.rst); cgroup v2 only.
	Pressure, MemoryPressure *time.Duration
	// MemoryPeakBytes is the largest amount charged so far.
	MemoryPeakBytes *int64
	// OOMKills counts processes killed for want of memory in this group.
	OOMKills *uint64
}

// Exit is how a command ended.
type Exit struct {
	// Code is the exit code when Signal is 0, else 128 + Signal.
	Code int
	// Signal is the number of the signal that ended the command, 0 for none.
	Signal int
	// UserTime and SystemTime are the command's own and its waited-for children's
	// (getrusage(2)), from the same moment on as Child.AtStart: without the shim's,
	// but for its last steps.
	UserTime, SystemTime time.Duration
	// MaxRSSBytes is the largest resident set of the command or of a child that it
	// has waited for (ru_maxrss), 0 when that is not known: the kernel keeps the
	// largest of a process from before execve(2) too, and there it is that of snug
	// at the start of the shim, whose memory vfork(2) shares, or the shim's. A
	// command that is not at least 1 MiB larger cannot be told from them.
	MaxRSSBytes int64
}

// Result is how a foreground run ended.
type Result struct {
	Exit
	Confinement Confinement
	Usage       Usage
	// Leftovers is how many processes outlived the command in its group and
	// were killed.
	Leftovers int
	// Warning says what could not be cleaned up; nil when all is gone.
	Warning error
}
