// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"bytes"
	"math"
	"math/bits"
)

// cut returns the text before the first sep, and what follows it.
//
//go:noinline
func cut(b []byte, sep byte) (before, after []byte, found bool) {
	if i := bytes.IndexByte(b, sep); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

// eachLine calls f for every line of b, without its newline, until f says no.
func eachLine(b []byte, f func(line []byte) bool) {
	for len(b) > 0 {
		var line []byte
		line, b, _ = cut(b, '\n')
		if !f(line) {
			return
		}
	}
}

// parseUint reads a decimal number of at most 64 bits. The whole of b must be
// digits. What does not fit is the largest number there is: old kernels print
// limits close to 2^64 for "none".
func parseUint(b []byte) (uint64, bool) {
	if len(b) == 0 {
		return 0, false
	}
	var n uint64
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		hi, lo := bits.Mul64(n, 10)
		sum, carry := bits.Add64(lo, uint64(c-'0'), 0)
		if hi != 0 || carry != 0 {
			n = math.MaxUint64
			continue
		}
		if n != math.MaxUint64 {
			n = sum
		}
	}
	return n, true
}

// parseCount is parseUint for figures that fit an int64; larger ones are the
// largest int64.
func parseCount(b []byte) (int64, bool) {
	n, ok := parseUint(b)
	return int64(min(n, math.MaxInt64)), ok
}

// number64 is parseCount as a Value.
func number64(b []byte) Value[int64] {
	if n, ok := parseCount(b); ok {
		return Of(n)
	}
	return Value[int64]{}
}

// trim drops white space at both ends, the newline first of all.
func trim(b []byte) []byte { return bytes.TrimSpace(b) }

// A quota is what one level's files say about bandwidth.
type quota struct {
	micros, period int64
	state          State // Known: micros is a number; None: no limit; Unknown: the text makes no sense
	plain          bool
}

// defaultPeriod is the kernel's, in microseconds (sched-bwc.rst).
const defaultPeriod = 100000

// parseCPUMax reads cpu.max of cgroup v2 (kernel doc: admin-guide/cgroup-v2.rst):
//
//	200000 100000
//	max 100000
//	(1)    (2)
//
// (1) quota in microseconds or "max", (2) period in microseconds. The kernel
// always prints both; the period may be left out here as it may be in a write.
func parseCPUMax(b []byte) quota {
	plain := bytes.HasSuffix(b, []byte("\n"))
	first, second, two := cut(trim(b), ' ')
	q := quota{period: defaultPeriod, plain: plain && two}
	if two {
		p, ok := parseCount(trim(second))
		if !ok {
			return quota{}
		}
		q.period = p
	}
	if string(first) == "max" {
		q.state = None
		return q
	}
	n, ok := parseCount(first)
	if !ok {
		return quota{}
	}
	q.micros, q.state = n, Known
	return q
}

// parseV1Quota joins cpu.cfs_quota_us and cpu.cfs_period_us, both one number
// in microseconds; a negative quota means none.
func parseV1Quota(quotaText, periodText []byte) quota {
	q := quota{plain: bytes.HasSuffix(quotaText, []byte("\n")) && bytes.HasSuffix(periodText, []byte("\n"))}
	text := trim(quotaText)
	if len(text) > 1 && text[0] == '-' {
		if _, ok := parseCount(text[1:]); ok {
			return quota{state: None}
		}
	}
	var ok bool
	if q.micros, ok = parseCount(text); !ok {
		return quota{}
	}
	if q.period, ok = parseCount(trim(periodText)); !ok {
		return quota{}
	}
	q.state = Known
	return q
}

// cores is quota/period; none where either is not a positive number, because
// then nothing is enforced that could be sized by.
func (q quota) cores() Value[float64] {
	switch {
	case q.state != Known:
		return Value[float64]{State: q.state}
	case q.micros <= 0 || q.period <= 0:
		return NoLimit[float64]()
	}
	return Of(float64(q.micros) / float64(q.period))
}

// crashes reports whether the Go runtime dies of this quota.
func (q quota) crashes() bool {
	return q.state == Known && q.plain && overflows(float64(q.micros)/float64(q.period))
}

