// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"math"
	"strings"

	"golang.org/x/exp/trace"
)

// fold takes what happens in a trace, in order, and keeps sums. Its methods are the
// events it knows, each at the time that at told last. It decides nothing by itself and
// reads nothing.
type fold struct {
	now, start, gen int64 // ns; gen is where this generation begins
	begun           bool
	events, samples int64

	gs     map[trace.GoID]*goState
	recent [512]*goState // by the last bits of the number
	ps     []*procState  // by number; nil where none was seen

	running, runnable, waiting, syscall int64 // ns, over all goroutines
	latency                             histogram
	waits                               []*wait
	otherWaits                          wait
	lastWait                            *wait // that was asked for; nil = none
	created, ended                      int64
	alive, peak                         int

	oldProcs int // GOMAXPROCS at the start, of a trace in an old format
	procs    int // GOMAXPROCS; 0 = not told yet
	procsAt  int64
	pTime    float64 // of all Ps there are, ns
	changes  []Procs

	marking        bool
	markSince      int64
	marks          histogram
	begins, inHand int64 // collections that began, and that were under way at the start

	stopped   *stop // the world is; nil when it runs
	stopSince int64
	stops     []*stop
	allStops  histogram

	gcPs      int     // Ps that the collector holds
	turned    int64   // when its share changed last
	gcTaken   float64 // of Ps, ns
	utilised  mmu
	work      [workKinds]int64 // ns
	heap      uint64
	heapPeak  uint64
	goal      uint64
	goalPeak  uint64
	heapKnown bool
	goalKnown bool
	timeline  timeline
}

type goState struct {
	id     trace.GoID
	state  trace.GoState
	sure   bool // since is when it came into its state, not only when the trace began
	assist bool // it is within a mark assist
	work   workKind
	p      *procState // that it runs on; nil when it does not run, or that is not known
	since  int64
	helps  int64 // since when it assists, while it runs
	works  int64 // since when it works
	why    *wait
}

type procState struct {
	running, sweeping bool
	since, swept      int64
	held              int64 // ns
	gc                int   // how much of the collector runs on it
}

type wait struct {
	reason string
	n, sum int64
}

type stop struct {
	reason string
	gc     bool
	h      histogram
}

// workKind is a way in which the collector takes a P.
type workKind uint8

const (
	noWork workKind = iota
	dedicated
	fractional
	idle
	assisting
	sweeping
	workKinds
)

// What a trace may make this package remember.
const (
	mostProcs   = 1 << 16 // runtime._MaxGomaxprocs has gone; the old format has other things from 1000000 on
	mostReasons = 64
	mostChanges = 1000
)

func newFold() *fold {
	return &fold{gs: map[trace.GoID]*goState{}, otherWaits: wait{reason: "other reasons"}}
}

// any reports whether there is anything to tell.
func (f *fold) any() bool { return f.now > f.start && (len(f.gs) > 0 || f.procs > 0 || f.created > 0) }

// at goes on to a time, ns; sync begins a generation.
func (f *fold) at(t int64, sync bool) {
	f.events++
	if !f.begun {
		f.begin(t)
	}
	if t > f.now && t-f.start >= 0 { // a damaged trace may go back, or round
		f.now = t
	}
	if sync {
		f.gen = f.now
	}
}

func (f *fold) begin(t int64) {
	f.begun, f.now, f.start, f.gen = true, t, t, t
	f.turned, f.procsAt, f.timeline.start = t, t, t
	f.metric(metricProcs, uint64(f.oldProcs))
}

// metric is a sample of a metric.
func (f *fold) metric(name string, v uint64) {
	switch name {
	case metricHeap:
		f.heap, f.heapPeak, f.heapKnown = v, max(f.heapPeak, v), true
		f.timeline.heap(f.now, v)
	case metricGoal:
		if v == math.MaxUint64 { // without one, GOGC=off
			return
		}
		f.goal, f.goalPeak, f.goalKnown = v, max(f.goalPeak, v), true
		f.timeline.goal(f.now, v)
	case metricProcs:
		n := int(min(v, mostProcs))
		if n == f.procs || n == 0 {
			return
		}
		if f.procs == 0 {
			f.utilised.begin(f.now)
			f.turned = f.now
		} else {
			f.turn()
			f.pTime += float64(f.now-f.procsAt) * float64(f.procs)
			f.procsAt = f.now
		}
		f.procs = n
		if len(f.changes) < mostChanges {
			f.changes = append(f.changes, Procs{f.span(f.now), n})
		}
	}
}

