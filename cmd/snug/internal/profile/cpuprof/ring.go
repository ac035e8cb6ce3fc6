// SPDX-License-Identifier: Apache-2.0

package cpuprof

import (
	"encoding/binary"
	"slices"
)

// Records of a perf ring (man 2 perf_event_open, include/uapi/linux/perf_event.h).
// Words have the byte order of the machine:
//
//	header      u32 type, u16 misc, u16 size with the header
//	sample (9)  u64 ip; u32 pid, tid; u64 period; u64 nr; u64 ips[nr]
//	lost (2)    u64 id; u64 lost
//	lost samples (13)  u64 lost
//	comm (3)    u32 pid, tid; char comm[]
//
// The sample_type of the event selects the fields of a sample.
const (
	recordLost        = 2
	recordComm        = 3
	recordSample      = 9
	recordLostSamples = 13

	headerSize = 8

	miscModeMask = 7
	miscKernel   = 1
	miscCommExec = 1 << 13

	// Entries of a chain from here up are not addresses, but markers of the context
	// of the next ones: PERF_CONTEXT_MAX, -4095.
	contextFirst = ^uint64(4094)
	contextUser  = ^uint64(511)
)

// maxChain is more than the number of addresses in a sample: 127 unless
// kernel.perf_event_max_stack was raised, and eight markers.
const maxChain = 1 << 10

// record is one sample as written by the kernel.
type record struct {
	pid, tid uint32
	kernel   bool
	period   uint64
	pcs      []uint64 // addresses in user code; valid until the next record
}

// reader reads records from rings. Its zero value is ready to use.
type reader struct {
	scratch []byte
	pcs     []uint64
	lost    uint64 // samples that the kernel had no room for
	execed  bool   // the process ran execve
}

// drain calls f with the samples between two positions of a ring; f must not keep their
// addresses. data is the ring, whose length is a power of two; head and tail count all bytes
// ever written. An invalid record stops drain and counts as one lost record, because the rest
// cannot be parsed. After an execve, drain passes on no more samples.
func (r *reader) drain(data []byte, tail, head uint64, f func(record)) {
	size := uint64(len(data))
	if size == 0 || size&(size-1) != 0 {
		return
	}
	if head-tail > size {
		r.lost++
		return
	}
	var header [headerSize]byte
	for left := head - tail; left > 0 && !r.execed; left = head - tail {
		if left < headerSize {
			r.lost++
			return
		}
		copyRing(header[:], data, tail)
		kind := binary.NativeEndian.Uint32(header[0:])
		misc := binary.NativeEndian.Uint16(header[4:])
		length := uint64(binary.NativeEndian.Uint16(header[6:]))
		if length < headerSize || length > left {
			r.lost++
			return
		}
		r.scratch = slices.Grow(r.scratch[:0], int(length))[:length]
		copyRing(r.scratch, data, tail)
		r.record(kind, misc, r.scratch[headerSize:], f)
		tail += length
	}
}

func (r *reader) record(kind uint32, misc uint16, body []byte, f func(record)) {
	word := binary.NativeEndian.Uint64
	switch kind {
	case recordSample:
		s, ok := r.sample(body)
		if !ok {
			r.lost++
			return
		}
		s.kernel = misc&miscModeMask == miscKernel
		f(s)
	case recordLost:
		if len(body) >= 16 {
			r.lost += word(body[8:])
		}
	case recordLostSamples:
		if len(body) >= 8 {
			r.lost += word(body)
		}
	case recordComm:
		r.execed = misc&miscCommExec != 0
	}
}

// sample parses the body of a sample.
func (r *reader) sample(body []byte) (record, bool) {
	const fixed = 32
	if len(body) < fixed {
		return record{}, false
	}
	word := binary.NativeEndian.Uint64
	s := record{
		pid:    binary.NativeEndian.Uint32(body[8:]),
		tid:    binary.NativeEndian.Uint32(body[12:]),
		period: word(body[16:]),
	}
	n := word(body[24:])
	if n > maxChain || n > uint64(len(body)-fixed)/8 {
		return record{}, false
	}
	r.pcs = r.pcs[:0]
	user := false
	for i := range int(n) {
		pc := word(body[fixed+8*i:])
		switch {
		case pc >= contextFirst:
			user = pc == contextUser
		case user:
			r.pcs = append(r.pcs, pc)
		}
	}
	s.pcs = r.pcs
	return s, true
}

// copyRing fills to from a ring, wrapping around its end. to must not be longer than the ring.
func copyRing(to, data []byte, at uint64) {
	n := copy(to, data[at&uint64(len(data)-1):])
	copy(to[n:], data)
}
