// SPDX-License-Identifier: Apache-2.0

package law

import "math"

// MemorySample is the input of the memory law.
type MemorySample struct {
	At    float64 // when, in seconds
	Limit int64   // bytes; above it the kernel kills or throttles; 0 = none or unknown
	Used  int64   // unreclaimable bytes charged to the limited group; -1 = unknown
	Max   int64   // bytes of GOMEMLIMIT that the limit alone allows; 0 = GOMEMLIMIT is left alone
	Heap  Heap
}

// MemoryMeasured is the code of a GOMEMLIMIT below MemorySample.Max.
const MemoryMeasured = "memory-measured"

const (
	// allShare is the share of the memory limit for Go and all other memory together. The rest
	// covers what happens between two samples.
	allShare = 0.95
	// peakTau is the time in seconds in which a peak of non-Go memory decays to a third (1/e) of
	// its height above the current value.
	peakTau = 60
	// memoryStep is the change, as a share of the memory limit, below which GOMEMLIMIT is not
	// changed.
	memoryStep = 0.01
	// minGOGC is the percentage by which the live heap may always grow between collections, if
	// there is memory for it.
	minGOGC = 10
)

// MemoryState is the state of the memory law. The zero state is its start.
type MemoryState struct {
	begun bool
	at    float64
	peak  float64
	last  float64 // the last GOMEMLIMIT decided; 0 = none
}

// MemoryDecision is the output of the memory law.
type MemoryDecision struct {
	Limit int64 // GOMEMLIMIT in bytes, at most MemorySample.Max; 0 = no decision
	NonGo int64 // bytes of the group outside Go; -1 = unknown
	Peak  int64 // recent peak of NonGo in bytes, which decays; -1 = unknown
}

// StepMemory is the memory law. GOMEMLIMIT is 95 % of the memory limit less the recent peak of
// non-Go memory, and at most what the limit alone allows. A live heap close to that, or above it,
// may use the memory that a past peak has freed until it can grow by 10 % between collections:
// a past peak must not let the collector take over.
//
// Without a memory limit, or if GOMEMLIMIT is left alone, there is no decision. After a failed
// sample the last value stays, but never above Max.
//
// NonGo is too small by Go's untouched pages, see Heap.Mapped. The sum is right nevertheless,
// because GOMEMLIMIT counts them too. Only a program that touches them all at once has less room,
// until the next sample: by those pages less the 5 % that stay free.
//
// One sample per second is enough: ten per second prevented no OOM kill (experiments,
// 2026-11-23-memory-laws).
func StepMemory(s MemoryState, x MemorySample) (MemoryState, MemoryDecision) {
	d := MemoryDecision{NonGo: -1, Peak: -1}
	if x.Limit <= 0 || x.Max <= 0 {
		return s, d
	}
	limit, maxLimit := float64(x.Limit), float64(x.Max)
	s.last = min(s.last, maxLimit)
	if x.Used < 0 || !(x.At-x.At == 0) || !x.Heap.sane() {
		d.Limit = atMost(s.last, x.Max)
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
		want = max(want, min(float64(x.Heap.Need(minGOGC)), allShare*limit-nonGo))
	}
	want = min(want, maxLimit)
	if want > 0 && (s.last <= 0 || want == maxLimit || math.Abs(want-s.last) > memoryStep*limit) {
		s.last = want
	}
	d.Limit, d.NonGo, d.Peak = atMost(s.last, x.Max), atMost(nonGo, x.Limit), atMost(s.peak, x.Limit)
	return s, d
}

// atMost converts f to whole bytes, at most n: above 2^53 float64(n) can exceed n.
func atMost(f float64, n int64) int64 {
	if f >= float64(n) {
		return n
	}
	return int64(f)
}

// sane reports whether h is possible: a failed reading leaves zeros or worse. Goal exceeds any
// memory while nothing limits the heap.
func (h *Heap) sane() bool {
	for _, n := range [...]int64{h.Mapped, h.Free, h.Objects, h.Live, h.Stacks, h.Globals} {
		if n < 0 || n > 1<<60 {
			return false
		}
	}
	return h.Mapped > 0 && h.Goal >= 0
}
