// SPDX-License-Identifier: Apache-2.0

package law

import "math"

// GCPolicy controls how GOGC follows measurements. The zero policy leaves GOGC alone.
type GCPolicy struct {
	On    bool
	Share float64 // of the process's CPU time that collections may use; 0 = 0.05
	Base  int64   // the GOGC without snug, in percent; 0 = 100; -1 = off, which is left alone
}

// GCSample is the input of the GC law.
type GCSample struct {
	At    float64 // when, in seconds
	Limit int64   // bytes of the memory limit; 0 = none or unknown
	Used  int64   // unreclaimable bytes charged to the limited group; -1 = unknown
	Heap  Heap
	// CPU is the process's CPU time and the runtime's own classes so far.
	CPU CPU
}

// GCState is the state of the law. The zero state is its start.
type GCState struct {
	begun bool
	ours  bool    // the law raised GOGC
	at    float64 // time of the last sample

	last  gcWindow // for the reported share
	share float64
	slow  gcWindow // for the share that the law controls
	goal  float64  // the GOGC that the share calls for; 0 = none yet

	limit, nonGo float64 // last known values
	known        float64 // their time; -Inf = never
	next         float64 // the GOGC that a raise may reach now

	waiting bool    // a raise is waiting
	since   float64 // its start
	low     float64 // the lowest GOGC wanted since then
	wait    float64 // how long a raise waits
	raised  float64 // time of the last one; -Inf = never; NaN = it did not last
}

// GCDecision is the output of the GC law.
type GCDecision struct {
	GOGC  int64   // percent, never below Base, never off; 0 = leave GOGC alone
	Code  string  // why this number, in force or to be set
	Share float64 // recent share of the process's CPU time used by collections, 0 to 1; NaN = unknown
}

// Codes of GCDecision. A code never changes its meaning.
const (
	GCKeep    = "gc-keep"   // the policy leaves GOGC alone
	GCOff     = "gc-off"    // GOGC is off, by the program's or the operator's choice, and is left alone
	GCCost    = "gc-cost"   // the share of the CPU decides
	GCCapped  = "gc-capped" // memory decides: the memory limit, GOMEMLIMIT or the knee caps what the share calls for
	GCBase    = "gc-base"   // nothing above Base is needed, or fits
	GCNoLimit = "no-limit"  // no memory limit, or an unknown one: the room cannot be measured
	GCFirst   = "gc-first"  // no collection has run yet: the live heap is unknown
	GCUnknown = "unknown"   // a figure that is needed could not be read
)

const (
	gcShare = 0.05
	gcKnee  = 8        // times the live heap: beyond it page faults and cache misses outweigh the gain
	gcTiny  = 64 << 20 // for a small live heap, for which the knee is too little

	gcPlanned = 0.80 // of the limit: what the plan may fill; pacing overshoots by up to 10 %
	gcUnder   = 0.95 // of the part of GOMEMLIMIT left to the heap: the scavenger starts there (runtime/mgcscavenge.go)

	// The runtime's heapMinimum is this at GOGC=100 and grows with GOGC
	// (runtime/mgcpacer.go, setGCPercent).
	gcHeapMinimum = 4 << 20

	// Several processes under one limit see the same room and raise at once.
	gcTake = 1.0 / 3

	gcSame             = 1.05    // a smaller change is ignored
	gcFactor           = 2       // the largest raise, and a window's largest step
	gcWait, gcMaxWait  = 10, 300 // seconds before a raise, at first and at most; gcWait also makes old figures unknown
	gcMinPart          = 0.25    // the smallest part of the way, on a log scale, to raise after raises that did not last
	gcCycles, gcMinute = 4, 60   // a window ends after this many collections, or seconds
	gcBand             = 1.33    // tolerance of the share, as a factor either way
	gcWorth            = 0.005   // cores: cheaper collections are not worth memory
)

