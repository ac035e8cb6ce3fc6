// SPDX-License-Identifier: Apache-2.0

// Package proc reads other processes through /proc, without stopping them and without their
// help. It does not depend on Go programs.
//
// A process is untrusted and changes all the time: it may end, run another program (execve) or
// lie about itself at any moment, and another process may get its number. A [Process] stays
// with the process and program it was opened on, and returns [ErrGone] after that. What was
// read is valid if [Process.Same] returns nil afterwards.
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
	// ErrGone means that the process has ended, is a zombie, or runs another program than the
	// one it was opened on.
	ErrGone = errors.New("process is gone")
	// ErrDenied means that this user may not read the process. Every such error is a
	// [*Denied], which says what would help.
	ErrDenied = errors.New("not permitted")
	// ErrNone means that the process exists and has nothing of the kind: a kernel thread has
	// no executable, an address is not mapped, a kernel does not count run-queue waits.
	ErrNone = errors.New("nothing there")
	// ErrNotLinux means that this system has no /proc to read.
	ErrNotLinux = errors.New("needs Linux")
)

// Denied is a refusal by the kernel. It wraps [ErrDenied].
type Denied struct {
	// What is the file below /proc/PID that was refused.
	What string
	Pid  int
	// UID is the process's effective user as seen from here; -1 = unknown.
	UID int
	// own is the effective user of this program; yama the value of
	// kernel.yama.ptrace_scope, 0 without Yama.
	own, yama int
}

func (d *Denied) Error() string {
	return "/proc/" + strconv.Itoa(d.Pid) + "/" + d.What + ": not permitted"
}

func (d *Denied) Is(target error) bool { return target == ErrDenied }

// Hint returns what would help, on one line. Source: ptrace(2), "Ptrace access mode checking";
// Documentation/admin-guide/LSM/Yama.rst.
func (d *Denied) Hint() string {
	const capability = "CAP_SYS_PTRACE"
	switch {
	case d.What == "stat" || d.What == "status": // any user may read them otherwise
		return HiddenHint
	case d.UID >= 0 && d.UID != d.own && d.own != 0:
		return "run as user " + strconv.Itoa(d.UID) + " or with " + capability
	case d.What == "mem" && d.yama >= 3:
		return "kernel.yama.ptrace_scope=3 forbids it to everyone until the next boot"
	case d.What == "mem" && d.yama > 0:
		return "kernel.yama.ptrace_scope=" + strconv.Itoa(d.yama) + ": run with " + capability
	}
	return "the process is not dumpable, has more capabilities or another user namespace: run with " + capability
}

// HiddenHint is the hint for processes that /proc hides from other users.
const HiddenHint = "/proc is mounted with hidepid: run as the process's user or with CAP_SYS_PTRACE"

// Stat holds figures of a process that any user may read.
type Stat struct {
	// Name is the main thread's name: at most 15 bytes of any kind. A program can change it.
	Name string
	// State is one letter of proc_pid_stat(5): R, S, D, T, Z, ...
	State byte
	// Parent is a pid; 0 = outside of this pid namespace.
	Parent int
	// Kernel is true for a kernel thread, which has neither file nor memory.
	Kernel bool
	// Forked is true for a child that has not run a program of its own since it was forked: for
	// now it is a copy of its parent. In the result of First it is also true if the program was
	// just being loaded.
	Forked bool
	// Threads is the number of threads.
	Threads int
	// CPU is the user and system time of all threads, including ended ones, in steps of 10 ms.
	CPU time.Duration
	// RSSBytes is resident memory; the kernel's count may be off by some pages
	// a CPU.
	RSSBytes int64
	// Started is when the process was forked; zero = the clock could not be read.
	Started time.Time

	// start is the kernel's value of Started, in ticks since boot.
	start uint64
	// loading is true if its program is not fully loaded and its auxiliary vector may lack
	// entries.
	loading bool
}

// Zombie reports whether the process has ended and its parent has not waited for it.
func (s *Stat) Zombie() bool { return s.State == 'Z' || s.State == 'X' || s.State == 'x' }

// Same reports whether two Stats with the same number are of one process: the kernel does not
// reuse a number within a tick of its clock.
func (s *Stat) Same(other *Stat) bool { return s.start == other.start }

// Still reports whether a process shows no activity between two looks: the name, the number of
// threads and the resident memory are the same, and it used less than one step of CPU time.
func (s *Stat) Still(other *Stat) bool {
	return s.Same(other) && s.CPU == other.CPU && s.RSSBytes == other.RSSBytes && s.Threads == other.Threads &&
		s.Name == other.Name && s.Parent == other.Parent
}

// Status holds more figures that any user may read.
type Status struct {
	// UID is the effective user as seen from this user namespace.
	UID int
	// NSPid is the process's number in its own pid namespace. It is Pid if the process has no
	// such namespace or it is unknown.
	NSPid int
	// Peak is the largest resident memory since the program was started, in bytes; 0 = unknown.
	Peak int64
}

// Range is a part of the memory of a process.
type Range struct {
	Addr uint64
	Size int // in bytes, above 0
}

// IO counts what a process has read and written by system calls, from files, pipes and sockets.
type IO struct {
	Bytes, Calls uint64
}

// FileID identifies the file of an executable. Equal IDs mean equal content: the file of a
// running program cannot be written, and writing a file changes its change time.
type FileID struct {
	Dev, Inode     uint64
	Size           int64
	Changed, Wrote int64 // ctime and mtime, ns since 1970
}

// Object is a file of which a process may run code: its executable, a library, a plugin.
type Object struct {
	// Path is the file's path in the process's own mount namespace. It may hold any bytes.
	Path string
	// Deleted reports that the file no longer exists there.
	Deleted bool
	// ID tells files apart that are mapped at the same time: device and inode.
	ID string

	span string // name below map_files
}

// deletedMark is what the kernel adds to the path of a deleted file.
const deletedMark = " (deleted)"

// Delays holds how long the threads of a process ran, and how long they were ready to run and
// waited for a CPU.
type Delays struct {
	Run, Wait time.Duration
	// Threads were counted. Unread were not, because they exceed the maximum.
	Threads, Unread int

	thread map[int]delay
}

// delay holds the times of one thread, in ns.
type delay struct{ run, wait uint64 }

// Since returns the delays after an earlier look. Threads that ended meanwhile are missing.
func (d Delays) Since(earlier Delays) Delays {
	out := Delays{Threads: d.Threads, Unread: d.Unread, thread: map[int]delay{}}
	for tid, now := range d.thread {
		if was, ok := earlier.thread[tid]; ok && was.run <= now.run && was.wait <= now.wait {
			now.run -= was.run
			now.wait -= was.wait
		} // otherwise it is another thread with the same number
		out.add(tid, now)
	}
	return out
}

func (d *Delays) add(tid int, one delay) {
	d.thread[tid] = one
	d.Run = addNs(d.Run, one.run)
	d.Wait = addNs(d.Wait, one.wait)
}

// addNs adds without overflow, whatever a file claims.
func addNs(d time.Duration, ns uint64) time.Duration {
	const most = 1<<63 - 1
	if ns > most || time.Duration(ns) > most-d {
		return most
	}
	return d + time.Duration(ns)
}

// Idle holds how long CPUs have been idle up to now. Waiting for a disk counts as idle; time
// taken by a hypervisor does not.
type Idle struct {
	at   time.Time
	idle time.Duration // sum over all cpus
	cpus []int
}

// Since returns the share of the time since before in which the CPUs were idle, 0 to 1. It is
// unknown if the CPUs are not the same, or if a counter decreased, as the one for waiting for a
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
