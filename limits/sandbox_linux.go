// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/snug-go/snug/internal/cgroup"
)

// guard makes every machine of this process ask, before it opens anything, whether seccomp has been
// tightened since: the process may then be killed for it. drop ends that.
func (m *machine) guard() {
	if len(m.kept) == 0 || m.asked {
		return
	}
	m.asked = true
	lock()
	if sandbox.users == 0 && !sandbox.shut {
		fd, _ := openAt(atCwd, "/proc/self/status", syscall.O_RDONLY|syscall.O_CLOEXEC)
		sandbox.status.set("status", fd)
		sandbox.filters = seccomp()
		sandbox.uncounted.Store(sandbox.filters == uncounted)
		if fd <= 2 || sandbox.filters == none { // 0 to 2 are a standard stream's, which the program has closed
			sandbox.status.forget()
		}
	}
	if m.guards = sandbox.status.name != ""; m.guards {
		sandbox.users++
	}
	unlock()
}

//go:noinline
func lock() { sandbox.Lock() }

//go:noinline
func unlock() { sandbox.Unlock() }

// sandbox is what all machines of this process ask.
var sandbox struct {
	sync.Mutex
	users   int
	status  keptFile
	filters int64 // at the start, see sealed; 0 = not read yet
	shut    bool  // nothing is opened any more, for good
	lost    bool  // the program has closed the status file, and perhaps others
	text    [4 << 10]byte

	uncounted atomic.Bool // filters is
}

// Results of seccomp other than a number.
const (
	unread    = -1 // the file cannot be read: the program has closed it
	none      = -2 // this kernel has no seccomp
	uncounted = -3 // filters are in force and not counted, as before Linux 5.9
)

// seccomp returns the number of filters of the process's main thread, and its mode
// (proc_pid_status(5)). The lines before them are short, but for the groups of a user in hundreds.
func seccomp() int64 {
	text := sandbox.text[:]
	n, err := syscall.Pread(sandbox.status.fd, text, 0)
	mode, known := cgroup.Field(text[:max(n, 0)], "Seccomp:")
	filters, counted := cgroup.Field(text[:max(n, 0)], "Seccomp_filters:")
	switch {
	case err != nil:
		return unread
	case !known && n < len(text):
		return none
	case !known, mode != 0 && !counted:
		return uncounted
	}
	return filters<<2 | mode
}

// sealed reports whether seccomp was tightened, or can no longer be read, or whether the former cannot
// be known and the first read is over.
//
//go:noinline
func (m *machine) sealed() bool {
	shut, _ := m.sandboxed()
	return shut || m != nil && m.asked && Uncounted()
}

func (*machine) sandboxed() (shut, lost bool) {
	lock()
	if sandbox.users > 0 && !sandbox.shut {
		n := seccomp()
		sandbox.shut = n != sandbox.filters
		sandbox.lost = sandbox.shut && n < 0
	}
	shut, lost = sandbox.shut, sandbox.lost
	unlock()
	return shut, lost
}

// Sealed reports whether seccomp has been tightened since a Follower, or a Handle of this process, read
// the limits first. They are then read from the files that are open, and the process is not followed
// to another cgroup.
func Sealed() bool { return (*machine)(nil).sealed() }

// Uncounted reports whether seccomp filters were in force when a Follower, or a Handle of this process,
// read the limits first, and Linux does not count them, as before 5.9. Whether seccomp is tightened
// later is then unknown, so that each opens files in its first Read alone.
func Uncounted() bool { return sandbox.uncounted.Load() }
