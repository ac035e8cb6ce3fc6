// SPDX-License-Identifier: Apache-2.0

package load

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
)

// realTimePolicy is that of a real-time generator. With SCHED_FIFO a thread that spins, as those of Go's
// runtime do for a moment, would keep its CPU from all other threads of the generator, for ever.
const realTimePolicy = "SCHED_RR"

// policy returns the scheduling policy of all threads of this process, "mixed" if they
// differ, "" if it cannot be read (sched(7)).
func policy() string {
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return ""
	}
	all := ""
	for _, task := range tasks {
		tid, err := strconv.Atoi(task.Name())
		if err != nil {
			return ""
		}
		name, err := cgrun.ThreadPolicy(tid)
		if errors.Is(err, unix.ESRCH) {
			continue // it has ended
		}
		if err != nil {
			return ""
		}
		if all != "" && all != name {
			return "mixed"
		}
		all = name
	}
	return all
}

// becomeRealTime executes this program again as SCHED_RR of the lowest priority, and
// returns only on error. Each thread has its own policy; execve(2) keeps it and new
// threads inherit it. So after execve all threads of the runtime have it; without,
// running threads would not. There is no reset on fork, because it would also affect new
// threads; the generator starts no process.
func becomeRealTime(args []string) error {
	runtime.LockOSThread()
	attr := unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}
	if err := unix.SchedSetAttr(0, &attr, 0); err != nil {
		return &Error{
			What: fmt.Sprintf("cannot become real-time: sched_setattr: %v", err),
			Cure: RealTimeCure,
		}
	}
	err := syscall.Exec("/proc/self/exe", args, os.Environ())
	return &Error{What: fmt.Sprintf("cannot become real-time: /proc/self/exe: %v", err)}
}
