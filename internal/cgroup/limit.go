// SPDX-License-Identifier: Apache-2.0

package cgroup

import (
	"bytes"
	"math"
)

// A Quota is what one level's files say about bandwidth.
type Quota struct {
	Micros, Period int64 // in microseconds; meaningful where State is Known
	State          State
	// Plain: the text is exactly what the Go runtime's parser accepts.
	Plain bool
}

// defaultPeriod is the kernel's, in microseconds (kernel doc:
// scheduler/sched-bwc.rst).
const defaultPeriod = 100000

// CPUMax reads cpu.max of v2 (kernel doc: admin-guide/cgroup-v2.rst):
//
//	200000 100000
//	max 100000
//	(1)    (2)
//
// (1) quota in microseconds or "max", (2) period in microseconds. The kernel
// always prints both; the period may be left out here as it may be in a write.
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

// CFSQuota joins v1's cpu.cfs_quota_us and cpu.cfs_period_us, both one number
// in microseconds; a negative quota means none.
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

// Cores is quota/period; none where either is not a positive number, because
// then nothing is enforced that could be sized by.
func (q Quota) Cores() (float64, State) {
	switch {
	case q.State != Known:
		return 0, q.State
	case q.Micros <= 0 || q.Period <= 0:
		return 0, None
	}
	return float64(q.Micros) / float64(q.Period), Known
}

// CrashesGo reports whether Go 1.25 to 1.27 dies of this quota.
func (q Quota) CrashesGo() bool {
	return q.State == Known && q.Plain && Overflows(float64(q.Micros)/float64(q.Period))
}

// Overflows reports whether the Go runtime's conversion of quota/period, rounded
// up, to an int32 does: above 2^31-1 cores, and for a period of 0, which gives
// infinity or NaN (runtime/cgroup_linux.go, adjustCgroupGOMAXPROCS).
func Overflows(cores float64) bool { return !(cores <= math.MaxInt32) }

// noLimit is where "unlimited" starts. v1 prints the largest page-aligned
// int64, which differs with the page size, and old kernels nearly 2^64: every
// one of them is above 2^62, and no machine's memory is.
const noLimit = 1 << 62

// Bytes reads one memory limit: "max", "-1" (as some emulations print) or a
// number of bytes.
func Bytes(text []byte) (int64, State) {
	text = Trim(text)
	if string(text) == "max" || string(text) == "-1" {
		return 0, None
	}
	n, ok := Uint(text)
	switch {
	case !ok:
		return 0, Unknown
	case n >= noLimit:
		return 0, None
	}
	return int64(n), Known
}

// Hierarchical is the limit that v1's memory.stat adds up over all levels, those
// included that cannot be seen from here. It is false where there is none.
func Hierarchical(stat []byte) (int64, bool) {
	n, ok := Field(stat, "hierarchical_memory_limit")
	return n, ok && n > 0 && n < noLimit
}

// HostMemory is the file of a limit that is the machine's memory itself.
const HostMemory = "/proc/meminfo"
