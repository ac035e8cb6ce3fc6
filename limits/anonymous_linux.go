// SPDX-License-Identifier: Apache-2.0

package limits

import "syscall"

// Anonymous returns how much of this process's memory is resident and belongs to no file, in bytes:
// an upper bound of its live heap. It is 0 if its peak never reached least, and huge if it cannot be
// read. The peak (getrusage(2)) is cheap to read, but includes files, and is that of a larger process
// if one became this one by exec; so the fields resident and shared of /proc/self/statm decide, in
// pages (proc_pid_statm(5)).
func (f *Follower) Anonymous(least int64) int64 {
	if f == nil || f.m == nil {
		return 1 << 62
	}
	var ru syscall.Rusage
	if f.polls <= 1 && syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil && int64(ru.Maxrss)<<10 < least {
		return 0
	}
	var n [statmFields]int64
	if !f.m.statm(&n) {
		return 1 << 62
	}
	return max(0, n[1]-n[2])
}
