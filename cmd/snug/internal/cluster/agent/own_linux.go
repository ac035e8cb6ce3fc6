// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time of this process.
func cpuTime() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

const (
	// filesPerProcess is the number of files open for a process: its directory, memory and stat,
	// and those of its group, three or four for each level and some more.
	filesPerProcess = 36
	// spareFiles is the number of files left for everything else.
	spareFiles = 128
)

// maxOpenProcesses returns how many processes, and how many groups, may stay open.
func maxOpenProcesses() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 16
	}
	return max(16, int(min(l.Cur, 1<<20)-spareFiles)/filesPerProcess)
}
