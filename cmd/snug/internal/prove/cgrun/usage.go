// SPDX-License-Identifier: Apache-2.0

package cgrun

import (
	"cmp"
	"io/fs"
	"path"
	"time"

	"github.com/snug-go/snug/internal/cgroup"
)

// usage reads the counters of a group's parts. The files and their units:
//
//	v2 cpu.stat         nr_periods, nr_throttled, throttled_usec, usage_usec,
//	                    nr_bursts (since Linux 5.14)
//	v2 cpu.pressure     "some ... total=MICROS" (since 4.20)
//	v2 memory.peak      bytes (since Linux 5.19);  memory.events  oom_kill
//	v1 cpu.stat         nr_periods, nr_throttled, throttled_time (ns),
//	                    nr_bursts (since 5.14)
//	v1 cpuacct.usage    ns
//	v1 memory.max_usage_in_bytes;  memory.oom_control  oom_kill (since 4.13)
func usage(fsys fs.FS, parts []part) Usage {
	var u Usage
	read := func(dir, name string) []byte {
		text, _ := readFile(fsys, path.Join(dir, name))
		return text
	}
	for _, p := range parts {
		if p.has("cpu") || !p.v1 {
			u.addCPU(read(p.dir, "cpu.stat"), p.v1)
		}
		if p.has("cpuacct") {
			u.CPUTime = duration(field(read(p.dir, "cpuacct.usage"), ""), time.Nanosecond)
		}
		if !p.v1 {
			u.Pressure = stalled(read(p.dir, "cpu.pressure"))
		}
		if p.has("memory") || !p.v1 {
			peak, events := "memory.peak", "memory.events"
			if p.v1 {
				peak, events = "memory.max_usage_in_bytes", "memory.oom_control"
			}
			if n := field(read(p.dir, peak), ""); n != nil {
				u.MemoryPeakBytes = new(int64(*n))
			}
			if n := field(read(p.dir, events), "oom_kill"); n != nil {
				u.OOMKills = n
			}
		}
	}
	return u
}

// addCPU adds the counters of a cpu.stat. A v2 group beside v1 controllers has one
// too, with the same CPU time and without the counters of the quota.
func (u *Usage) addCPU(stat []byte, v1 bool) {
	unit, throttled := time.Microsecond, "throttled_usec"
	if v1 {
		unit, throttled = time.Nanosecond, "throttled_time"
	}
	if n := field(stat, "nr_periods"); n != nil {
		u.Periods, u.ThrottledPeriods = n, field(stat, "nr_throttled")
		u.ThrottledTime = duration(field(stat, throttled), unit)
		u.Bursts = field(stat, "nr_bursts")
	}
	if d := duration(field(stat, "usage_usec"), time.Microsecond); d != nil {
		u.CPUTime = d
	}
}

// or returns u with its nil fields taken from an earlier reading.
func (u Usage) or(earlier Usage) Usage {
	return Usage{
		Periods:          cmp.Or(u.Periods, earlier.Periods),
		ThrottledPeriods: cmp.Or(u.ThrottledPeriods, earlier.ThrottledPeriods),
		ThrottledTime:    cmp.Or(u.ThrottledTime, earlier.ThrottledTime),
		Bursts:           cmp.Or(u.Bursts, earlier.Bursts),
		CPUTime:          cmp.Or(u.CPUTime, earlier.CPUTime),
		Pressure:         cmp.Or(u.Pressure, earlier.Pressure),
		MemoryPeakBytes:  cmp.Or(u.MemoryPeakBytes, earlier.MemoryPeakBytes),
		OOMKills:         cmp.Or(u.OOMKills, earlier.OOMKills),
	}
}

// since returns the counts since an earlier reading. The memory peak and the CPU time
// are nil: a peak cannot be subtracted, and in a shared group the CPU time is not the
// command's.
func (u Usage) since(earlier Usage) Usage {
	return Usage{
		Periods:          minus(u.Periods, earlier.Periods),
		ThrottledPeriods: minus(u.ThrottledPeriods, earlier.ThrottledPeriods),
		ThrottledTime:    minus(u.ThrottledTime, earlier.ThrottledTime),
		Bursts:           minus(u.Bursts, earlier.Bursts),
		Pressure:         minus(u.Pressure, earlier.Pressure),
		OOMKills:         minus(u.OOMKills, earlier.OOMKills),
	}
}

// minus returns nil if a reading is missing, or if the counter decreased: then it is
// another group's.
func minus[T uint64 | time.Duration](now, before *T) *T {
	if now == nil || before == nil || *now < *before {
		return nil
	}
	return new(*now - *before)
}

func duration(n *uint64, unit time.Duration) *time.Duration {
	if n == nil {
		return nil
	}
	return new(time.Duration(*n) * unit)
}

// stalled returns the total of the line "some" of a pressure file, or nil, for example
// if the kernel was started without psi=1.
func stalled(text []byte) *time.Duration {
	some, _ := cgroup.Pressure(text)
	if !some.HasTotal {
		return nil
	}
	return new(time.Duration(some.Total) * time.Microsecond)
}

// field returns the number after key in lines of "key number"; with key "" it returns
// the only number of the text.
func field(text []byte, key string) *uint64 {
	n, ok := cgroup.Field(text, key)
	if key == "" {
		n, ok = cgroup.Count(cgroup.Trim(text))
	}
	if !ok {
		return nil
	}
	return new(uint64(n))
}
