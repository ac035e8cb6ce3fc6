// SPDX-License-Identifier: Apache-2.0

//go:build unix

package follow

import (
	"syscall"
	"time"
)

// cpuTime returns this process's CPU time (getrusage(2)), or 0 if unknown.
func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
