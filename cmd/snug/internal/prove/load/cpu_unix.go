// SPDX-License-Identifier: Apache-2.0

//go:build unix

package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime returns the CPU time of this process, user and system (getrusage(2)); ok is
// false if it cannot be read.
func cpuTime() (d time.Duration, ok bool) {
	var r unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &r); err != nil {
		return 0, false
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), true
}
