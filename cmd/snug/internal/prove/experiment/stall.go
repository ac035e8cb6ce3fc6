// SPDX-License-Identifier: Apache-2.0

package experiment

import "time"

// StallLaw returns how long the kernel stops a program at a time, if this many of its
// threads spin under a quota, in CPUs, with this period: T(1-q/N), where N is the number
// of threads that can run at once, min(threads, cpus). It is 0 if q >= N, if there is no
// quota (0) and if nothing runs.
//
// CFS bandwidth control (Linux Documentation/scheduler/sched-bwc.rst) gives a group q*T
// of CPU time at the start of each period. N threads that run at once use it up after
// q*T/N of wall time, and all of them wait for the next period: T - q*T/N = T(1-q/N).
// Threads beyond the number of CPUs only share the quota and do not use it up faster.
// They wait longer, because they also wait for each other after the start of the period.
//
// Measured gaps are up to a scheduler tick longer (4 ms at HZ=250): the kernel stops a
// thread at the tick after the quota is used up, and the next period repays that.
func StallLaw(quota float64, threads, cpus int, period time.Duration) time.Duration {
	n := float64(min(threads, cpus))
	if n <= 0 || quota <= 0 || quota >= n {
		return 0
	}
	return time.Duration(float64(period) * (1 - quota/n))
}