// StepGC is the GC law. It seeks the GOGC, Base or above, at which collections use Share of the
// CPU: once per window it multiplies GOGC by share/Share. The heap goal stays within an extra
// heap E over the live heap,
//
//	GOGC = 100 min(E / (live + stacks + globals), (live + E) / 4 MiB)
//
// which inverts the pacer's goal (runtime/mgcpacer.go, commit), including its heapMinimum.
//
//	room = 0.8 limit - (non-Go + Go's non-heap + live), and under 0.95 of what GOMEMLIMIT leaves
//	E    = min(max(8 live, 64 MiB), room)
//
// None of these contains garbage, so the law's output does not affect its input, and the room
// falls with the slack byte for byte. Without a GOMEMLIMIT within the limit, which bounds the
// heap until the next sample, GOGC stays at Base.
//
// A smaller GOGC is set at once. A larger one is set after it was wanted for 10 s without a
// break: the lowest value wanted in that time, at most twice the current one, and using at most
// a third of the room left, which other processes may see as well. A raise that does not last a
// minute doubles that wait, up to 300 s, and the next raise goes only part of the way, so that a
// process which overreacts settles as well.
//
// Without readable figures nothing is raised; after 10 s without them GOGC returns to Base, if
// the law had raised it.
func StepGC(s GCState, x GCSample, p GCPolicy) (GCState, GCDecision) {
	if !s.begun {
		s = GCState{begun: true, at: math.Inf(-1), share: math.NaN(), known: math.Inf(-1), wait: gcWait, raised: math.Inf(-1)}
	}
	if math.IsNaN(x.At) || math.IsInf(x.At, 0) || x.At < s.at {
		return s, GCDecision{Code: GCUnknown, Share: s.share}
	}
	if math.IsInf(s.at, -1) {
		s.last.begin(x.Heap.Cycles, &x.CPU)
		s.slow.begin(x.Heap.Cycles, &x.CPU)
	}
	s.at = x.At
	s.measure(&x)
	d := GCDecision{Share: s.share}
	if p.Base == 0 {
		p.Base = 100
	}
	now, base := float64(x.Heap.GOGC), float64(p.Base)
	switch {
	case !p.On:
		d.Code = GCKeep
	case base < 0 || now < 0:
		d.Code = GCOff
	case now == 0 || !x.Heap.sane():
		d.Code = GCUnknown
	case x.Heap.Cycles == 0:
		d.Code = GCFirst
	default:
		var want float64
		want, d.Code = s.want(&x, &p, now, base)
		if want = s.gate(&x, now, want, base); want > 0 {
			d.GOGC = p.Base // exactly, which a float64 may not represent
			if want > base {
				d.GOGC = int64(want)
			}
		}
		return s, d
	}
	s.waiting, s.goal = false, 0
	return s, d
}

// want returns the GOGC to have, and why.
func (s *GCState) want(x *GCSample, p *GCPolicy, now, base float64) (gogc float64, code string) {
	limited := x.Limit > 0 && x.Limit <= 1<<60
	seen := limited && x.Used >= 0 && x.Used <= 1<<60
	if seen {
		s.limit, s.known = float64(x.Limit), x.At
		s.nonGo = max(0, float64(x.Used)-float64(x.Heap.Mapped))
	}
	if !seen && x.At-s.known > gcWait {
		code = GCUnknown
		if !limited {
			code = GCNoLimit
		}
		s.goal = 0
		if s.ours {
			return min(base, now), code
		}
		return now, code
	}
	gogc, code = s.cost(x, p, now, base), GCCost
	if maxGOGC := s.maxGOGC(x); gogc > maxGOGC {
		gogc, code = maxGOGC, GCCapped
	}
	if gogc <= base {
		gogc, code = base, GCBase
	}
	if !seen {
		gogc = min(gogc, max(now, base))
	}
	return gogc, code
}

// maxGOGC returns the largest GOGC that memory allows.
func (s *GCState) maxGOGC(x *GCSample) float64 {
	h := &x.Heap
	live := float64(h.Live)
	roots := max(1, live+float64(h.Stacks)+float64(h.Globals))
	rest := max(0, float64(h.Mapped)-float64(h.Free)-float64(h.Objects))
	if !(h.Limit > 0 && float64(h.Limit) <= s.limit) {
		return 0
	}
	room := min(gcPlanned*s.limit-s.nonGo-rest, gcUnder*(float64(h.Limit)-rest)) - live
	had := float64(h.GOGC) / 100
	had = max(had*roots, had*gcHeapMinimum-live)
	s.next = gogcFor(had+(room-had)*gcTake, live, roots)
	return gogcFor(min(max(gcKnee*live, gcTiny), room), live, roots)
}

