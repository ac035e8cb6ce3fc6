// SPDX-License-Identifier: Apache-2.0

package exectrace

import "time"

// steps is the maximum number of steps of a timeline. A trace of more than steps
// nanoseconds has more than half of them.
const steps = 512

// timeline keeps figures over time in equal steps. When the trace needs more steps, each
// two become one.
type timeline struct {
	start int64
	shift uint // a step is 1<<shift ns
	used  int
	steps [steps]step
	lanes []*lane // of the first Ps, by number
}

type step struct {
	heapLow, heapHigh, heapLast uint64
	goalLast                    uint64
	anyHeap, anyGoal            bool
	gc                          float64 // P time of the collector as a share, times ns
	stopped, marked             int64   // ns
}

// at returns the step of a time.
func (l *timeline) at(t int64) int {
	i := (t - l.start) >> l.shift
	if i >= steps {
		i = l.grow(t)
	}
	l.used = max(l.used, int(i)+1)
	return int(i)
}

// grow lengthens the steps until they contain a time.
func (l *timeline) grow(t int64) int64 {
	for (t-l.start)>>l.shift >= steps {
		for i := range steps / 2 {
			l.steps[i] = l.steps[2*i].and(&l.steps[2*i+1])
		}
		clear(l.steps[steps/2:])
		for _, c := range l.lanes {
			c.merge()
		}
		l.shift++
		l.used = (l.used + 1) / 2
	}
	return (t - l.start) >> l.shift
}

// and merges two consecutive steps.
func (s step) and(b *step) step {
	if b.anyHeap {
		if !s.anyHeap {
			s.heapLow = b.heapLow
		}
		s.heapLow, s.heapHigh = min(s.heapLow, b.heapLow), max(s.heapHigh, b.heapHigh)
		s.heapLast, s.anyHeap = b.heapLast, true
	}
	if b.anyGoal {
		s.goalLast, s.anyGoal = b.goalLast, true
	}
	s.gc, s.stopped, s.marked = s.gc+b.gc, s.stopped+b.stopped, s.marked+b.marked
	return s
}

func (l *timeline) heap(t int64, v uint64) {
	s := &l.steps[l.at(t)]
	if !s.anyHeap {
		s.heapLow, s.anyHeap = v, true
	}
	s.heapLow, s.heapHigh, s.heapLast = min(s.heapLow, v), max(s.heapHigh, v), v
}

func (l *timeline) goal(t int64, v uint64) {
	s := &l.steps[l.at(t)]
	s.goalLast, s.anyGoal = v, true
}

func (l *timeline) gc(from, to int64, share float64) {
	l.over(from, to, func(s *step, ns int64) { s.gc += share * float64(ns) })
}

func (l *timeline) stop(from, to int64) {
	l.over(from, to, func(s *step, ns int64) { s.stopped += ns })
}

func (l *timeline) mark(from, to int64) {
	l.over(from, to, func(s *step, ns int64) { s.marked += ns })
}

// over calls f for each step between two times, with the length of its part in ns.
func (l *timeline) over(from, to int64, f func(s *step, ns int64)) {
	l.spread(from, to, func(i int, ns int64) { f(&l.steps[i], ns) })
}

// spread is over with the number of the step.
func (l *timeline) spread(from, to int64, f func(i int, ns int64)) {
	if to <= from {
		return
	}
	last := l.at(to - 1)
	if from >= l.start+int64(last)<<l.shift { // usually
		f(last, to-from)
		return
	}
	for i := l.at(from); i <= last; i++ {
		begin := l.start + int64(i)<<l.shift
		f(i, min(to, begin+1<<l.shift)-max(from, begin))
	}
}

// Timeline is the figures of a trace in equal steps; its end may cut off the last step.
type Timeline struct {
	Step     time.Duration
	Points   []Point
	HasHeap  bool // the heap is 0 before it is known
	HasGoal  bool
	HasProcs bool // GC is unknown without GOMAXPROCS
}

// Point is one step. Without a report, heap and goal keep their last values.
type Point struct {
	HeapLow, HeapHigh, Goal uint64  // bytes
	GC                      float64 // share of the Ps that the collector held, 0 to 1
	Stopped, Marking        float64 // share of the time
}

func (l *timeline) course(end int64) Timeline {
	out := Timeline{Step: 1 << l.shift}
	var heap, goal uint64
	for i := range l.used {
		s := &l.steps[i]
		begin := l.start + int64(i)<<l.shift
		long := float64(max(min(end-begin, 1<<l.shift), 1))
		p := Point{HeapLow: heap, HeapHigh: heap, GC: min(s.gc/long, 1), Stopped: min(float64(s.stopped)/long, 1),
			Marking: min(float64(s.marked)/long, 1)}
		if s.anyHeap {
			p.HeapLow, p.HeapHigh, heap = s.heapLow, s.heapHigh, s.heapLast
			out.HasHeap = true
		}
		if s.anyGoal {
			goal, out.HasGoal = s.goalLast, true
		}
		p.Goal = goal
		out.Points = append(out.Points, p)
	}
	return out
}
