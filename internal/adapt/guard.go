// SPDX-License-Identifier: Apache-2.0

package adapt

import "math"

const (
	// The guard steps in when the live heap may grow by less than guardAt percent
	// between collections and these have taken over. It lets go when the law by
	// itself has given release percent for letGo seconds, or when the process has
	// used less than spareUsed of the CPU it can get for as long; for twice as
	// long, up to spareMost seconds, each time that this was a mistake.
	guardAt   = 10
	release   = 20
	spareUsed = 0.5
	spareMost = 320

	// Collections have taken over when the process uses takenUsed of the CPU it can
	// get and they are takenShare of it: the dedicated quarter of the Ps
	// (runtime/mgcpacer.go, gcBackgroundUtilization), without a break, and
	// nothing left to make up for it. Where CPU is left, they may take more and
	// nobody needs help: a heap that is let grow is only killed sooner.
	takenUsed  = 0.9
	takenShare = 0.25
	// takenFor is the seconds that this is measured for at the least, and takenCycles
	// the cycles: longer than a burst. takenMost is the seconds at the most.
	takenFor    = 1.5
	takenCycles = 2
	takenMost   = 10
)

// guard is what the law remembers about it.
type guard struct {
	on     bool
	easyAt float64 // when the law by itself last gave too little to let go
	cost   gcWindow
	taken  bool    // collections have taken over
	busyAt float64 // when the process last used its CPU
	spare  float64 // seconds without that until the guard lets go
	leftAt float64 // when it last did so
}

func (s *guard) begin(x *MemorySample) {
	*s = guard{easyAt: x.At, busyAt: x.At, spare: letGo, leftAt: math.Inf(-1)}
	s.cost.begin(x.Heap.Cycles, &x.CPU)
}

// weigh measures whether collections have taken over. Without a figure they have
// not, and the process counts as busy.
func (s *guard) weigh(x *MemorySample) {
	w, c := &s.cost, &x.CPU
	seconds, room := c.At-w.at, usable(c)
	if seconds >= 0 && (seconds < takenFor || seconds < takenMost && x.Heap.Cycles < w.cycles+takenCycles) {
		return
	}
	used := (c.Used - w.used) / seconds
	cycles := x.Heap.Cycles >= w.cycles+takenCycles
	s.taken = cycles && room > 0 && used >= takenUsed*room && w.share(c)*used >= takenShare*room
	if !(used < spareUsed*room) {
		s.busyAt = x.At
	}
	w.begin(x.Heap.Cycles, c)
}

// step says whether the guard is on. want is what the law gives without it.
func (s *guard) step(x *MemorySample, want float64) bool {
	s.weigh(x)
	if want < float64(x.Heap.Need(release)) {
		s.easyAt = x.At
	}
	switch {
	case x.Heap.Cycles == 0:
		s.on = false
	case !s.on:
		if s.on = want < float64(x.Heap.Need(guardAt)) && s.taken; s.on {
			s.busyAt = x.At
			if s.spare = min(2*s.spare, spareMost); x.At-s.leftAt > 4*s.spare {
				s.spare = letGo
			}
		}
	case x.At-s.busyAt >= s.spare:
		s.on, s.leftAt = false, x.At
	case x.At-s.easyAt >= letGo:
		s.on = false
	}
	return s.on
}

// guarded is the limit with the guard, and why. want is what the law gives without it.
func (s *MemoryState) guarded(x *MemorySample, g Guard, want, nonGo, limit float64, code string) (float64, string) {
	if !s.guard.step(x, want) {
		return want, code
	}
	need, name := min(float64(x.Heap.Need(guardAt)), 2*limit), MemoryGuardOOM
	if g == Thrash {
		name = MemoryGuardThrash
		need = min(need, limit-nonGo-max(limit/100, 2<<20))
	}
	if need < want {
		return want, code
	}
	return need, name
}
