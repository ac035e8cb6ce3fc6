// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time that this process has used.
func cpuTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

const (
	// openFiles a process takes: its folder, its memory and stat, and its group's, of which
	// there are three or four for each level and some more.
	openFiles = 36
	// spareFiles are left for everything else.
	spareFiles = 128
)

// roomForFiles is how many processes may be kept open, and as many groups.
func roomForFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 16
	}
	return max(16, int(min(l.Cur, 1<<20)-spareFiles)/openFiles)
}
