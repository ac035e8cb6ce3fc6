// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Child is a confined command.
type Child struct {
	// Confinement is what was proved before the command started.
	Confinement Confinement
	// AtStart is the Usage just before Ready: that of the shim. If both are known, a
	// counter of Usage minus that of AtStart is the command's, plus the shim's last
	// steps: receiving the go-ahead, and execve(2) (together about as much as any
	// process needs to start). A peak cannot be subtracted; one that is no larger
	// than AtStart's is the shim's.
	AtStart Usage

	pid   int
	group *group
	shim  used // used by the shim before the go-ahead

	waiting sync.Mutex // held while waiting

	mu     sync.Mutex
	reaped bool // its pid may belong to another process
	exit   Exit
	failed error // of waiting: other code has reaped it
	atEnd  Usage // read before it was reaped
}

// used is what getrusage(2) reports of a process itself.
type used struct {
	User, System time.Duration
	MaxRSS       int64 // bytes
}

// PID returns the command's process id.
func (c *Child) PID() int { return c.pid }

// Signal sends a signal to the command. After Wait has returned it does nothing.
func (c *Child) Signal(sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return nil
	}
	return os.NewSyscallError("kill", unix.Kill(c.pid, sig))
}

// Wait waits for the command to end. You can call it again, and from several
// goroutines: all calls return the same. The error is ECHILD if other code has reaped
// the command, or if SIGCHLD is ignored; how the command ended is then unknown.
func (c *Child) Wait() (Exit, error) {
	for {
		stopped, err := c.wait(false, false)
		if err != nil || stopped == 0 {
			c.mu.Lock()
			defer c.mu.Unlock()
			return c.exit, err
		}
	}
}

// wait waits until the command ends or, if stops is set, is stopped. It returns the
// signal that stopped the command, else 0. If all is set it reaps every other
// child that ends meanwhile, as pid 1 must.
func (c *Child) wait(stops, all bool) (stopped syscall.Signal, err error) {
	c.waiting.Lock()
	defer c.waiting.Unlock()
	c.mu.Lock()
	done, err := c.reaped, c.failed
	c.mu.Unlock()
	if done {
		return 0, err
	}
	idtype, id, options := unix.P_PID, c.pid, unix.WEXITED|unix.WNOWAIT
	if all {
		idtype, id = unix.P_ALL, 0
	}
	if stops {
		options |= unix.WSTOPPED
	}
	for {
		// First find out which child it is, then reap it under the lock, so that
		// Signal never reaches a reused pid.
		var info unix.Siginfo
		if err := unix.Waitid(idtype, id, &info, options, nil); err == unix.EINTR {
			continue
		} else if err != nil {
			return 0, c.lost(os.NewSyscallError("waitid", err))
		}
		// si_pid is the first field that x/sys leaves unnamed (sigaction(2)).
		pid := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), siginfoPID)))
		if pid != c.pid {
			unix.Wait4(pid, nil, unix.WNOHANG|unix.WUNTRACED, nil)
			continue
		}
		// systemd removes a scope without processes, and a zombie does not count as one.
		// The counters are final from here on, so read them at once.
		atEnd := c.group.usage()
		c.mu.Lock()
		var ws unix.WaitStatus
		var ru unix.Rusage
		flags := unix.WNOHANG
		if stops {
			flags |= unix.WUNTRACED
		}
		got, err := unix.Wait4(c.pid, &ws, flags, &ru)
		if got == c.pid && !ws.Stopped() {
			c.reaped, c.exit, c.atEnd = true, exitOf(ws, ru, c.shim), atEnd
		}
		c.mu.Unlock()
		switch {
		case err != nil && err != unix.EINTR:
			return 0, c.lost(os.NewSyscallError("wait4", err))
		case got == c.pid && ws.Stopped():
			return ws.StopSignal(), nil
		case got == c.pid:
			return 0, nil
		}
	}
}

// siginfoPID is the offset of si_pid in siginfo_t on 64-bit Linux.
const siginfoPID = 16

// lost records that waiting failed. If there is no such child any more, its pid may
// belong to another process and is not signalled.
func (c *Child) lost(err error) error {
	if errors.Is(err, unix.ECHILD) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reaped, c.failed = true, err
	}
	return err
}

// rssNoise is how much the shim's resident set may grow between its report and
// execve(2), in bytes.
const rssNoise = 1 << 20

// exitOf returns how a command ended, without what the shim had used.
func exitOf(ws unix.WaitStatus, ru unix.Rusage, shim used) Exit {
	all := usedOf(ru)
	// The kernel splits the time by its ticks, so one part may be less than the shim's;
	// the sum is exact (cputime_adjust, kernel/sched/cputime.c).
	user, system := all.User-shim.User, all.System-shim.System
	e := Exit{
		Code:       ws.ExitStatus(),
		UserTime:   max(0, user+min(0, system)),
		SystemTime: max(0, system+min(0, user)),
	}
	if all.MaxRSS > shim.MaxRSS+rssNoise {
		e.MaxRSSBytes = all.MaxRSS
	}
	if ws.Signaled() {
		e.Signal = int(ws.Signal())
		e.Code = 128 + e.Signal
	}
	return e
}

// usedOf converts the result of getrusage(2) or wait4(2).
func usedOf(ru unix.Rusage) used {
	return used{time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano()), ru.Maxrss * 1024}
}

// Usage reads the group's counters. They start at zero with the group and include the
// shim's work, see AtStart. After the group is gone it returns their values at the end
// of the command.
func (c *Child) Usage() Usage {
	c.mu.Lock()
	atEnd := c.atEnd
	c.mu.Unlock()
	u := c.group.usage().or(atEnd)
	if c.group.ungrouped {
		u.CPUTime = c.cpuTime()
	}
	return u
}

// Remove kills the processes left in the group, as a container ends with its first
// process, and removes the group, even if Wait fails. Call it after Wait; before, it
// kills the command itself. It returns how many processes it killed. After an error
// the watchdog tries again when snug ends.
func (c *Child) Remove() (leftovers int, err error) {
	c.Signal(syscall.SIGKILL)
	_, err = c.Wait()
	leftovers = c.group.clear()
	return leftovers, errors.Join(err, c.group.remove())
}
