// SPDX-License-Identifier: Apache-2.0

package load

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// pacer waits in the kernel, on a thread of its own. time.Sleep does not work here: the
// runtime waits for its timers in epoll_wait(2), in whole milliseconds, and would send
// the requests of one millisecond in a burst.
type pacer struct {
	start time.Time
	zero  int64 // start in CLOCK_MONOTONIC, nanoseconds
}

// newPacer locks the calling goroutine to its thread until close.
func newPacer(start time.Time) *pacer {
	runtime.LockOSThread()
	// By default the kernel wakes ordinary threads up to 50 µs late, to save power
	// (PR_SET_TIMERSLACK(2const)). If this fails, lateness shows it.
	unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		panic(err) // every Linux has this clock
	}
	return &pacer{start, now.Nano() - int64(time.Since(start))}
}

// until returns at a time since the start, or at once if that is past.
func (p *pacer) until(due time.Duration) {
	at := unix.NsecToTimespec(p.zero + int64(due))
	for time.Since(p.start) < due {
		// The runtime's own signals interrupt it. With an absolute time the
		// errors do not add up.
		unix.ClockNanosleep(unix.CLOCK_MONOTONIC, unix.TIMER_ABSTIME, &at, nil)
	}
}

func (p *pacer) close() {
	unix.Prctl(unix.PR_SET_TIMERSLACK, 0, 0, 0, 0) // back to the default
	runtime.UnlockOSThread()
}
