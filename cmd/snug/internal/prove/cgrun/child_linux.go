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
	// AtStart is what Usage said when the command was let go, just before Ready:
	// what the shim used. Each counter of Usage minus that of AtStart, where both
	// are known, is the command's, but for the shim's last steps: taking the
	// go-ahead, and execve(2) (together about as much as any process needs to
	// start). A peak cannot be subtracted; one that is no larger than AtStart's is
	// the shim's.
	AtStart Usage

	pid   int
	group *group
	shim  used // what the shim had used when it was let go

	waiting sync.Mutex // held by the one who waits

	mu     sync.Mutex
	reaped bool // its pid may belong to somebody else
	exit   Exit
	failed error // of waiting: somebody else has reaped it
	atEnd  Usage // read before it was reaped
}

// used is what getrusage(2) says of the process itself.
type used struct {
	User, System time.Duration
	MaxRSS       int64 // bytes
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

// Wait waits for the command to end. It may be called again, and by several at a
// time: all get the same. The error is ECHILD where somebody else has reaped the
// command, or SIGCHLD is ignored; how it ended is then unknown.
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

// wait waits until the command ends or, if stops is set, is stopped: then it
// returns the signal that did it, else 0. If all is set it reaps every other
// child that ends meanwhile, as pid 1 has to.
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
		// First see who it is and only then reap, under the lock, so that Signal
		// never hits a pid that is free again.
		var info unix.Siginfo
		if err := unix.Waitid(idtype, id, &info, options, nil); err == unix.EINTR {
			continue
		} else if err != nil {
			return 0, c.lost(os.NewSyscallError("waitid", err))
		}
		// si_pid stands first in what x/sys leaves unnamed (sigaction(2)).
		pid := int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), siginfoPID)))
		if pid != c.pid {
			unix.Wait4(pid, nil, unix.WNOHANG|unix.WUNTRACED, nil)
			continue
		}
		// systemd removes a scope without processes, and a zombie is none: this is as
		// early as its counters can be final.
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

// siginfoPID is where si_pid stands in siginfo_t on 64-bit Linux.
const siginfoPID = 16

// lost notes that waiting failed. If it is because there is no such child, its pid
// is nobody's to signal.
func (c *Child) lost(err error) error {
	if errors.Is(err, unix.ECHILD) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reaped, c.failed = true, err
	}
	return err
}

// rssNoise is how much more than it had reported the shim may have touched when it
// became the command, in bytes.
const rssNoise = 1 << 20

// exitOf is how a command ended of which the shim had used that much.
func exitOf(ws unix.WaitStatus, ru unix.Rusage, shim used) Exit {
	all := usedOf(ru)
	// The kernel splits the time by where its ticks fell, so that a part may be
	// less than the shim's; the sum is exact (cputime_adjust, kernel/sched/cputime.c).
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

// usedOf converts what getrusage(2) and wait4(2) say.
func usedOf(ru unix.Rusage) used {
	return used{time.Duration(ru.Utime.Nano()), time.Duration(ru.Stime.Nano()), ru.Maxrss * 1024}
}

// Usage reads the group's counters; they start at zero with the group and hold the
// shim's work, see AtStart. Once the group is gone it returns what they were when
// the command ended.
func (c *Child) Usage() Usage {
	c.mu.Lock()
	atEnd := c.atEnd
	c.mu.Unlock()
	u := c.group.usage().or(atEnd)
	if c.group.asItIs {
		u.CPUTime = c.cpuTime()
	}
	return u
}

// Remove ends what still runs in the group, as a container ends with its first
// process, and removes the group, also where Wait fails. Call it after Wait; before,
// the command itself is killed. It returns how many processes were killed. After an
// error the watchdog, if there is one, goes on trying when snug ends.
func (c *Child) Remove() (leftovers int, err error) {
	c.Signal(syscall.SIGKILL)
	_, err = c.Wait()
	leftovers = c.group.clear()
	return leftovers, errors.Join(err, c.group.remove())
}
