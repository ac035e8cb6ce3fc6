// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"cmp"
	"slices"
	"time"

	"golang.org/x/exp/trace"
)

// Summary is the summary of a trace. Wall is wall time; Occupancy is the time for which
// Ps were held, summed over Ps; Goroutines is wall time, summed over goroutines. None is
// CPU time.
type Summary struct {
	Format  int   // the Go release that introduced the trace's format: 26 for 1.26
	Bytes   int64 // read
	Events  int64
	Partial error // why the trace was not read to its end; nil = it was

	Wall       Wall
	Occupancy  Occupancy
	Goroutines Goroutines
	Heap       Heap
	Procs      []Procs // GOMAXPROCS and its changes, up to 1000; empty = unknown
	Timeline   Timeline
	Ps         Ps
	CPUSamples int64 // of a CPU profile during the trace
}

// Wall holds wall times.
type Wall struct {
	Run time.Duration // from the first event to the last
	// GCs is the number of collections that began in the trace. Ended is the number that
	// ended in it, including one that was under way at its start.
	GCs, Ended int64
	Marking    time.Duration // while a collection was under way
	// Marks are the durations of the collections that ended, from the start to the end
	// of marking.
	Marks Distribution
	// Stops are the stops of the world, each from the request until the world runs again;
	// StopsBy has them by reason, the longest sum first.
	Stops   Distribution
	StopsBy []Stop
}

// Stop is the stops of the world for one reason.
type Stop struct {
	Reason string
	GC     bool // for the collector
	Distribution
}

// GCStopped returns how long the world was stopped for the collector.
func (w *Wall) GCStopped() (total time.Duration) {
	for i := range w.StopsBy {
		if w.StopsBy[i].GC {
			total += w.StopsBy[i].Sum
		}
	}
	return total
}

// Occupancy is how long Ps were held.
type Occupancy struct {
	Available time.Duration   // GOMAXPROCS times the wall time; 0 = GOMAXPROCS is unknown
	Held      []time.Duration // by number of P: by a goroutine, briefly in a system call, or by the scheduler
	Running   time.Duration   // by running goroutines, including the collector's
	// Held by the collector. Idle is that of idle workers, which yield to the program.
	Dedicated, Fractional, Assist, Sweep, Idle time.Duration
	// GC is the collector's share of Available: workers except idle ones, assists,
	// sweeping, and all Ps while the world was stopped for it. Each P counts once.
	// nil = unknown.
	GC *float64
	// MMU is the minimum mutator utilisation for each of Windows; nil if the trace is
	// shorter, or GOMAXPROCS is unknown.
	MMU [len(Windows)]*float64
}

// Goroutines is wall time summed over goroutines, including those of the runtime.
type Goroutines struct {
	Created, Ended int64
	Peak           int // largest number at a time
	// Latency is how long goroutines were runnable before they ran.
	Latency                    Distribution
	Runnable, Blocked, Syscall time.Duration
	Reasons                    []Reason // to be blocked, the longest total first
}

// Reason is a reason why goroutines were blocked: Total over Count times. A time that
// lasts until the end of the trace counts; one that began before the trace counts only in
// Goroutines.Blocked.
type Reason struct {
	Reason string
	Count  int64
	Total  time.Duration
}

// Heap is the size of objects in bytes, including dead ones that are not swept yet;
// nil = unknown.
type Heap struct {
	Peak, Last         *uint64
	GoalPeak, GoalLast *uint64
}

// Procs is the GOMAXPROCS since a time.
type Procs struct {
	At time.Duration // since the start of the trace
	N  int
}

// span returns the time since the start of the trace.
func (f *fold) span(t int64) time.Duration { return time.Duration(t - f.start) }

// summary ends the fold: states that last count up to now.
func (f *fold) summary() *Summary {
	for _, g := range f.gs {
		f.leave(g, trace.GoUndetermined)
		g.since = f.now
	}
	for _, p := range f.ps {
		if p == nil {
			continue
		}
		if p.sweeping {
			f.work[sweeping] = plus(f.work[sweeping], f.now-p.swept)
		}
		if p.running {
			p.held = plus(p.held, f.now-p.since)
		}
		f.fill(p, f.now)
	}
	f.account()
	marking := f.marks.sum
	if f.marking {
		f.timeline.mark(f.markSince, f.now)
		marking = plus(marking, f.now-f.markSince)
	}
	s := &Summary{Events: f.events, CPUSamples: f.samples, Procs: f.changes}
	s.Wall = Wall{Run: f.span(f.now), GCs: f.begins, Ended: f.marks.n, Marking: time.Duration(marking),
		Marks: f.marks.distribution(), Stops: f.allStops.distribution()}
	for _, st := range f.stops {
		if st.h.n > 0 {
			s.Wall.StopsBy = append(s.Wall.StopsBy, Stop{st.reason, st.gc, st.h.distribution()})
		}
	}
	slices.SortStableFunc(s.Wall.StopsBy, func(a, b Stop) int { return cmp.Compare(b.Sum, a.Sum) })
	f.occupancy(&s.Occupancy)
	s.Goroutines = Goroutines{
		Created: f.created, Ended: f.ended, Peak: f.peak, Latency: f.latency.distribution(),
		Runnable: time.Duration(f.runnable), Blocked: time.Duration(f.waiting), Syscall: time.Duration(f.syscall),
	}
	for _, w := range append(f.waits, &f.otherWaits) {
		if w.n > 0 {
			s.Goroutines.Reasons = append(s.Goroutines.Reasons, Reason{w.reason, w.n, time.Duration(w.sum)})
		}
	}
	slices.SortStableFunc(s.Goroutines.Reasons, func(a, b Reason) int { return cmp.Compare(b.Total, a.Total) })
	if f.heapKnown {
		s.Heap.Peak, s.Heap.Last = &f.heapPeak, &f.heap
	}
	if f.goalKnown {
		s.Heap.GoalPeak, s.Heap.GoalLast = &f.goalPeak, &f.goal
	}
	s.Timeline = f.timeline.course(f.now)
	s.Timeline.HasProcs = f.procs > 0
	s.Ps = f.timeline.ps(f.now)
	return s
}

func (f *fold) occupancy(o *Occupancy) {
	*o = Occupancy{
		Running: time.Duration(f.running), Dedicated: time.Duration(f.work[dedicated]),
		Fractional: time.Duration(f.work[fractional]),
		Assist:     time.Duration(f.work[assisting]),
		Sweep:      time.Duration(f.work[sweeping]),
		Idle:       time.Duration(f.work[idle]),
	}
	for _, p := range f.ps {
		held := time.Duration(0)
		if p != nil {
			held = time.Duration(p.held)
		}
		o.Held = append(o.Held, held)
	}
	if f.procs == 0 {
		return
	}
	o.Available = time.Duration(min(f.pTime+float64(f.now-f.procsAt)*float64(f.procs), 1<<62))
	if o.Available > 0 {
		gc := min(f.gcTaken/float64(o.Available), 1)
		o.GC = &gc
	}
	f.utilised.endHere()
	for i := range Windows {
		if u, ok := f.utilised.minimum(i); ok {
			o.MMU[i] = &u
		}
	}
}