// overflows reports whether the Go runtime's conversion of quota/period, rounded
// up, to an int32 does: above 2^31-1 cores, and for a period of 0, which gives
// infinity or NaN (runtime/cgroup_linux.go, adjustCgroupGOMAXPROCS).
func overflows(cores float64) bool { return !(cores <= math.MaxInt32) }

// noLimit is where "unlimited" starts. v1 prints the largest page-aligned
// int64, which differs with the page size, and old kernels nearly 2^64: every
// one of them is above 2^62, and no machine's memory is.
const noLimit = 1 << 62

// parseBytes reads one memory limit: "max", "-1" (as some emulations print) or
// a number of bytes.
func parseBytes(b []byte) Value[int64] {
	b = trim(b)
	if string(b) == "max" || string(b) == "-1" {
		return NoLimit[int64]()
	}
	n, ok := parseUint(b)
	switch {
	case !ok:
		return Value[int64]{}
	case n >= noLimit:
		return NoLimit[int64]()
	}
	return Of(int64(n))
}

// field finds the number behind a key in a flat keyed file, "key value" lines:
// cpu.stat, memory.stat, memory.events, memory.oom_control. With a colon at
// the end of the key also /proc/meminfo, whose numbers a unit follows.
func field(b []byte, key string) Value[int64] {
	for len(b) > 0 {
		var line []byte
		line, b, _ = cut(b, '\n')
		if len(line) > len(key) && string(line[:len(key)]) == key && (line[len(key)] == ' ' || line[len(key)] == '\t') {
			number, _, _ := cut(trim(line[len(key):]), ' ')
			return number64(number)
		}
	}
	return Value[int64]{}
}

// parseMemTotal reads MemTotal of /proc/meminfo (proc_meminfo(5)), printed in
// KiB, as bytes.
func parseMemTotal(b []byte) Value[int64] {
	kib, ok := field(b, "MemTotal:").Get()
	if !ok || kib <= 0 || kib > math.MaxInt64/1024 {
		return Value[int64]{}
	}
	return Of(kib * 1024)
}

// parseAffinity counts the CPUs of Cpus_allowed in /proc/PID/status
// (proc_pid_status(5)): hexadecimal words separated by commas.
func parseAffinity(status []byte) Value[int] {
	var v Value[int]
	eachLine(status, func(line []byte) bool {
		mask, found := bytes.CutPrefix(line, []byte("Cpus_allowed:"))
		if !found {
			return true
		}
		n := 0
		for _, c := range trim(mask) {
			switch {
			case c >= '0' && c <= '9':
				n += bits.OnesCount8(c - '0')
			case c >= 'a' && c <= 'f':
				n += bits.OnesCount8(c - 'a' + 10)
			case c != ',':
				return false
			}
		}
		if n > 0 {
			v = Of(n)
		}
		return false
	})
	return v
}

// parsePressure reads a PSI file (kernel doc: accounting/psi.rst):
//
//	some avg10=0.12 avg60=0.00 avg300=0.00 total=1234
//	full avg10=0.00 avg60=0.00 avg300=0.00 total=567
//
// Averages are percentages, totals microseconds.
func parsePressure(b []byte) Pressure {
	var p Pressure
	eachLine(b, func(line []byte) bool {
		kind, rest, _ := cut(line, ' ')
		share, total := &p.Some10, &p.SomeTotal
		switch string(kind) {
		case "some":
		case "full":
			share, total = &p.Full10, &p.FullTotal
		default:
			return true
		}
		for len(rest) > 0 {
			var word []byte
			word, rest, _ = cut(rest, ' ')
			key, text, _ := cut(word, '=')
			switch string(key) {
			case "avg10":
				*share = parsePercent(text)
			case "total":
				if n, ok := parseCount(text); ok {
					*total = micros(n)
				}
			}
		}
		return true
	})
	return p
}

// parsePercent reads "12.34" as 0.1234.
func parsePercent(b []byte) Value[float64] {
	whole, frac, _ := cut(b, '.')
	n, ok := parseCount(whole)
	if !ok {
		return Value[float64]{}
	}
	v, scale := float64(n), 1.0
	for _, c := range frac {
		if c < '0' || c > '9' {
			return Value[float64]{}
		}
		scale /= 10
		v += float64(c-'0') * scale
	}
	return Of(v / 100)
}
