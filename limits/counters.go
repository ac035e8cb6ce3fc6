// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"
	"slices"
	"time"

	"github.com/snug-go/snug/internal/cgroup"
)

// readCounters reads what changes at every poll: throttling and memory use.
func (h *Handle) readCounters() {
	c, m := &h.last.CPU, &h.last.Memory
	c.Throttle, m.Current, m.SharedCurrent = Throttle{}, Value[int64]{}, Value[int64]{}
	if h.tightest < len(h.cpu.levels) {
		h.setStat(h.cpu.levels[h.tightest].dir)
		text := h.counter("cpu.periods", &h.stat)
		c.Throttle.Periods, c.Throttle.Throttled = valueOf(cgroup.Field(text, "nr_periods")), valueOf(cgroup.Field(text,
			"nr_throttled"))
		if n, ok := cgroup.Field(text, "throttled_usec"); ok {
			c.Throttle.Time = micros(n)
		} else {
			n, _ = cgroup.Field(text, "throttled_time")
			c.Throttle.Time = time.Duration(n)
		}
	}
	for i, l := range h.memory.levels {
		switch {
		case i == 0 && l.path == h.memory.Path:
			m.Current = h.usage(l, "memory.current_bytes")
		case m.HardShared && l.path == m.HardSource.Level:
			m.SharedCurrent = h.usage(l, "memory.shared_current_bytes")
		}
	}
}

// setStat selects the cpu.stat to read: that of the level in dir.
func (h *Handle) setStat(dir string) {
	if name := h.stat.name; name == "" || name[:len(name)-len("cpu.stat")] != dir {
		h.stat.name = dir + "cpu.stat"
	}
}

// usage returns the memory charged to a level's group.
func (h *Handle) usage(l *level, field string) Value[int64] {
	if l.usage.name == "" {
		l.usage.name = l.dir + "memory.current"
		if h.memory.V1 {
			l.usage.name = l.dir + "memory.usage_in_bytes"
		}
	}
	return valueOf(cgroup.Count(cgroup.Trim(h.counter(field, &l.usage))))
}

// counter reads a file of counters. It lists a file that cannot be read once.
func (h *Handle) counter(field string, p *probe) []byte {
	text := p.now(&h.reader)
	if p.err != nil && !p.missing {
		h.last.gapOnce(field, p.name, errText(p.err))
	}
	return text
}

// gapOnce lists a figure as unknown unless it is listed already.
func (l *Limits) gapOnce(field, file, why string) {
	for i := range l.Gaps {
		if l.Gaps[i].Field == field {
			return
		}
	}
	l.gap(field, file, why)
}

// gapClosed removes a figure that can be read again from the list. It makes a new list, so
// that Limits returned earlier do not change.
func (l *Limits) gapClosed(field string) {
	for i := range l.Gaps {
		if l.Gaps[i].Field == field {
			l.Gaps = append(slices.Clone(l.Gaps[:i]), l.Gaps[i+1:]...)
			return
		}
	}
}

// micros converts microseconds to a Duration, capped at the longest one.
func micros(n int64) time.Duration {
	if n > math.MaxInt64/int64(time.Microsecond) {
		return math.MaxInt64
	}
	return time.Duration(n) * time.Microsecond
}