// share is the part of the Ps that the collector holds, 0 to 1.
func (f *fold) share() float64 {
	switch {
	case f.stopped != nil && f.stopped.gc:
		return 1
	case f.procs == 0:
		return 0
	}
	return min(float64(f.gcPs)/float64(f.procs), 1)
}

// turn is called before the collector's share changes.
func (f *fold) turn() {
	if f.procs == 0 || f.now <= f.turned {
		return
	}
	share := f.share()
	f.utilised.to(f.now, share)
	if share > 0 {
		f.gcTaken += share * float64(f.procs) * float64(f.now-f.turned)
		f.timeline.gc(f.turned, f.now, share)
	}
	f.turned = f.now
}

// mark is the begin or the end of a collection; active says that one is under way.
func (f *fold) mark(begin, active bool) {
	switch {
	case begin && !f.marking:
		f.marking, f.markSince = true, f.now
		if active {
			f.markSince = f.gen
			f.inHand++
		} else {
			f.begins++
		}
	case !begin && f.marking:
		f.marking = false
		f.marks.add(f.now - f.markSince)
		f.timeline.mark(f.markSince, f.now)
	}
}

// stop is a request to stop the world.
func (f *fold) stop(reason string) {
	f.turn()
	f.stopped, f.stopSince = f.stopFor(reason), f.now
}

func (f *fold) stopFor(reason string) *stop {
	for _, s := range f.stops {
		if s.reason == reason {
			return s
		}
	}
	if len(f.stops) == mostReasons {
		return f.stops[mostReasons-1]
	}
	s := &stop{reason: strings.Clone(reason), gc: strings.HasPrefix(reason, "GC ")}
	f.stops = append(f.stops, s)
	return s
}

// restart is when the world runs again.
func (f *fold) restart() {
	if f.stopped == nil {
		return
	}
	f.turn()
	d := f.now - f.stopSince
	f.stopped.h.add(d)
	f.allStops.add(d)
	f.timeline.stop(f.stopSince, f.now)
	f.stopped = nil
}

// p is a P; nil is one that cannot be.
func (f *fold) p(id trace.ProcID) *procState {
	if id < 0 || id >= mostProcs {
		return nil
	}
	for int(id) >= len(f.ps) {
		f.ps = append(f.ps, nil)
	}
	if f.ps[id] == nil {
		f.ps[id] = &procState{}
	}
	return f.ps[id]
}

// proc is a P that starts or stops running, or is told to.
func (f *fold) proc(id trace.ProcID, from, to trace.ProcState) {
	p := f.p(id)
	if p == nil {
		return
	}
	switch runs := to == trace.ProcRunning; {
	case runs && !p.running:
		p.running, p.since = true, f.now
		if from == trace.ProcUndetermined {
			p.since = f.gen
		}
	case !runs && p.running:
		p.running = false
		p.held = plus(p.held, f.now-p.since)
	}
}

// sweep begins or ends on a P.
func (f *fold) sweep(id trace.ProcID, begin bool) {
	p := f.p(id)
	if p == nil || p.sweeping == begin {
		return
	}
	p.sweeping = begin
	if begin {
		p.swept = f.now
		f.collects(p)
	} else {
		f.work[sweeping] = plus(f.work[sweeping], f.now-p.swept)
		f.leaves(p)
	}
}

// collects is the collector taking a P; leaves is it giving it back.
func (f *fold) collects(p *procState) {
	if p == nil {
		return
	}
	if p.gc == 0 {
		f.turn()
		f.gcPs++
	}
	p.gc++
}

func (f *fold) leaves(p *procState) {
	if p == nil || p.gc == 0 {
		return
	}
	if p.gc == 1 {
		f.turn()
		f.gcPs--
	}
	p.gc--
}