// gogcFor returns the GOGC whose heap goal is extra over the live heap.
func gogcFor(extra, live, roots float64) float64 {
	return 100 * min(extra/roots, (live+extra)/gcHeapMinimum)
}

// cost returns the GOGC that the share of the CPU calls for. The share is inversely proportional
// to GOGC for any live heap: a cycle costs time proportional to the live heap, and the time
// between cycles is proportional to GOGC times the live heap.
func (s *GCState) cost(x *GCSample, p *GCPolicy, now, base float64) float64 {
	if s.goal == 0 {
		s.goal = now
		s.slow.begin(x.Heap.Cycles, &x.CPU)
	}
	w := &s.slow
	seconds := x.CPU.At - w.at
	if seconds < s.wait/2 {
		return s.goal
	}
	few := x.Heap.Cycles < w.cycles+gcCycles
	switch {
	case x.Heap.Cycles < w.cycles:
		w.begin(x.Heap.Cycles, &x.CPU)
		return max(s.goal, base)
	case few && seconds < gcMinute:
		return max(s.goal, base)
	}
	share := w.share(&x.CPU)
	target := float64(gcShare)
	if p.Share > 0 {
		target = p.Share
	}
	step, cores := share/target, (x.CPU.Used-w.used)/seconds
	if share <= 1 { // false if unknown
		cores *= share
	}
	switch {
	case cores*gcFactor < gcWorth:
		step = 0
	case !(step < 1/gcBand || step > gcBand), // also if unknown
		step > 1 && (few || !(cores >= gcWorth)):
		step = 1
	}
	s.goal = max(base, now*min(max(step, 1.0/gcFactor), gcFactor))
	w.begin(x.Heap.Cycles, &x.CPU)
	return s.goal
}

// gate passes a lower GOGC at once and delays a higher one. It returns the GOGC to set, 0 for
// none.
func (s *GCState) gate(x *GCSample, now, want, base float64) float64 {
	switch {
	case want < now/gcSame || want == base && now > base:
		s.waiting = false
		switch held := x.At - s.raised; {
		case held < gcMinute:
			s.wait, s.raised = min(2*s.wait, gcMaxWait), math.NaN()
		case held >= gcMinute:
			s.wait = gcWait
		}
		s.ours = want > base
	case want > now*gcSame:
		if !s.waiting {
			s.waiting, s.since, s.low = true, x.At, want
		}
		s.low = min(s.low, want)
		if x.At-s.since < s.wait {
			return 0
		}
		part := max(gcWait/s.wait, gcMinPart)
		want = max(base, min(s.next, now*math.Pow(min(s.low/now, gcFactor), part)))
		if want <= now*gcSame {
			return 0
		}
		s.waiting, s.raised, s.ours = false, x.At, true
	default:
		s.waiting = false
		return 0
	}
	s.slow.begin(x.Heap.Cycles, &x.CPU)
	return want
}

// measure updates the reported share: over at least a second and two cycles, because the
// runtime's classes advance only when a cycle ends.
func (s *GCState) measure(x *GCSample) {
	w := &s.last
	seconds := x.CPU.At - w.at
	switch {
	case x.Heap.Cycles < w.cycles:
		s.share = math.NaN()
	case seconds >= 1 && x.Heap.Cycles-w.cycles >= 2:
		s.share = w.share(&x.CPU)
	case seconds > gcMinute:
		s.share = math.NaN() // too old to count as recent
		return
	default:
		return
	}
	w.begin(x.Heap.Cycles, &x.CPU)
}

// gcWindow is the start of a measurement.
type gcWindow struct {
	at, gc, busy, used float64
	cycles             uint64
}

func (w *gcWindow) begin(cycles uint64, c *CPU) {
	*w = gcWindow{c.At, c.GC, c.Busy, c.Used, cycles}
}

// share returns the share of the CPU time used by collections since the window began, 0 to 1;
// NaN = unknown. The classes are seconds of Ps, which overstate CPU time if CPUs are short, but
// their ratio holds.
func (w *gcWindow) share(c *CPU) float64 {
	gc, busy := c.GC-w.gc, c.Busy-w.busy
	if !(gc >= 0 && busy > 0 && gc <= busy) {
		return math.NaN()
	}
	return gc / busy
}
