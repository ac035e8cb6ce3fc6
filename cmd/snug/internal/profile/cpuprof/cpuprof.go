// SPDX-License-Identifier: Apache-2.0

// Package cpuprof captures, reads, writes and classifies CPU profiles of Go programs.
//
// Capture samples another process by perf events, without its cooperation and without stopping
// it. Read reads an existing profile. Summarize divides the CPU time between the program and
// the duties of the Go runtime. GraphOf returns the calls to draw.
//
// The package does not read binaries: the caller provides a [Symbolizer] that turns
// addresses into names.
package cpuprof

import (
	"errors"
	"fmt"
	"time"
)

const (
	// DefaultRate is in samples per second of CPU time of a thread. It is odd, to avoid running
	// in step with anything, and costs the target about 0.5% of its CPU time.
	DefaultRate = 99
	// MaxRate bounds the load on the target.
	MaxRate = 250
)

// Options configures Capture. The zero value is a good default, except that it has no Duration.
type Options struct {
	// Rate is in samples per second of CPU time of a thread; 0 means DefaultRate, more than
	// MaxRate means MaxRate. The kernel may allow less: Raw.Rate is the rate used.
	Rate int
	// Duration is how long to sample; 0 = until the context or the process ends.
	Duration time.Duration
	// UserOnly leaves out time in the kernel, even if it could be sampled.
	UserOnly bool
}

// rate returns the requested rate, within its bounds.
func (o Options) rate() int {
	if o.Rate <= 0 {
		return DefaultRate
	}
	return min(o.Rate, MaxRate)
}

// Sample is CPU time spent at one place in the code.
type Sample struct {
	TID    int  // thread id, in the sampler's pid namespace
	Kernel bool // time in the kernel; PCs is where it was entered
	// PCs are addresses in the process, innermost first. All except the first are return
	// addresses. It is empty if the thread was not in user code. Samples share them.
	PCs   []uint64
	Count int64
	Nanos int64 // CPU time that the samples stand for
}

// Mapping is a range of addresses with code, from a line of /proc/PID/maps
// (man 5 proc_pid_maps).
type Mapping struct {
	Start, Limit, Offset uint64
	File                 string // "" = anonymous memory
}

// Ended says why a capture stopped.
type Ended string

const (
	Full   Ended = "full"   // the duration or the context ended
	Exited Ended = "exited" // the process ended
	Execed Ended = "execed" // the process ran execve; samples are of the program before it
)

// Raw is the result of a capture, before symbolization.
type Raw struct {
	PID      int
	Start    time.Time
	Duration time.Duration // wall time
	Rate     int           // in samples per second of CPU time
	Kernel   bool          // time in the kernel was sampled
	Samples  []Sample
	Mappings []Mapping
	Ended    Ended

	// Sampled is the CPU time of the samples, in seconds.
	Sampled float64
	// Scheduled is the CPU time of the process in Duration by the scheduler's clock, in
	// seconds, as in /proc/PID/task/*/schedstat, including ended threads. 0 means none, or
	// unknown if ScheduledKnown is false. It always includes time in the kernel.
	Scheduled      float64
	ScheduledKnown bool

	Threads   int // threads sampled
	Unsampled int // threads not sampled, because no more memory could be locked or files opened
	// Lost counts samples that the kernel or the reader had no room for.
	Lost uint64
}

// Accounted returns the ratio of sampled to scheduled CPU time, which is near 1. It is
// unknown, false, if there is no scheduled time to compare with, or if time in the
// kernel was not sampled.
func (r *Raw) Accounted() (ratio float64, known bool) {
	if !r.ScheduledKnown || !r.Kernel || r.Scheduled <= 0 {
		return 0, false
	}
	return r.Sampled / r.Scheduled, true
}

// ErrDenied is the cause of every error of Capture which means that the caller may not
// sample this process. Counters may still be available.
var ErrDenied = errors.New("perf events are not available")

// ErrNotSupported means that capturing needs Linux.
var ErrNotSupported = errors.New("sampling a process needs Linux")

// Denial is the likely reason for ErrDenied.
type Denial string

const (
	// ByLevel: kernel.perf_event_paranoid requires CAP_PERFMON for all events, a
	// level that some distributions add.
	ByLevel Denial = "perf_event_paranoid"
	// BySeccomp: a seccomp filter, which container runtimes set by default.
	BySeccomp Denial = "seccomp"
	// ByOwner: the process belongs to another user, or is not dumpable.
	ByOwner Denial = "owner"
	// ByKernel: the kernel has no perf events, or a seccomp filter hides them.
	ByKernel Denial = "kernel"
	// ByLimit: no more memory can be locked, or no more files opened.
	ByLimit Denial = "limit"
	// ByOther: none of the above is likely.
	ByOther Denial = "unknown"
)

// DeniedError says why perf events are not available. It is ErrDenied.
type DeniedError struct {
	PID    int
	Reason Denial
	// Level is kernel.perf_event_paranoid: -1 to 2, or more on some
	// distributions. LevelKnown is false if it could not be read.
	Level      int
	LevelKnown bool
	Err        error // of the system call
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("cannot sample process %d by perf events: %v: %s", e.PID, e.Err, e.why())
}

func (e *DeniedError) why() string {
	switch e.Reason {
	case ByLevel:
		return fmt.Sprintf("kernel.perf_event_paranoid is %d and requires CAP_PERFMON", e.Level)
	case BySeccomp:
		return "a seccomp filter of this process probably forbids it"
	case ByOwner:
		return "the process belongs to another user or is not dumpable, which requires CAP_PERFMON or CAP_SYS_PTRACE"
	case ByKernel:
		return "the kernel has none, or a seccomp filter hides them"
	case ByLimit:
		return "no more memory can be locked (ulimit -l, kernel.perf_event_mlock_kb) or files opened (ulimit -n)"
	}
	return "the reason is unknown"
}

func (e *DeniedError) Unwrap() error { return e.Err }

// Is reports whether target is ErrDenied.
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }
