// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"
	"time"
)

// readCounters reads what changes all the time: throttling and memory use.
func readCounters(h *Handle) {
	c := &h.last.CPU
	h.stat.read(h)
	c.Throttle = Throttle{Periods: field(h.stat.text, "nr_periods"), Throttled: field(h.stat.text, "nr_throttled")}
	if n, ok := field(h.stat.text, "throttled_usec").Get(); ok {
		c.Throttle.Time = micros(n)
	} else if n, ok := field(h.stat.text, "throttled_time").Get(); ok {
		c.Throttle.Time = time.Duration(n)
	}
	m := &h.last.Memory
	m.Current, m.SharedCurrent = Value[int64]{}, Value[int64]{}
	for i := range h.memory {
		l := &h.memory[i]
		own := i == 0 && l.path == h.memoryAt.path
		if !own && !(m.Shared && l.path == m.Source.Level) {
			continue
		}
		if l.use.f == nil && !l.use.missing() {
			l.use.open(h.tree)
		}
		l.use.read(h)
		use := Value[int64]{}
		if n, ok := parseCount(trim(l.use.text)); ok {
			use = Is(n)
		}
		if own {
			m.Current = use
		} else {
			m.SharedCurrent = use
		}
	}
}

// micros is a count of microseconds as a duration, the longest there is when
// it does not fit.
func micros(n int64) time.Duration {
	if n > math.MaxInt64/int64(time.Microsecond) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Microsecond
}
