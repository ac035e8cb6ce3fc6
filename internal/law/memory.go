// SPDX-License-Identifier: Apache-2.0

package law

import "math"

// MemorySample is what the memory law looks at.
type MemorySample struct {
	At    float64 // when, in seconds
	Limit int64   // bytes; above it the kernel kills or throttles; 0 = none or unknown
	Used  int64   // bytes that the limited group is charged with and that cannot be reclaimed; -1 = unknown
	Most  int64   // bytes of GOMEMLIMIT that the limit alone allows; 0 = GOMEMLIMIT is left alone
	Heap  Heap
}

// MemoryMeasured is the code of a GOMEMLIMIT below MemorySample.Most.
const MemoryMeasured = "memory-measured"

const (
	// allShare is the share of the memory limit that Go and all other memory may have
	// together. The rest is for what happens between two looks.
	allShare = 0.95
	// peakTau is the time in seconds in which a peak of memory that is not Go's falls to a
	// third (1/e) of its height above what there is now.
	peakTau = 60
	// memoryStep is the change, as a share of the memory limit, up to which GOMEMLIMIT stays
	// as it is.
	memoryStep = 0.01
	// leastGOGC is by how many percent the live heap may always grow between collections,
	// while the memory for it is there.
	leastGOGC = 10
)

// MemoryState is what the memory law remembers. The zero state begins.
type MemoryState struct {
	begun bool
	at    float64
	peak  float64
	last  float64 // the GOMEMLIMIT that was decided; 0 = none
}

// MemoryDecision is what is to be done now.
type MemoryDecision struct {
	Limit int64 // GOMEMLIMIT in bytes, at most MemorySample.Most; 0 = nothing is decided
	NonGo int64 // bytes of the group that are not Go's; -1 = unknown
	Peak  int64 // bytes that NonGo has reached lately; it decays; -1 = unknown
}

// StepMemory is the memory law. GOMEMLIMIT is 95 % of the memory limit less the recent peak
// of memory that is not Go's, and at most what the limit alone allows. A live heap that is
// close to that, or above it, may use what the peak has left behind until it can grow by a
// tenth between collections: a peak that is over must not let the collector take over.
//
// Without a memory limit, or where GOMEMLIMIT is left alone, nothing is decided. After a
// sample that failed the last value stays, but never above Most.
//
// NonGo is too small by the pages of Go's that were never touched, see Heap.Mapped. The sum
// is right all the same, because GOMEMLIMIT counts them too. Only a program that touches
// them all at once has less room than this says, until the next look: by their number less
// the 5 % that stay free.
//
// A look a second is enough: ten times as many saved nobody (experiments,
// 2026-11-23-memory-laws).
func StepMemory(s MemoryState, x MemorySample) (MemoryState, MemoryDecision) {
	d := MemoryDecision{NonGo: -1, Peak: -1}
	if x.Limit <= 0 || x.Most <= 0 {
		return s, d
	}
	limit, most := float64(x.Limit), float64(x.Most)
	s.last = min(s.last, most)
	if x.Used < 0 || !(x.At-x.At == 0) || !x.Heap.sane() {
		d.Limit = atMost(s.last, x.Most)
		return s, d
	}
	nonGo := min(max(0, float64(x.Used-x.Heap.Mapped)), limit)
	if !s.begun || x.At < s.at {
		s = MemoryState{begun: true, last: s.last}
	} else {
		s.peak = nonGo + (s.peak-nonGo)*math.Exp((s.at-x.At)/peakTau)
	}
	s.peak = min(max(nonGo, s.peak), limit)
	s.at = x.At

	want := allShare*limit - s.peak
	if x.Heap.Cycles > 0 {
		want = max(want, min(float64(x.Heap.Need(leastGOGC)), allShare*limit-nonGo))
	}
	want = min(want, most)
	if want > 0 && (s.last <= 0 || want == most || math.Abs(want-s.last) > memoryStep*limit) {
		s.last = want
	}
	d.Limit, d.NonGo, d.Peak = atMost(s.last, x.Most), atMost(nonGo, x.Limit), atMost(s.peak, x.Limit)
	return s, d
}

// atMost is f in whole bytes, at most n: above 2^53 float64(n) can be more than n.
func atMost(f float64, n int64) int64 {
	if f >= float64(n) {
		return n
	}
	return int64(f)
}

// sane says whether h can be: a failed reading leaves zeros or worse. Goal is
// beyond all memory while nothing limits the heap.
func (h *Heap) sane() bool {
	for _, n := range [...]int64{h.Mapped, h.Free, h.Objects, h.Live, h.Stacks, h.Globals} {
		if n < 0 || n > 1<<60 {
			return false
		}
	}
	return h.Mapped > 0 && h.Goal >= 0
}
