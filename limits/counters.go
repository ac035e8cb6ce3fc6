// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"math"
	"slices"
	"time"

	"github.com/snug-go/snug/internal/cgroup"
)

// readCounters reads what changes all the time: throttling and memory use.
func (h *Handle) readCounters() {
	c, m := &h.last.CPU, &h.last.Memory
	c.Throttle, m.Current, m.SharedCurrent = Throttle{}, Value[int64]{}, Value[int64]{}
	if h.tightest < len(h.cpu.levels) {
		h.follow(h.cpu.levels[h.tightest].dir)
		text := h.counter("cpu.periods", &h.stat)
		c.Throttle.Periods, c.Throttle.Throttled = sized(cgroup.Field(text, "nr_periods")), sized(cgroup.Field(text, "nr_throttled"))
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
			m.Current = h.use(l, "memory.current_bytes")
		case m.Shared && l.path == m.Source.Level:
			m.SharedCurrent = h.use(l, "memory.shared_current_bytes")
		}
	}
}

// follow makes cpu.stat of one level the one to read.
func (h *Handle) follow(dir string) {
	if name := h.stat.name; name == "" || name[:len(name)-len("cpu.stat")] != dir {
		h.stat.name = dir + "cpu.stat"
	}
}

// use is how much memory a level's group is charged with.
func (h *Handle) use(l *level, field string) Value[int64] {
	if l.use.name == "" {
		l.use.name = l.dir + "memory.current"
		if h.memory.V1 {
			l.use.name = l.dir + "memory.usage_in_bytes"
		}
	}
	return sized(cgroup.Count(cgroup.Trim(h.counter(field, &l.use))))
}

// counter reads a file that counts. One that cannot be read is listed once.
func (h *Handle) counter(field string, p *probe) []byte {
	text := p.now(&h.reader)
	if p.err != nil && !p.missing {
		h.last.gapOnce(field, p.name, why(p.err))
	}
	return text
}

// gapOnce lists a figure that could not be read unless it is listed.
func (l *Limits) gapOnce(field, file, why string) {
	for i := range l.Unknown {
		if l.Unknown[i].Field == field {
			return
		}
	}
	l.gap(field, file, why)
}

// gapClosed takes a figure from the list that can be read again. It makes a
// new list: Limits handed out before stay as they were.
func (l *Limits) gapClosed(field string) {
	for i := range l.Unknown {
		if l.Unknown[i].Field == field {
			l.Unknown = append(slices.Clone(l.Unknown[:i]), l.Unknown[i+1:]...)
			return
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
