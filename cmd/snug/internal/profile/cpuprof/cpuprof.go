// SPDX-License-Identifier: Apache-2.0

// Package cpuprof takes, reads, writes and sorts CPU profiles of Go programs.
//
// Capture samples another process by perf events, without a word from it, and
// without stopping it. Read takes a profile that somebody else made. Summarize
// says what the CPU time went to: the program itself, or one of the duties of
// the Go runtime. GraphOf is what to draw of it.
//
// What it does not do: it knows nothing of binaries. Who has a [Symbolizer]
// turns addresses into names.
package cpuprof

import (
	"errors"
	"fmt"
	"time"
)

const (
	// DefaultRate is how often a thread is sampled, in samples for each second
	// of CPU time. It is odd, so as not to run in step with anything, and costs
	// the target about half a percent.
	DefaultRate = 99
	// MaxRate bounds what a target can be made to bear.
	MaxRate = 250
)

// Options say how to sample. The zero value is what is wanted, except for a
// Duration.
type Options struct {
	// Rate is in samples for each second of CPU time of a thread; 0 is
	// DefaultRate, more than MaxRate is MaxRate. The kernel may allow less:
	// Raw.Rate is what was used.
	Rate int
	// Duration is how long to sample; 0 is until the context ends or the
	// process does.
	Duration time.Duration
	// UserOnly leaves out what the kernel does for the process even where it
	// may be seen.
	UserOnly bool
}

// rate is the rate asked for, within its bounds.
func (o Options) rate() int {
	if o.Rate <= 0 {
		return DefaultRate
	}
	return min(o.Rate, MaxRate)
}

// Sample is CPU time that was spent at one place of the code.
type Sample struct {
	TID    int  // thread, as the sampler numbers threads
	Kernel bool // the kernel was at work; PCs is where it was entered
	// PCs are addresses in the process, innermost first. All but the first are
	// return addresses. Empty is a thread that was not in user code at all.
	// Samples share them.
	PCs   []uint64
	Count int64
	Nanos int64 // CPU time that the samples stand for
}

// Mapping is a range of addresses that holds code, a line of /proc/PID/maps
// (man 5 proc_pid_maps).
type Mapping struct {
	Start, Limit, Offset uint64
	File                 string // "" is memory without a file
}

// Ended is why a capture stopped.
type Ended string

const (
	Full   Ended = "full"   // the time was over, or the context
	Exited Ended = "exited" // the process ended
	Execed Ended = "execed" // the process became another program: samples are of the first
)

// Raw is what was sampled, before addresses have names.
type Raw struct {
	PID      int
	Start    time.Time
	Duration time.Duration // wall time
	Rate     int           // in samples for each second of CPU time
	Kernel   bool          // time in the kernel was sampled too
	Samples  []Sample
	Mappings []Mapping
	Ended    Ended

	// Sampled is the CPU time that the samples account for, in seconds.
	Sampled float64
	// Scheduled is the CPU time of the process in that time by the clock of the
	// scheduler, in seconds: the same that /proc/PID/task/*/schedstat count,
	// ended threads included. 0 is none, or unknown when ScheduledKnown is not
	// set. It has the time in the kernel always in it.
	Scheduled      float64
	ScheduledKnown bool

	Threads   int // that were sampled
	Unsampled int // threads that could not be: no memory may be locked any more, or no file opened
	// Lost are samples that the kernel or this reader had no room for.
	Lost uint64
}

// Accounted is the share of the scheduled CPU time that samples account for, a
// ratio near 1. It is unknown, false, when there is nothing to compare with, and
// when time in the kernel was not sampled.
func (r *Raw) Accounted() (ratio float64, known bool) {
	if !r.ScheduledKnown || !r.Kernel || r.Scheduled <= 0 {
		return 0, false
	}
	return r.Sampled / r.Scheduled, true
}

// ErrDenied is the cause of every error of Capture that means: this process
// cannot be sampled by who asked. Counters may still be had.
var ErrDenied = errors.New("perf events cannot be had")

// ErrNotSupported: capturing needs Linux.
var ErrNotSupported = errors.New("sampling a process needs Linux")

// Denial is the likely reason for ErrDenied.
type Denial string

const (
	// ByLevel: kernel.perf_event_paranoid asks for CAP_PERFMON for any event, a
	// level that distributions add to the kernel's own.
	ByLevel Denial = "perf_event_paranoid"
	// BySeccomp: a filter of system calls, as container runtimes set by default.
	BySeccomp Denial = "seccomp"
	// ByOwner: the process is another user's, or not dumpable.
	ByOwner Denial = "owner"
	// ByKernel: the kernel has no perf events, or a filter says so.
	ByKernel Denial = "kernel"
	// ByLimit: no more memory may be locked, or no more files opened.
	ByLimit Denial = "limit"
	// ByOther: none of these is likely.
	ByOther Denial = "unknown"
)

// DeniedError says why perf events cannot be had. It is ErrDenied.
type DeniedError struct {
	PID    int
	Reason Denial
	// Level is kernel.perf_event_paranoid, -1 to 2 and more on some
	// distributions; LevelKnown is false where it cannot be read.
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
		return fmt.Sprintf("kernel.perf_event_paranoid is %d and asks for CAP_PERFMON", e.Level)
	case BySeccomp:
		return "a seccomp filter of this process is likely to forbid it"
	case ByOwner:
		return "the process is another user's or guards itself, which asks for CAP_PERFMON or CAP_SYS_PTRACE"
	case ByKernel:
		return "the kernel has none, or a seccomp filter hides them"
	case ByLimit:
		return "no more memory may be locked (ulimit -l, kernel.perf_event_mlock_kb) or files opened (ulimit -n)"
	}
	return "the reason is not known"
}

func (e *DeniedError) Unwrap() error { return e.Err }

// Is makes every such error an ErrDenied.
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }
