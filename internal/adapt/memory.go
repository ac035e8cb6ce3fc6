// SPDX-License-Identifier: Apache-2.0

package adapt

import "math"

// Guard is what to do when live heap and memory limit meet.
type Guard uint8

const (
	// OOM keeps throughput: the collector may not take over, and a process that
	// really needs more than there is gets killed and starts anew.
	OOM Guard = iota
	// Thrash keeps the process alive as long as can be, however slow.
	Thrash
)

// MemoryPolicy is how GOMEMLIMIT follows what is measured. The zero policy is
// the default.
type MemoryPolicy struct {
	Guard   Guard
	Reserve float64 // share of the limit kept free for bursts of memory that is not Go's; 0 = 0.15
}

// MemorySample is what the memory law looks at.
type MemorySample struct {
	At    float64 // when, in seconds
	Limit int64   // above it the kernel kills or throttles; 0 = none or unknown
	Used  int64   // what the limited group is charged with and cannot be reclaimed; -1 = unknown
	Heap  Heap
	CPU   CPU // Used, GC, Busy and the cores there are; unknown = collections are not known to take over
}

// The codes of a MemoryDecision: what decided its Limit.
const (
	MemoryNoLimit     = "no-limit"        // there is no memory limit, or it is unknown
	MemoryTooSmall    = "limit-too-small" // the memory limit is below MinMemory
	MemoryUnknown     = "unknown"         // a reading failed: the last value stays
	MemoryStatic      = "memory-static"   // before the first collection: all but the reserve and the margin
	MemoryMeasured    = "memory-measured" // what other memory, the reserve and the margin leave
	MemoryReserve     = "memory-reserve"  // the live heap needs a part of the reserve
	MemoryCap         = "memory-cap"      // the most without the guard
	MemoryGuardOOM    = "guard-oom"       // the live heap needs more than is safe, and gets it
	MemoryGuardThrash = "guard-thrash"    // the live heap needs more than is safe, and gets what is left
)

// Constants of the law, in bytes, seconds, percent and shares of the limit.
const (
	// MinMemory is the memory limit below which GOMEMLIMIT stays alone.
	MinMemory = 64 << 20
	// MinHeadroom is what stays free of it at the least unless the guard is on,
	// and the smallest GOMEMLIMIT there is.
	MinHeadroom = 16 << 20

	reserveShare = 0.15
	capShare     = 0.9

	marginShare = 0.03    // for what is between two looks, and for pages that count
	marginBytes = 4 << 20 // as Go's but were never touched
	fastShare   = 0.06    // at most, for memory that grows right now
	overShare   = 0.06    // at most, for measured overshoot

	heldTau  = 60  // a peak is forgotten slowly
	knownTau = 300 // that it was reached before, still more slowly
	floorFor = 10  // what lasts so long to twice as long is no burst
	rateTau  = 3
	overTau  = 60

	// The live heap may take half of the reserve to grow by comfort percent
	// between collections, and all of it to grow by strain.
	comfort = 20
	strain  = 12

	// Smaller changes are not worth one. What rises less readily than it falls
	// comes to rest below a rhythm's trough.
	lowerBand  = 0.005
	raiseBand  = 0.01
	needBand   = 0.02
	raiseAfter = 3 // seconds that a higher limit has to last

	fewest      = 0.02
	quick       = 0.1
	collectOver = 1.05
	collectWait = 10 // between two collections that the law starts; doubled when one was for nothing
	collectMost = 640
)

// MemoryState is what the law remembers. The zero state begins.
type MemoryState struct {
	begun bool
	at    float64
	limit float64 // memory limit of the last good sample

	// Memory that is not Go's.
	nonGo float64
	held  float64 // peak: up at once, down slowly
	floor float64 // the least of the last two periods of floorFor
	lows  [2]float64
	lowAt float64
	known float64 // peak that bursts have reached and come back from
	rate  float64 // bytes a second it grew lately, beyond known

	over      float64 // measured overshoot over GOMEMLIMIT
	ref       float64 // GOMEMLIMIT that the heap has had time to obey
	refCycles uint64

	last    float64 // GOMEMLIMIT decided
	code    string
	raising bool
	raiseAt float64 // since when the law wants more
	raiseTo float64 // the least it wanted since

	guard guard

	lowered   bool // and nothing was collected for it yet
	collected float64
	wait      float64 // until the next collection
	cycles    uint64
}

// MemoryDecision is what is to be done now.
type MemoryDecision struct {
	// Limit is GOMEMLIMIT, and the same again while nothing changes; 0 = leave it
	// alone. It is at least MinHeadroom and at most 0.9 of the memory limit and
	// MinHeadroom below it, but up to twice the memory limit while Guarded.
	Limit   int64
	Collect bool    // start a collection: Go holds more than the new limit and would give it back only after one
	Next    float64 // look again after so many seconds, 0.02 to 1
	Code    string  // why this number
	Guarded bool    // the guard holds GOMEMLIMIT above what is safe

	// What it was made from.
	NonGo   int64 // memory of the group that is not Go's; -1 = unknown, as all four
	Held    int64 // its peak, which decays
	Margin  int64 // kept free for what is between two looks
	Reserve int64 // kept free for bursts: what may come on top of NonGo
}

// StepMemory is the memory law.
//
// GOMEMLIMIT is what the memory limit leaves after memory that is not Go's, a
// reserve for bursts of it, and a margin. A burst that goes beyond what has come
// and gone before gets a reserve of its own on top; one that does not, does not,
// so that a program with a rhythm sees a steady GOMEMLIMIT. The live heap may
// take the reserve back, down to the recent peak, as far as it needs it. When
// even that lets it grow by less than 10 percent between collections, and these
// leave the program too little CPU, the guard gives it more, as the policy says.
//
// Lower limits hold at once, higher ones after 3 seconds, or at once when the
// live heap can grow by less than 20 percent.
// Without a memory limit nothing is decided, and after a sample that failed or
// cannot be the last limit stays, unless the memory limit has fallen below it.
//
// Several processes that share a limit each take the others for memory that is
// not Go's: whoever has more than it needs gives way, nobody who has not.
func StepMemory(s MemoryState, x MemorySample, p MemoryPolicy) (MemoryState, MemoryDecision) {
	d := MemoryDecision{Next: 1, NonGo: -1, Held: -1, Margin: -1, Reserve: -1, Code: MemoryUnknown, Guarded: s.guard.on}
	switch {
	case x.Limit <= 0 || x.Limit > 1<<60:
		// A limit that cannot be read may still be there, so the state stays.
		d.Code = MemoryNoLimit
		return s, d
	case x.Limit < MinMemory:
		d.Code = MemoryTooSmall
		return MemoryState{}, d
	}
	limit := float64(x.Limit)
	ceiling := min(capShare*limit, limit-MinHeadroom)
	if x.Used < 0 || float64(x.Used) > 2*limit || x.At-x.At != 0 || !x.Heap.sane() || float64(x.Heap.Roots()) > 2*limit {
		if s.last > 0 && limit < s.limit {
			s.last = min(s.last, ceiling)
			s.limit, s.guard.on, s.raising = limit, false, false
		}
		d.Limit, d.Guarded = int64(s.last), s.guard.on
		return s, d
	}
	reserve := reserveShare
	if p.Reserve > 0 && p.Reserve < 1 {
		reserve = p.Reserve
	}
	reserve *= limit
	mapped := float64(x.Heap.Mapped)
	nonGo := min(max(0, float64(x.Used)-mapped), limit)
	s.observe(&x, nonGo, limit)
	familiar := min(s.known, s.floor+reserve) + limit/100
	if grown := nonGo - s.nonGo; nonGo > familiar && x.At > s.at {
		s.rate = max(s.rate, grown/max(x.At-s.at, quick))
	}

	margin := max(marginShare*limit, marginBytes) + min(1.5*quick*s.rate, fastShare*limit) + s.over
	news := min(reserve, 3*max(0, nonGo-familiar))
	least := limit - margin - max(s.held, s.floor+reserve, nonGo+news)
	most := limit - margin - s.held
	want, code := least, MemoryMeasured
	if x.Heap.Cycles == 0 {
		want, code = max(least, 1.1*mapped), MemoryStatic
	} else {
		half := max(want, min(float64(x.Heap.Need(comfort)), (least+most)/2))
		if n := max(half, min(float64(x.Heap.Need(strain)), most)); n > want {
			want, code = n, MemoryReserve
		}
	}
	if want > ceiling {
		want, code = ceiling, MemoryCap
	}
	want, code = s.guarded(&x, p.Guard, want, nonGo, limit, code)
	want = max(want, MinHeadroom)
	s.decide(&x, want, min(most, ceiling), code)
	if !s.guard.on {
		s.last = min(s.last, ceiling)
	}
	s.last = min(s.last, 2*limit)
	d.Collect = s.collect(&x)
	d.Next = s.next(limit-float64(x.Used), nonGo, limit, &x.Heap)

	d.Limit, d.Code, d.Guarded = int64(s.last), s.code, s.guard.on
	d.NonGo, d.Held, d.Margin = int64(nonGo), int64(s.held), int64(margin)
	d.Reserve = int64(max(0, limit-margin-nonGo-s.last))
	s.nonGo, s.limit, s.at, s.begun, s.cycles = nonGo, limit, x.At, true, x.Heap.Cycles
	return s, d
}

// observe follows what is measured.
func (s *MemoryState) observe(x *MemorySample, nonGo, limit float64) {
	if !s.begun || x.At < s.at {
		s.raising = false
		s.held, s.floor, s.known, s.nonGo = nonGo, nonGo, nonGo, nonGo
		s.lows, s.lowAt = [2]float64{nonGo, nonGo}, x.At
		s.at, s.cycles, s.wait = x.At, x.Heap.Cycles, collectWait
		s.collected = x.At - collectWait
		s.guard.begin(x)
	}
	dt := max(0, x.At-s.at)
	s.rate *= math.Exp(-dt / rateTau)
	// A burst that is over was as high as the peak.
	if s.held-nonGo > (s.held-s.floor)/2 {
		s.known = max(s.known, s.held)
	}
	decay := math.Exp(-dt / heldTau)
	s.held = min(max(nonGo, nonGo+(s.held-nonGo)*decay), limit)
	if x.At-s.lowAt >= floorFor {
		s.lows[0], s.lows[1], s.lowAt = s.lows[1], nonGo, x.At
	}
	s.lows[1] = min(s.lows[1], nonGo)
	s.floor = min(s.lows[0], s.lows[1])
	s.known = max(s.floor, s.floor+(s.known-s.floor)*math.Exp(-dt/knownTau))

	// Overshoot counts against a limit that the heap has had two cycles to obey
	// and could obey.
	if s.last <= 0 {
		return
	}
	if x.Heap.Cycles >= s.refCycles+2 || x.Heap.Cycles < s.cycles {
		s.ref, s.refCycles = s.last, x.Heap.Cycles
	}
	s.over *= math.Exp(-dt / overTau)
	if float64(x.Heap.Need(guardAt)) <= s.ref && !s.guard.on {
		s.over = max(s.over, min(float64(x.Heap.Mapped)-s.ref, overShare*limit))
	}
	s.over = min(s.over, overShare*limit)
}

// decide moves the limit: down at once where safe, the most that is safe, asks
// for it, up at once where the live heap is short of it, else after a while. What
// only follows the live heap, which every cycle measures anew, takes larger steps.
func (s *MemoryState) decide(x *MemorySample, want, safe float64, code string) {
	guard := code == MemoryGuardOOM || code == MemoryGuardThrash
	short := guard || x.Heap.Cycles > 0 && s.last < float64(x.Heap.Need(release))
	lower := lowerBand
	if guard || code == MemoryReserve && s.last <= safe*(1+lowerBand) {
		lower = needBand
	}
	switch {
	case s.last == 0, short && want > s.last*(1+raiseBand):
		s.set(x, want, code)
	case want < s.last*(1-lower):
		s.lowered = s.lowered || !guard
		s.set(x, want, code)
	case want <= s.last*(1+raiseBand):
		s.raising = false
		s.code = code
	case !s.raising:
		s.raising, s.raiseAt, s.raiseTo = true, x.At, want
	default:
		s.raiseTo = min(s.raiseTo, want)
		if x.At-s.raiseAt >= raiseAfter {
			s.set(x, s.raiseTo, code)
		}
	}
}

// set puts a limit in force.
func (s *MemoryState) set(x *MemorySample, want float64, code string) {
	s.ref, s.refCycles = max(s.ref, s.last, want), x.Heap.Cycles
	s.last, s.code, s.raising = want, code, false
}

// collect says whether to start a collection because the limit went down. It is
// no way to keep to a limit: it waits after each, longer after one that was for
// nothing, and asks for none that cannot free enough.
func (s *MemoryState) collect(x *MemorySample) bool {
	mapped := float64(x.Heap.Mapped)
	if mapped <= collectOver*s.last {
		if s.lowered = false; x.At-s.collected > 2*s.wait {
			s.wait = collectWait
		}
		return false
	}
	garbage := float64(x.Heap.Objects - x.Heap.Live)
	if !s.lowered || x.Heap.Cycles == 0 || x.At-s.collected < s.wait || garbage < (mapped-s.last)/2 {
		return false
	}
	if x.At-s.collected < 2*s.wait {
		s.wait = min(2*s.wait, collectMost)
	}
	s.lowered, s.collected = false, x.At
	return true
}

// next is when to look again: a second, and sooner when a fifth of what is free
// would be taken until then.
func (s *MemoryState) next(free, nonGo, limit float64, h *Heap) float64 {
	next := 1.0
	if s.rate > 0 {
		next = 0.2 * max(free, 0) / s.rate
	}
	if s.guard.on || h.EffectiveGOGC() < tightGOGC || s.begun && nonGo-s.nonGo > limit/100 {
		next = min(next, quick)
	}
	return min(max(next, fewest), 1)
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
