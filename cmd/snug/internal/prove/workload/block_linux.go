// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"time"

	"golang.org/x/sys/unix"
)

// block blocks the thread in nanosleep(2). The Go scheduler knows only that it is in a
// system call.
func block(d time.Duration) error {
	left := unix.NsecToTimespec(int64(d))
	for {
		err := unix.Nanosleep(&left, &left)
		if err != unix.EINTR {
			return err
		}
	}
}
