// SPDX-License-Identifier: Apache-2.0

//go:build amd64 || arm64

package cgrun

import (
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

	pid   int
	group *group

	mu     sync.Mutex
	reaped bool // its pid may belong to somebody else
	exit   Exit
}

// PID returns the command's process id.
func (c *Child) PID() int { return c.pid }

// Signal sends a signal to the command. After the command was waited for it
// does nothing.
func (c *Child) Signal(sig syscall.Signal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.reaped {
		return nil
	}
	return os.NewSyscallError("kill", unix.Kill(c.pid, sig))
}

// Wait waits for the command to end. It may be called again.
func (c *Child) Wait() (Exit, error) {
	for {
		stopped, err := c.wait(false, false)
		if err != nil || stopped == 0 {
			return c.exit, err
		}
	}
}

// wait waits until the command ends or, if stops is set, is stopped: then it
// returns the signal that did it, else 0. If all is set it reaps every other
// child that ends meanwhile, as pid 1 has to.
func (c *Child) wait(stops, all bool) (stopped syscall.Signal, err error) {
	c.mu.Lock()
	done := c.reaped
	c.mu.Unlock()
	if done {
		return 0, nil
	}
	idtype, id, options := unix.P_PID, c.pid, unix.WEXITED|unix.WNOWAIT
	if all {
		idtype, id = unix.P_ALL, 0
	}
	if stops {
		options |= unix.WSTOPPED
	}
	for {
		// First see who it is and only then reap, under the lock, so that Signal
		// never hits a pid that is free again.
		var info unix.Siginfo
		if err := unix.Waitid(idtype, id, &info, options, nil); err == unix.EINTR {
			continue
		} else if err != nil {
			return 0, os.NewSyscallError("waitid", err)
		}
		// si_pid stands first in what x/sys leaves unnamed (sigaction(2)).
		pid := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), siginfoPID)))
		if pid != c.pid {
			unix.Wait4(pid, nil, unix.WNOHANG|unix.WUNTRACED, nil)
			continue
		}
		c.mu.Lock()
		var ws unix.WaitStatus
		var ru unix.Rusage
		flags := unix.WNOHANG
		if stops {
			flags |= unix.WUNTRACED
		}
		got, err := unix.Wait4(c.pid, &ws, flags, &ru)
		if got == c.pid && !ws.Stopped() {
			c.reaped, c.exit = true, exitOf(ws, ru)
		}
		c.mu.Unlock()
		switch {
		case err != nil && err != unix.EINTR:
			return 0, os.NewSyscallError("wait4", err)
		case got == c.pid && ws.Stopped():
			return ws.StopSignal(), nil
		case got == c.pid:
			return 0, nil
		}
	}
}

// siginfoPID is where si_pid stands in siginfo_t on 64-bit Linux.
const siginfoPID = 16

func exitOf(ws unix.WaitStatus, ru unix.Rusage) Exit {
	e := Exit{
		Code:        ws.ExitStatus(),
		UserTime:    time.Duration(ru.Utime.Nano()),
		SystemTime:  time.Duration(ru.Stime.Nano()),
		MaxRSSBytes: ru.Maxrss * 1024,
	}
	if ws.Signaled() {
		e.Signal = int(ws.Signal())
		e.Code = 128 + e.Signal
	}
	return e
}

// Usage reads the group's counters; they start at zero with the group and hold a
// little of the shim's work.
func (c *Child) Usage() Usage {
	u := c.group.usage()
	if c.group.asItIs {
		u.CPUTime = c.cpuTime()
	}
	return u
}

// Remove ends what still runs in the group, as a container ends with its first
// process, and removes the group. Call it after Wait; before, the command itself
// is killed. It returns how many processes were killed. After an error the watchdog,
// if there is one, goes on trying when snug ends.
func (c *Child) Remove() (leftovers int, err error) {
	c.Signal(syscall.SIGKILL)
	if _, err := c.Wait(); err != nil {
		return 0, err
	}
	leftovers = c.group.clear()
	return leftovers, c.group.remove()
}
