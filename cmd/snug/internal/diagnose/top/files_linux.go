// SPDX-License-Identifier: Apache-2.0

package top

import (
	"golang.org/x/sys/unix"
)

// fileLimit returns how many files may be open.
func fileLimit() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 1024
	}
	return int(min(l.Cur, 1<<20))
}
