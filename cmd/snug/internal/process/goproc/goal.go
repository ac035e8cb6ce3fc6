// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"fmt"
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/limits"
)

// newestPacer is the newest Go minor release whose formula was compared.
const newestPacer = 27

// goal computes the current heap goal. The runtime does not store it but computes it in the same
// way: runtime/mgcpacer.go, heapGoalInternal and memoryLimitHeapGoal.
func (r *reader) goal(f *Facts, b block, source string) {
	l := &r.image.Layout
	at := pacerOffsets{l.LastHeapGoal, l.HeapLive, l.HeapMarked, l.MemoryLimit, l.HeapInUse, l.HeapFree, l.MappedReady}
	var goal uint64
	ok := false
	switch minor := f.Exe.Minor; {
	case minor < 18 || minor > newestPacer:
	case minor == 18: // stored, between triggered and lastHeapGoal
		if _, ok = span(at.last-8, at.live); ok && at.live == at.last+8 {
			goal = b.uint64(at.last - 8)
		}
	case minor <= 20:
		goal, ok = pacerGoal(b, at, 0)
	default:
		goal, ok = pacerGoal(b, at, 3)
	}
	if !ok {
		f.HeapGoal.Because(noOffset)
		f.LastGoal.Because(noOffset)
		return
	}
	if last := b.uint64(at.last); last > 0 && last < maxHeap {
		f.LastGoal.Know(last, source)
	} else {
		f.LastGoal.Because("no collection had a goal yet")
	}
	if goal > maxHeap && (f.GOMEMLIMIT.State == limits.None || goal == math.MaxUint64) {
		f.HeapGoal = figure.None[uint64](source)
		return
	}
	if goal > maxHeap {
		f.HeapGoal.Because(fmt.Sprintf("%d bytes make no sense, %s", goal, source))
		return
	}
	f.HeapGoal.Know(goal, source)
}

// pacerOffsets are offsets of fields of gcControllerState.
type pacerOffsets struct {
	last, live, marked, limit, inUse, free, mapped int64
}

// pacerGoal computes the heap goal. It is far above any heap if there is no goal. The goal stays
// below the limit by percent of it, at least 1 MiB: memoryLimitHeapGoalHeadroom, since Go 1.21
// memoryLimitHeapGoalHeadroomPercent. ok is false if the layout has other fields between these:
//
//	-24 gcPercentHeapGoal, -16 sweepDistMinTrigger, -8 triggered, 0 lastHeapGoal, +8 heapLive
//	-16 heapInUse, -8 heapReleased, 0 heapFree, +8 totalAlloc, +16 totalFree, +24 mappedReady
func pacerGoal(b block, at pacerOffsets, percent uint64) (goal uint64, ok bool) {
	if _, there := span(at.last, at.live, at.marked, at.limit, at.inUse, at.free, at.mapped); !there ||
		at.last < 24 || at.live != at.last+8 || at.free != at.inUse+16 || at.mapped != at.free+24 {
		return 0, false
	}
	const runway = 64 << 10
	goal = b.uint64(at.last - 24)
	if limited := limitGoal(b, at, percent); limited < goal {
		return limited, true
	}
	goal = max(goal, b.uint64(at.last-16))
	if triggered := b.uint64(at.last - 8); triggered != ^uint64(0) && triggered < maxHeap {
		goal = max(goal, triggered+runway)
	}
	return goal, true
}

// allocated returns the offset of totalAlloc in gcControllerState; -1 = unknown. Its neighbours have to be where
// pacerGoal has them.
func (r *reader) allocated(minor int) int64 {
	l := &r.image.Layout
	if minor < 19 || minor > newestPacer || l.HeapFree < 0 || l.HeapFree != l.HeapInUse+16 ||
		l.MappedReady != l.HeapFree+24 {
		return -1
	}
	return l.HeapFree + 8
}

// limitGoal returns the heap size at which the runtime's memory reaches GOMEMLIMIT.
func limitGoal(b block, at pacerOffsets, percent uint64) uint64 {
	const least = 1 << 20
	limit, marked := b.uint64(at.limit), b.uint64(at.marked)
	free, mapped := b.uint64(at.free), b.uint64(at.mapped)
	alloc := b.uint64(at.free+8) - b.uint64(at.free+16)
	var other, over uint64
	if free <= mapped && alloc <= mapped-free {
		other = mapped - free - alloc
	} // otherwise they were read while being written
	if mapped > limit {
		over = mapped - limit
	}
	if other >= limit || over >= limit-other {
		return marked
	}
	goal := limit - other - over
	headroom := max(goal/100*percent, least)
	if goal < headroom || goal-headroom < headroom {
		goal = headroom
	} else {
		goal -= headroom
	}
	return max(goal, marked)
}
