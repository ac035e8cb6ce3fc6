// SPDX-License-Identifier: Apache-2.0

package size

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/figure"
	"github.com/snug-go/snug/internal/plan"
)

// over is how far the heap may pass its goal, as a factor.
func (s *Seen) over() float64 { return max(overshoot, s.Over.N) }

// InUse returns the bytes of memory that a process has in use, and how many of them are not Go's. Of its resident
// bytes some are in pages of files, and of these some are its code, which counts: without it a program waits for the
// disk all the time, though the kernel may reclaim it. kept is what its cgroup holds and cannot reclaim, the kernel's
// own memory with it; -1 = it has none of its own. Of the bytes that Go has mapped some may not be resident.
func InUse(resident, files, code, kept, mapped float64) (used, other float64) {
	anonymous := max(0, resident-files)
	used = anonymous
	if kept >= 0 {
		used = kept
	}
	return used + code, max(0, used-min(mapped, anonymous)) + code
}

// other returns the bytes of memory that is not Go's, with what is added for peaks that were not seen.
func (s *Seen) other() float64 { return s.Other.N * (1 + s.margin) }

// beside returns the bytes that a limit holds beside the heap: the last is what the program allocates while the
// collector waits for a CPU.
func (s *Seen) beside() float64 { return s.Rest.N + s.other() + s.busy()*period }

// explained returns the bytes in use that the heap goal explains, where live heap and goal are largest; +Inf if the
// heap has no goal.
func (s *Seen) explained() float64 {
	if !s.Goal.Known() || s.Live.N == 0 {
		return math.Inf(1)
	}
	return s.over()*s.Goal.N*s.LiveMost.N/s.Live.N + s.Rest.N + s.Other.N
}

// busy returns the bytes that the program allocates a second when it has most to do, as far as that is known.
func (s *Seen) busy() float64 { return max(s.Allocated.N, s.Burst) }

func (s *Seen) gogc() int {
	if s.GOGC.Known() {
		return s.GOGC.N
	}
	return 100
}

// byGOGC returns the heap goal of GOGC in bytes, +Inf if it is off. Stacks and globals, which are not seen, raise it
// (runtime/mgcpacer.go, commit); the goal that was is never above it.
func (s *Seen) byGOGC() float64 {
	if s.gogc() < 0 {
		return math.Inf(1)
	}
	part := float64(s.gogc()) / 100
	return max(s.Live.N*(1+part), 4*mib*part, s.Goal.N)
}

// goal returns the heap goal in a memory limit: the smaller one of GOGC and of GOMEMLIMIT, whose headroom is 3 % or
// 1 MiB (runtime/mgcpacer.go, memoryLimitHeapGoal).
func (s *Seen) goal(limit float64) float64 { return s.goalWith(limit, 0) }

// goalWith is goal if Go's memory beside objects grows by a part of the heap, from what it was with the heap that
// there was.
func (s *Seen) goalWith(limit, part float64) float64 {
	g := s.byGOGC()
	if n, _ := s.goMemLimit(limit); n > 0 {
		heap := n - s.Rest.N + part*s.filled()
		g = min(g, heap/(1/0.97+part), (heap-mib)/(1+part))
	}
	return max(g, s.Live.N)
}

// spans is the part of the heap that Go's memory beside objects grows by: 160 bytes of runtime.mspan and 128 of
// bitmap for each 8 KiB of small objects (runtime/mheap.go, runtime/mbitmap.go), less for large ones.
const spans = 0.03

// expected returns the heap goal in a memory limit for the curve: as goal, but with a smaller heap than there was
// Go's memory beside objects is smaller too, and with a larger one larger. What is advised does not count on that.
func (s *Seen) expected(limit float64) float64 {
	if filled := s.filled(); filled > 0 {
		return s.goalWith(limit, min(spans, s.Rest.N/filled))
	}
	return s.goal(limit)
}

// filled returns the bytes that the heap had at the end of a cycle: its goal, or less if it did not come so far; 0 =
// unknown.
func (s *Seen) filled() float64 {
	if !s.Goal.Known() || s.Collections == 0 {
		return 0
	}
	return min(s.Goal.N, s.Live.N+s.Allocated.N*s.Seconds/float64(s.Collections))
}

// limitFor returns the smallest memory limit whose GOMEMLIMIT lets the heap grow by extra bytes over the live heap.
func (s *Seen) limitFor(extra float64) float64 {
	heap := s.Live.N + extra
	n := max(heap/0.97, heap+mib) + s.Rest.N
	return max(n/0.9, n+s.other()+plan.MinHeadroom, s.over()*heap+s.beside(), s.least())
}

// least returns the memory limit in bytes that only what lived would fill.
func (s *Seen) least() float64 { return s.lives + s.Rest.N + s.other() + plan.MinHeadroom }

// need returns the bytes over the mean live heap that the program needs: what lives at most, and room for as many
// collections as take a part of the CPU limit that the runtime plans for them.
func (s *Seen) need() float64 {
	need := max(0, s.lives-s.Live.N)
	if s.cores > 0 {
		need += s.busy() / s.part() * s.cost() / (marking * s.cores)
	}
	return need
}

// cost returns the CPU seconds of one collection.
func (s *Seen) cost() float64 { return s.GCCores.N * s.Seconds / float64(s.Collections) }

// cheapest returns the bytes over the live heap at which memory and collections cost least, at most a PiB: memory may
// be nearly free.
func (s *Seen) cheapest(core, perGiB float64) float64 {
	return min(1<<50, math.Sqrt(s.Allocated.N/s.part()*s.cost()*core/(perGiB/gib)*0.97*0.9))
}

// cycles returns the collections a second with a heap goal; +Inf if it leaves nothing to allocate.
func (s *Seen) cycles(goal float64) float64 {
	switch {
	case s.Allocated.N == 0:
		return forced
	case goal <= s.Live.N:
		return math.Inf(1)
	}
	return max(s.Allocated.N/s.part()/(goal-s.Live.N), forced)
}

// model returns the part of the way from the live heap to the goal that was allocated in a collection's cycle.
func (s *Seen) model() figure.Of[float64] {
	goal, ok := s.Goal.Get()
	if !ok || goal <= s.Live.N || s.Collections == 0 || !s.Allocated.Known() {
		return figure.Of[float64]{}
	}
	return figure.New(s.Allocated.N*s.Seconds/float64(s.Collections)/(goal-s.Live.N), "")
}

// A collection starts at 0.7 to 0.95 of the way to the goal (runtime/mgcpacer.go, minTriggerRatioNum,
// maxTriggerRatioNum), and the program allocates on while it runs.
const minPart, maxPart = 0.7, 1

// part is model within what the runtime does. It is taken to be the same in other limits.
func (s *Seen) part() float64 {
	m, ok := s.model().Get()
	if !ok {
		return maxPart
	}
	return min(max(m, minPart), maxPart)
}

// fits reports whether a heap that passes its goal fits in a memory limit.
func (s *Seen) fits(limit float64) bool {
	return max(s.over()*s.goal(limit)+s.beside(), s.least()) <= limit
}

// fitting returns the smallest round memory limit that is not less and fits: without a GOMEMLIMIT the heap goal is
// GOGC's.
func (s *Seen) fitting(limit float64) float64 { return raised(limit, s.fits) }

// raised returns the first round memory limit that is not less and is enough, within 50 times.
func raised(limit float64, enough func(float64) bool) float64 {
	limit = step(limit)
	for i := 0; i < 200 && !enough(limit); i++ {
		limit = step(limit * 1.02)
	}
	return limit
}
