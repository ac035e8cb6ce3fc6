// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"cmp"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"
)

// usage reads the counters of a group's parts. The files and their units:
//
//	v2 cpu.stat         nr_periods, nr_throttled, throttled_usec, usage_usec
//	v2 memory.peak      bytes (since Linux 5.19);  memory.events  oom_kill
//	v1 cpu.stat         nr_periods, nr_throttled, throttled_time (ns)
//	v1 cpuacct.usage    ns
//	v1 memory.max_usage_in_bytes;  memory.oom_control  oom_kill (since 4.13)
func usage(fsys fs.FS, parts []part) Usage {
	var u Usage
	read := func(dir, name string) string {
		text, _ := readText(fsys, path.Join(dir, name))
		return text
	}
	duration := func(text, key string, unit time.Duration) *time.Duration {
		n := field(text, key)
		if n == nil {
			return nil
		}
		d := time.Duration(*n) * unit
		return &d
	}
	for _, p := range parts {
		if p.has("cpu") || !p.v1 {
			stat := read(p.dir, "cpu.stat")
			if n := field(stat, "nr_periods"); n != nil {
				u.Periods, u.ThrottledPeriods = n, field(stat, "nr_throttled")
			}
			if p.v1 {
				u.ThrottledTime = duration(stat, "throttled_time", time.Nanosecond)
			} else {
				if d := duration(stat, "throttled_usec", time.Microsecond); d != nil {
					u.ThrottledTime = d
				}
				// A v2 group beside v1 controllers counts CPU time as well, and
				// the same of it.
				if d := duration(stat, "usage_usec", time.Microsecond); d != nil {
					u.CPUTime = d
				}
			}
		}
		if p.has("cpuacct") {
			u.CPUTime = duration(read(p.dir, "cpuacct.usage"), "", time.Nanosecond)
		}
		if p.has("memory") || !p.v1 {
			peak, events := "memory.peak", "memory.events"
			if p.v1 {
				peak, events = "memory.max_usage_in_bytes", "memory.oom_control"
			}
			if n := field(read(p.dir, peak), ""); n != nil {
				b := int64(*n)
				u.MemoryPeakBytes = &b
			}
			if n := field(read(p.dir, events), "oom_kill"); n != nil {
				u.OOMKills = n
			}
		}
	}
	return u
}

// or returns u with what it does not say taken from an earlier reading.
func (u Usage) or(earlier Usage) Usage {
	return Usage{
		Periods:          cmp.Or(u.Periods, earlier.Periods),
		ThrottledPeriods: cmp.Or(u.ThrottledPeriods, earlier.ThrottledPeriods),
		ThrottledTime:    cmp.Or(u.ThrottledTime, earlier.ThrottledTime),
		CPUTime:          cmp.Or(u.CPUTime, earlier.CPUTime),
		MemoryPeakBytes:  cmp.Or(u.MemoryPeakBytes, earlier.MemoryPeakBytes),
		OOMKills:         cmp.Or(u.OOMKills, earlier.OOMKills),
	}
}

// field returns the number after key in lines of "key number", or the only
// number there is when key is "".
func field(text, key string) *uint64 {
	for line := range strings.Lines(text) {
		value := strings.TrimSpace(line)
		if key != "" {
			name, rest, ok := strings.Cut(value, " ")
			if !ok || name != key {
				continue
			}
			value = rest
		}
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			return &n
		}
	}
	return nil
}
