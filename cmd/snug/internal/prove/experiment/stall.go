// SPDX-License-Identifier: Apache-2.0

package experiment

import "time"

// StallLaw is how long the kernel holds back a program at a time when so many of
// its threads spin under a quota, in CPUs, with this period: T(1-q/N), where N
// is the number of threads that can run at once, min(threads, cpus). It is 0
// when q >= N, when there is no quota (0) and when nothing runs.
//
// CFS bandwidth control (Linux Documentation/scheduler/sched-bwc.rst) gives a
// group q*T of CPU time at the start of each period. N threads that run at once
// use it up after q*T/N of wall time, and all of them wait for the next period:
// T - q*T/N = T(1-q/N). Threads beyond the number of CPUs only share it: they
// do not use it up faster. Their own waits are longer, because after the period's
// start they also wait for each other.
//
// Measured gaps lie up to a scheduler tick above it (4 ms at HZ=250): a thread is
// stopped at the tick after the quota is gone, and the next period repays that.
func StallLaw(quota float64, threads, cpus int, period time.Duration) time.Duration {
	n := float64(min(threads, cpus))
	if n <= 0 || quota <= 0 || quota >= n {
		return 0
	}
	return time.Duration(float64(period) * (1 - quota/n))
}
