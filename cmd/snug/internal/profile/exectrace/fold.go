// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"math"
	"strings"

	"golang.org/x/exp/trace"
)

// fold sums up the events of a trace, in order. Each kind of event has a method; its time
// is that of the last call of at.
type fold struct {
	now, start, gen int64 // ns; gen is the begin of this generation
	begun           bool
	events, samples int64

	gs     map[trace.GoID]*goState
	recent [512]*goState // by the last bits of the number
	ps     []*procState  // by number; nil if not seen

	running, runnable, waiting, syscall int64 // ns, over all goroutines
	latency                             histogram
	waits                               []*wait
	otherWaits                          wait
	lastWait                            *wait // returned last by waitFor; nil = none
	created, ended                      int64
	alive, peak                         int

	procs   int // GOMAXPROCS; 0 = not known yet
	procsAt int64
	pTime   float64 // of all Ps, ns
	changes []Procs

	marking          bool
	markSince        int64
	marks            histogram
	begins, underWay int64 // collections that began, and that were under way at the start

	stopped   *stop // the current stop of the world; nil while it runs
	stopSince int64
	stops     []*stop
	allStops  histogram

	gcPs      int     // Ps that the collector holds
	accounted int64   // when its share last changed
	gcTaken   float64 // P time of the collector, ns
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
	id          trace.GoID
	state       trace.GoState
	sure        bool // since is when it entered its state; false if it may be earlier
	assist      bool // in a mark assist
	work        workKind
	p           *procState // that it runs on; nil if it does not run, or unknown
	since       int64
	assistSince int64 // while it runs
	workSince   int64
	why         *wait
}

type procState struct {
	running, sweeping bool
	since, swept      int64
	held              int64 // ns
	gc                int   // number of the collector's activities on it

	goroutines, idleMarking int // that run on it, idle mark workers among them
	lane                    *lane
	heldBy                  held
	heldSince               int64
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

// workKind is a kind of the collector's work on a P.
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

// Bounds on what this package keeps of a trace.
const (
	maxProcs   = 1 << 16 // the former runtime._MaxGomaxprocs
	maxReasons = 64
	maxChanges = 1000
)

func newFold() *fold {
	return &fold{gs: map[trace.GoID]*goState{}, otherWaits: wait{reason: "other reasons"}}
}

// hasData reports whether the fold has anything to sum up.
func (f *fold) hasData() bool {
	return f.now > f.start && (len(f.gs) > 0 || f.procs > 0 || f.created > 0)
}

// at sets the time, ns; sync begins a generation.
func (f *fold) at(t int64, sync bool) {
	f.events++
	if !f.begun {
		f.begin(t)
	}
	if t > f.now && t-f.start >= 0 { // in a damaged trace, time may go back or overflow
		f.now = t
	}
	if sync {
		f.gen = f.now
	}
}

func (f *fold) begin(t int64) {
	f.begun, f.now, f.start, f.gen = true, t, t, t
	f.accounted, f.procsAt, f.timeline.start = t, t, t
}

// metric handles a sample of a metric.
func (f *fold) metric(name string, v uint64) {
	switch name {
	case metricHeap:
		f.heap, f.heapPeak, f.heapKnown = v, max(f.heapPeak, v), true
		f.timeline.heap(f.now, v)
	case metricGoal:
		if v == math.MaxUint64 { // no goal, GOGC=off
			return
		}
		f.goal, f.goalPeak, f.goalKnown = v, max(f.goalPeak, v), true
		f.timeline.goal(f.now, v)
	case metricProcs:
		n := int(min(v, maxProcs))
		if n == f.procs || n == 0 {
			return
		}
		if f.procs == 0 {
			f.utilised.begin(f.now)
			f.accounted = f.now
		} else {
			f.account()
			f.pTime += float64(f.now-f.procsAt) * float64(f.procs)
			f.procsAt = f.now
		}
		f.procs = n
		if len(f.changes) < maxChanges {
			f.changes = append(f.changes, Procs{f.span(f.now), n})
		}
	}
}

// share returns the collector's share of the Ps, 0 to 1.
func (f *fold) share() float64 {
	switch {
	case f.stopped != nil && f.stopped.gc:
		return 1
	case f.procs == 0:
		return 0
	}
	return min(float64(f.gcPs)/float64(f.procs), 1)
}

// account adds up the collector's share since the last call. It is called before the
// share changes.
func (f *fold) account() {
	if f.procs == 0 || f.now <= f.accounted {
		return
	}
	share := f.share()
	f.utilised.to(f.now, share)
	if share > 0 {
		f.gcTaken += share * float64(f.procs) * float64(f.now-f.accounted)
		f.timeline.gc(f.accounted, f.now, share)
	}
	f.accounted = f.now
}

// mark handles the begin or the end of a collection; active means that it is already
// under way.
func (f *fold) mark(begin, active bool) {
	switch {
	case begin && !f.marking:
		f.marking, f.markSince = true, f.now
		if active {
			f.markSince = f.gen
			f.underWay++
		} else {
			f.begins++
		}
	case !begin && f.marking:
		f.marking = false
		f.marks.add(f.now - f.markSince)
		f.timeline.mark(f.markSince, f.now)
	}
}

// stop handles a request to stop the world.
func (f *fold) stop(reason string) {
	f.account()
	f.stopped, f.stopSince = f.stopFor(reason), f.now
}

func (f *fold) stopFor(reason string) *stop {
	for _, s := range f.stops {
		if s.reason == reason {
			return s
		}
	}
	if len(f.stops) == maxReasons {
		return f.stops[maxReasons-1]
	}
	s := &stop{reason: strings.Clone(reason), gc: strings.HasPrefix(reason, "GC ")}
	f.stops = append(f.stops, s)
	return s
}

// restart handles the end of a stop of the world.
func (f *fold) restart() {
	if f.stopped == nil {
		return
	}
	f.account()
	d := f.now - f.stopSince
	f.stopped.h.add(d)
	f.allStops.add(d)
	f.timeline.stop(f.stopSince, f.now)
	f.stopped = nil
}

// p returns a P; nil for an impossible number.
func (f *fold) p(id trace.ProcID) *procState {
	if id < 0 || id >= maxProcs {
		return nil
	}
	for int(id) >= len(f.ps) {
		f.ps = append(f.ps, nil)
	}
	if f.ps[id] == nil {
		f.ps[id] = &procState{lane: f.timeline.lane(int(id)), heldSince: f.gen}
	}
	return f.ps[id]
}

// proc handles a change of a P's state, or a report of it.
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
		f.turn(p, p.since)
	case !runs && p.running:
		p.running = false
		p.held = plus(p.held, f.now-p.since)
		f.turn(p, f.now)
	}
}

// sweep handles the begin or the end of a sweep on a P.
func (f *fold) sweep(id trace.ProcID, begin bool) {
	p := f.p(id)
	if p == nil || p.sweeping == begin {
		return
	}
	p.sweeping = begin
	if begin {
		p.swept = f.now
		f.takeP(p)
	} else {
		f.work[sweeping] = plus(f.work[sweeping], f.now-p.swept)
		f.releaseP(p)
	}
}

// takeP gives the collector a P; releaseP takes it back.
func (f *fold) takeP(p *procState) {
	if p == nil {
		return
	}
	if p.gc == 0 {
		f.account()
		f.gcPs++
	}
	p.gc++
	f.turn(p, f.now)
}

func (f *fold) releaseP(p *procState) {
	if p == nil || p.gc == 0 {
		return
	}
	if p.gc == 1 {
		f.account()
		f.gcPs--
	}
	p.gc--
	f.turn(p, f.now)
}
