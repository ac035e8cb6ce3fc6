// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// ownBytes returns an upper bound of this process's memory that cannot be reclaimed, with the kernel's for its open
// files; 0 = unknown.
func ownBytes() int64 {
	var size, resident, shared int64
	text, _ := os.ReadFile("/proc/self/statm")
	n, _ := fmt.Sscan(string(text), &size, &resident, &shared)
	open, err := os.ReadDir("/proc/self/fd")
	if n != 3 || err != nil {
		return 0
	}
	return (resident-shared)*int64(os.Getpagesize()) + int64(len(open))*fileBytes
}

// spareFiles is the number of files left for everything else than processes and groups.
const spareFiles = 128

// maxFiles returns how many files may stay open for processes and groups.
func maxFiles() int {
	var l unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &l) != nil {
		return 0
	}
	return max(0, int(min(l.Cur, 1<<20))-spareFiles)
}
