// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"cmp"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// policy returns the scheduling policy of a thread of this process, 0 for the
// calling one, without SCHED_RESET_ON_FORK (sched_getscheduler(2)).
func policy(tid int) (int, error) {
	p, _, errno := unix.Syscall(unix.SYS_SCHED_GETSCHEDULER, uintptr(tid), 0, 0)
	if errno != 0 {
		return 0, os.NewSyscallError("sched_getscheduler", errno)
	}
	return int(p) &^ unix.SCHED_RESET_ON_FORK, nil
}

// ThreadPolicy returns the name of the scheduling policy of a thread of this process (sched(7)).
func ThreadPolicy(tid int) (string, error) {
	p, err := policy(tid)
	return policyName(p), err
}

var policies = map[int]string{
	unix.SCHED_NORMAL: "SCHED_OTHER", unix.SCHED_FIFO: "SCHED_FIFO", unix.SCHED_RR: "SCHED_RR",
	unix.SCHED_BATCH: "SCHED_BATCH", unix.SCHED_IDLE: "SCHED_IDLE", unix.SCHED_DEADLINE: "SCHED_DEADLINE",
}

func policyName(p int) string { return cmp.Or(policies[p], "policy "+strconv.Itoa(p)) }
