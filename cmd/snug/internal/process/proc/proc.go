// SPDX-License-Identifier: Apache-2.0

// Package proc sees other processes through /proc, without stopping them and
// without their help. It knows nothing of Go.
//
// A process is untrusted and in motion: it may end, run another program
// (execve) or lie about itself at any moment, and its number may be given to
// another one. A [Process] stays with what it was opened on, and says [ErrGone]
// afterwards; what was read before is right if [Process.Same] says so after.
//
// Formats: proc_pid_stat(5), proc_pid_status(5), proc_pid_auxv(5),
// proc_pid_environ(5), proc_pid_mem(5), Documentation/scheduler/sched-stats.rst.
package proc

import (
	"errors"
	"slices"
	"strconv"
	"time"
)

var (
	// ErrGone: the process has ended, is a zombie, or runs another program
	// than the one it was opened on.
	ErrGone = errors.New("process is gone")
	// ErrDenied: the kernel does not let this user look. Every such error is a
	// [*Denied], which says what would help.
	ErrDenied = errors.New("not permitted")
	// ErrNone: there is no such thing, in a process that is there: a kernel
	// thread has no executable, memory ends somewhere, a kernel may count no
	// run-queue waits.
	ErrNone = errors.New("nothing there")
	// ErrNotLinux: other systems have no /proc to read.
	ErrNotLinux = errors.New("needs Linux")
)

// Denied is a refusal of the kernel. It is an [ErrDenied].
type Denied struct {
	// What was asked for: a file's name below /proc/PID.
	What string
	Pid  int
	// UID is the process's effective user as seen from here; -1 when unknown.
	UID int
	// own is the effective user of this program; yama the value of
	// kernel.yama.ptrace_scope, 0 without Yama.
	own, yama int
}

func (d *Denied) Error() string {
	return "not permitted, /proc/" + strconv.Itoa(d.Pid) + "/" + d.What
}

func (d *Denied) Is(target error) bool { return target == ErrDenied }

// Hint is what would help, on one line. Source: ptrace(2), "Ptrace access mode
// checking"; Documentation/admin-guide/LSM/Yama.rst.
func (d *Denied) Hint() string {
	const capability = "CAP_SYS_PTRACE"
	switch {
	case d.UID >= 0 && d.UID != d.own && d.own != 0:
		return "run as user " + strconv.Itoa(d.UID) + " or with " + capability
	case d.What == "mem" && d.yama >= 3:
		return "kernel.yama.ptrace_scope=3 forbids it to everyone until the next boot"
	case d.What == "mem" && d.yama > 0:
		return "kernel.yama.ptrace_scope=" + strconv.Itoa(d.yama) + ": run with " + capability
	}
	return "the process is not dumpable, has more capabilities or another user namespace: run with " + capability
}

// Stat is what the kernel tells everybody about a process.
type Stat struct {
	// Name is the main thread's, at most 15 bytes of any kind; a program can
	// change it.
	Name string
	// State is one letter of proc_pid_stat(5): R, S, D, T, Z, ...
	State byte
	// Parent is a pid, 0 when it is outside of this pid namespace.
	Parent int
	// Kernel is true for a kernel thread, which has neither file nor memory.
	Kernel bool
	// Forked is true for a child that has run no program of its own since it
	// was forked: it is, perhaps for a moment, a copy of its parent. What
	// First gives has it also where the program was just being loaded.
	Forked bool
	// Threads is their number.
	Threads int
	// CPU is user and system time of all threads, ended ones too, in steps of
	// 10 ms.
	CPU time.Duration
	// RSSBytes is resident memory; the kernel's count may be off by some pages
	// a CPU.
	RSSBytes int64
	// Started is when the process was forked; zero when the clock could not be
	// read.
	Started time.Time

	// start is Started as the kernel writes it, in ticks since boot.
	start uint64
	// loading: its program is not loaded yet, and its auxiliary vector may lack entries.
	loading bool
}

// Zombie is true for a process that has ended and was not waited for.
func (s *Stat) Zombie() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }

// Same reports whether two are of one process: the kernel does not give a number twice
// within a tick of its clock.
func (s *Stat) Same(other *Stat) bool { return s.start == other.start }

// Still reports whether nothing is seen to have happened between two looks at a process: it
// has the same name, number of threads and resident memory, and less than a step of CPU time
// was used.
func (s *Stat) Still(other *Stat) bool {
	return s.Same(other) && s.CPU == other.CPU && s.RSSBytes == other.RSSBytes && s.Threads == other.Threads &&
		s.Name == other.Name && s.Parent == other.Parent
}

// Status is more of what the kernel tells everybody.
type Status struct {
	// UID is the effective user as seen from this user namespace.
	UID int
	// NSPid is the process's number in its own pid namespace; Pid when it has
	// none of its own or none is known.
	NSPid int
	// CPUs is the number of CPUs the main thread may run on, online or not; 0
	// when the kernel does not say. See [Process.Affinity].
	CPUs int
}

// FileID says which file an executable is. Two that are equal have the same
// content: a running program's file cannot be written, and a file that was
// written has another change time.
type FileID struct {
	Dev, Inode     uint64
	Size           int64
	Changed, Wrote int64 // ctime and mtime, ns since 1970
}

// Delays is how long the threads of a process ran, and how long they waited
// for a CPU although they could have run.
type Delays struct {
	Run, Wait time.Duration
	// Threads were counted; Unread were not, being more than asked for.
	Threads, Unread int

	thread map[int]delay
}

// delay is one thread's, in ns.
type delay struct{ run, wait uint64 }

// Since is what came after an earlier look. A thread that ended meanwhile
// takes what it did since then with it.
func (d Delays) Since(earlier Delays) Delays {
	out := Delays{Threads: d.Threads, Unread: d.Unread, thread: map[int]delay{}}
	for tid, now := range d.thread {
		if was, ok := earlier.thread[tid]; ok && was.run <= now.run && was.wait <= now.wait {
			now.run -= was.run
			now.wait -= was.wait
		} // otherwise it is another thread that was given the same number
		out.add(tid, now)
	}
	return out
}

func (d *Delays) add(tid int, one delay) {
	d.thread[tid] = one
	d.Run = addNs(d.Run, one.run)
	d.Wait = addNs(d.Wait, one.wait)
}

// addNs adds without ever wrapping around, whatever a file claims.
func addNs(d time.Duration, ns uint64) time.Duration {
	const most = 1<<63 - 1
	if ns > most || time.Duration(ns) > most-d {
		return most
	}
	return d + time.Duration(ns)
}

// Idle is how long CPUs have had nothing to do, up to a moment. Waiting for a disk is
// nothing to do, and what a hypervisor took is not.
type Idle struct {
	at   time.Time
	idle time.Duration // of all of cpus together
	cpus []int
}

// Since is the part of the time since before in which they were idle, 0 to 1. It is not
// known when they are other CPUs, or when a count went back, as that of waiting for a
// disk may.
func (i Idle) Since(before Idle) (part float64, known bool) {
	n := len(i.cpus)
	all := i.at.Sub(before.at) * time.Duration(n)
	idle := i.idle - before.idle
	if n == 0 || !slices.Equal(i.cpus, before.cpus) || all <= 0 || idle < 0 || idle > all+all/20+time.Duration(n)*tick {
		return 0, false
	}
	return min(1, idle.Seconds()/all.Seconds()), true
}
