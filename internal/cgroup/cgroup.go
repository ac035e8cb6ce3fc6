// SPDX-License-Identifier: Apache-2.0

// Package cgroup parses the texts of a cgroup file system: the lines of /proc/PID/cgroup, the
// mounts of /proc/PID/mountinfo and the files of one group, for v1 and v2. It is pure: it opens
// no files and makes no decisions. Every reader of limits uses it, so that no two readers
// disagree.
package cgroup

import (
	"bytes"
	"math"
	"math/bits"
)

// State distinguishes the three results of reading a limit, in the order of limits.State.
type State uint8

const (
	Unknown State = iota // the text is malformed
	None                 // there is no limit
	Known                // there is a number
)

// Cut returns the text before the first sep, and the text after it.
//
//go:noinline
func Cut(b []byte, sep byte) (before, after []byte, found bool) {
	if i := bytes.IndexByte(b, sep); i >= 0 {
		return b[:i], b[i+1:], true
	}
	return b, nil, false
}

// Trim removes ASCII white space at both ends, mostly the newline. The kernel prints no other.
//
//go:noinline
func Trim(b []byte) []byte {
	for len(b) > 0 && blank(b[0]) {
		b = b[1:]
	}
	for len(b) > 0 && blank(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	return b
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }

// Uint parses a decimal number of at most 64 bits. All of b must be digits. A number that does
// not fit becomes the largest one: old kernels print limits close to 2^64 for "none".
func Uint(b []byte) (uint64, bool) {
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

// Count is Uint for an int64: larger numbers become the largest int64.
func Count(b []byte) (int64, bool) {
	n, ok := Uint(b)
	return int64(min(n, math.MaxInt64)), ok
}

// Field returns the number of a key in a flat keyed file, one "key value" per line: cpu.stat,
// memory.stat, memory.events, memory.oom_control. With a colon at the end of the key it reads
// /proc/meminfo too, where a unit follows the number. It returns false if the key is missing
// or its number is malformed.
func Field(b []byte, key string) (int64, bool) {
	for len(b) > 0 {
		var line []byte
		line, b, _ = Cut(b, '\n')
		if len(line) > len(key) && string(line[:len(key)]) == key && (line[len(key)] == ' ' || line[len(key)] == '\t') {
			number, _, _ := Cut(Trim(line[len(key):]), ' ')
			return Count(number)
		}
	}
	return 0, false
}

// MemTotal returns MemTotal of /proc/meminfo (proc_meminfo(5)), printed in KiB, as bytes.
func MemTotal(meminfo []byte) (int64, bool) {
	kib, ok := Field(meminfo, "MemTotal:")
	if !ok || kib <= 0 || kib > math.MaxInt64/1024 {
		return 0, false
	}
	return kib * 1024, true
}

// HugePages returns how much memory is reserved as huge pages, in bytes, from /proc/meminfo: Hugetlb,
// all sizes, or before Linux 4.16 those of the default size (kernel doc: admin-guide/mm/hugetlbpage.rst).
func HugePages(meminfo []byte) int64 {
	kib, ok := Field(meminfo, "Hugetlb:")
	if !ok {
		n, _ := Field(meminfo, "HugePages_Total:")
		size, _ := Field(meminfo, "Hugepagesize:")
		if size > 0 && n < math.MaxInt64/1024/size {
			kib = n * size
		}
	}
	return min(kib, math.MaxInt64/1024) * 1024
}

// CPUs is a set of CPUs. Linux supports at most 8192.
type CPUs [8192 / 64]uint64

// Count returns the number of CPUs in the set.
//
//go:noinline
func (s *CPUs) Count() (n int) {
	for _, word := range s {
		for ; word != 0; word &= word - 1 {
			n++
		}
	}
	return n
}

// AddAllowed adds the CPUs of Cpus_allowed in /proc/PID/status (proc_pid_status(5)): hexadecimal
// words separated by commas, the highest CPUs first. It returns false, and adds nothing, if there
// is no such line, or it is malformed.
func (s *CPUs) AddAllowed(status []byte) bool {
	for len(status) > 0 {
		var line []byte
		line, status, _ = Cut(status, '\n')
		mask, found := bytes.CutPrefix(line, []byte("Cpus_allowed:"))
		if !found {
			continue
		}
		var set CPUs
		mask = Trim(mask)
		at := 0
		for i := len(mask) - 1; i >= 0; i-- {
			c := mask[i]
			switch {
			case c >= '0' && c <= '9':
				c -= '0'
			case c >= 'a' && c <= 'f':
				c -= 'a' - 10
			case c == ',':
				continue
			default:
				return false
			}
			if at/64 < len(set) {
				set[at/64] |= uint64(c) << (at % 64)
			} else if c != 0 {
				return false
			}
			at += 4
		}
		for i, word := range set {
			s[i] |= word
		}
		return set.Count() > 0
	}
	return false
}
