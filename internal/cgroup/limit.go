// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"bytes"
	"math"
)

// A Quota is the bandwidth limit in one level's files.
type Quota struct {
	Micros, Period int64 // in microseconds; meaningful if State is Known
	State          State
	// Plain: the Go runtime's parser accepts the text.
	Plain bool
}

// defaultPeriod is the kernel's default, in microseconds (kernel doc: scheduler/sched-bwc.rst).
const defaultPeriod = 100000

// CPUMax parses cpu.max of v2 (kernel doc: admin-guide/cgroup-v2.rst):
//
//	200000 100000
//	max 100000
//	(1)    (2)
//
// (1) quota in microseconds or "max", (2) period in microseconds. The kernel always prints both;
// CPUMax accepts a missing period, as the kernel does in a write.
func CPUMax(text []byte) Quota {
	plain := bytes.HasSuffix(text, []byte("\n"))
	first, second, two := Cut(Trim(text), ' ')
	q := Quota{Period: defaultPeriod, Plain: plain && two}
	if two {
		p, ok := Count(Trim(second))
		if !ok {
			return Quota{}
		}
		q.Period = p
	}
	if string(first) == "max" {
		q.State = None
		return q
	}
	n, ok := Count(first)
	if !ok {
		return Quota{}
	}
	q.Micros, q.State = n, Known
	return q
}

// CFSQuota combines v1's cpu.cfs_quota_us and cpu.cfs_period_us, each one number in
// microseconds. A negative quota means none.
func CFSQuota(quota, period []byte) Quota {
	q := Quota{Plain: bytes.HasSuffix(quota, []byte("\n")) && bytes.HasSuffix(period, []byte("\n"))}
	text := Trim(quota)
	if len(text) > 1 && text[0] == '-' {
		if _, ok := Count(text[1:]); ok {
			return Quota{State: None}
		}
	}
	var ok bool
	if q.Micros, ok = Count(text); !ok {
		return Quota{}
	}
	if q.Period, ok = Count(Trim(period)); !ok {
		return Quota{}
	}
	q.State = Known
	return q
}

// Cores returns quota/period. It is none if either is not positive, because then the kernel
// enforces nothing usable.
func (q Quota) Cores() (float64, State) {
	switch {
	case q.State != Known:
		return 0, q.State
	case q.Micros <= 0 || q.Period <= 0:
		return 0, None
	}
	return float64(q.Micros) / float64(q.Period), Known
}

// CrashesGo reports whether Go 1.25 to 1.27 crashes on this quota.
func (q Quota) CrashesGo() bool {
	return q.State == Known && q.Plain && Overflows(float64(q.Micros)/float64(q.Period))
}

// Overflows reports whether the Go runtime overflows when it converts quota/period, rounded up,
// to an int32: above 2^31-1 cores, and for a period of 0, which gives infinity or NaN
// (runtime/cgroup_linux.go, adjustCgroupGOMAXPROCS).
func Overflows(cores float64) bool { return !(cores <= math.MaxInt32) }

// unlimited reports whether a number means no limit. v1 prints the largest number of pages: that of
// a 64-bit kernel in bytes, and nearly 2^64 on old ones, are above 2^62, and no machine has that much
// memory. That of a 32-bit kernel is 2^31-1 pages, of 4 to 64 KiB (kernel source:
// include/linux/page_counter.h, PAGE_COUNTER_MAX).
func unlimited(n uint64) bool {
	pages := n >> 12
	for pages > math.MaxInt32 && pages&1 == 0 && pages < 1<<36 {
		pages >>= 1
	}
	return n >= 1<<62 || pages == math.MaxInt32 && n&0xfff == 0
}

// Bytes parses one memory limit: "max", "-1" (printed by some emulations) or a number of bytes.
func Bytes(text []byte) (int64, State) {
	text = Trim(text)
	if string(text) == "max" || string(text) == "-1" {
		return 0, None
	}
	n, ok := Uint(text)
	switch {
	case !ok:
		return 0, Unknown
	case unlimited(n):
		return 0, None
	}
	return int64(n), Known
}

// Hierarchical returns v1's limit over all levels from memory.stat, including levels that cannot
// be seen from here. It returns false if there is none.
func Hierarchical(stat []byte) (int64, bool) {
	n, ok := Field(stat, "hierarchical_memory_limit")
	return n, ok && n > 0 && !unlimited(uint64(n))
}

// HostMemory is the file that names the machine's own memory as the limit.
const HostMemory = "/proc/meminfo"
