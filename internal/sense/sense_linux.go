// SPDX-License-Identifier: Apache-2.0

package sense

import (
	"math"
	"syscall"
)

// used returns this process's CPU time, user and system (getrusage(2)).
func used() float64 {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return math.NaN()
	}
	return float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
}
