// SPDX-License-Identifier: Apache-2.0

package apply

import "syscall"

// peakRSS is the most memory this process ever had resident, in bytes, or the
// one that became it by exec (getrusage(2)). It bounds the live heap from above
// for the price of one system call.
func peakRSS() int64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 1 << 62
	}
	return int64(ru.Maxrss) << 10
}
