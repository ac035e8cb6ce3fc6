// SPDX-License-Identifier: Apache-2.0

//go:build unix

package follow

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used (getrusage(2)); 0 where that cannot be told.
func cpuTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}
