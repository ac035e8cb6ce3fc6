// SPDX-License-Identifier: Apache-2.0

package law

import "math"

// StarvationPolicy is how the starvation escape acts.
type StarvationPolicy struct {
	Base     int     // GOMAXPROCS without the escape
	Ceiling  int     // at most; 0 = the larger of 8 and 4 times the cores
	Stay     float64 // seconds before it returns to Base; 0 = 600. Doubled at each relapse
	Relapses int     // gives up after so many; 0 = 4
}

// Codes of StarvationDecision.
const (
	StarvationSuspected = "starvation-suspected" // many goroutines wait while CPU time is left over: being measured
	StarvationUnsure    = "starvation-unsure"    // suspected, but the kernel's wait cannot be read: nothing is done
	StarvationEscape    = "starvation-escape"    // GOMAXPROCS is raised: Ps were held in system calls
	EscapeReturned      = "escape-returned"      // back at the number before, after a calm stay
	EscapeYielded       = "escape-yielded"       // somebody else changed GOMAXPROCS, or it cannot be set: theirs holds
	EscapeStays         = "escape-stays"         // gave up returning: the program relapsed each time, the raised number stays
	EscapeFutile        = "escape-futile"        // gave up raising: it did not make the program run more, back at the number before
)

// The law acts in seconds where it is certain and takes its time to go back.
const (
	// hotFor is how long, over hotLooks looks or more, goroutines must wait beside
	// unused CPU time before anything is done. A process that was stopped shows
	// one such look.
	hotFor   = 2
	hotLooks = 3
	// unsureFor takes the place of hotFor while no two collections have told how
	// long Ps idled meanwhile: bursts may leave as many goroutines waiting.
	unsureFor = 4
	// kernelFor is how long the kernel's wait must have been measured meanwhile.
	kernelFor = 1
	// classesFor is how many seconds of each P the collections must have
	// accounted for, before what they say of idle Ps counts.
	classesFor = 0.5
	// sureFor is how long it may take to measure it.
	sureFor = 10
	// cleared is how long suspicion rests once it was measured that Ps are not
	// held: who shares the CPUs with hungry neighbours pays for it with 2 s in 7.
	cleared = 5

	// helps is by how much more often goroutines must run with more Ps than
	// with the number before. Twice the Ps run twice as much where all are
	// held; a burst, or a lock, takes no notice.
	helps       = 1.2
	futileAfter = 10
	// satisfied is how long no more is asked once the ceiling is reached and helps.
	satisfied = 60

	stay         = 600
	relapses     = 4
	forgiveAfter = 86400 // seconds without a relapse that make the next one the first
	calmFor      = 10
	calmPerP     = 2 // goroutines waiting for each P of the number it returns to
	calmUsed     = 0.9
	calmThrottle = 0.5

	// obeyed is for how many looks a GOMAXPROCS is asked for that does not come.
	// To set it may take a collection, seconds.
	obeyed = 30

	lookCalm    = 1
	lookHot     = 0.5
	lookAtLeast = 0.2 // shorter windows are joined to the next
	lookAtMost  = 60  // longer ones say nothing: the process may have slept
)

// StarvationState is what the law remembers. The zero state begins.
type StarvationState struct {
	seen bool
	last CPU // the look before
	base int // the policy's, to notice a resize
	hot  hotRun
	rest float64 // no suspicion before

	want     int     // what is held; 0 = nothing
	home     int     // where it goes back to; 0 = nowhere
	hotAt    float64 // when it last raised, or goroutines last waited too much
	calm     float64 // seconds of calm in a row
	before   float64 // wake-ups a second before the first raise; NaN = unknown
	stay     float64
	worked   int // what was enough last time; 0 = not known
	returned float64
	relapses int
	forGood  bool // stays at want
	futile   bool // raises no more
	yielded  bool
	pending  int // looks for which target was asked for and not there
}

// hotRun is a time without interruption in which goroutines waited beside unused CPU time.
type hotRun struct {
	looks   int
	sure    bool // collections have told of idle Ps
	first   CPU  // where it began
	kernel  CPU  // the first look in it with the kernel's wait
	classes CPU  // the first look in it after a collection
	idle    float64
}

// StarvationDecision is what is to be done now.
type StarvationDecision struct {
	Procs      int     // GOMAXPROCS; 0 = leave it alone
	Code       string  // why this number; "" = nothing to say
	WantKernel bool    // the next sample should have KernelWait
	GaveUp     bool    // it returns no more (EscapeStays), or raises no more (EscapeFutile), until Base changes
	Next       float64 // look again after so many seconds
}

// StepStarvation is the law of the one automatic action on Ps: when all are held in
// system calls while CPU time is left over, there are to be more.
//
// A P in a system call is taken from it only when the runtime's monitor sees it in
// the same call twice. After a while without success the monitor looks every
// 10 ms only, sees another call each time, and takes none (runtime/proc.go,
// sysmon and retake): the program then makes P calls at a time, until its queue is empty.
//
// GOMAXPROCS doubles for every 2 s that this lasts, up to Ceiling, and goes
// back after Stay, once the load is calm. Procs is repeated until the samples show
// it and for as long as it is held. A sample that could not be read, or is
// nearer than 0.2 s to the last one, decides nothing.
func StepStarvation(s StarvationState, x CPU, p StarvationPolicy) (StarvationState, StarvationDecision) {
	if p.Base <= 0 || x.Procs <= 0 || !(math.Abs(x.At) <= math.MaxFloat64) {
		return s, StarvationDecision{Next: lookCalm, GaveUp: s.forGood || s.futile}
	}
	ceiling := ceilingOf(&p, x.Cores)
	switch {
	case !s.seen, s.base != p.Base:
		s.rebase(&x, p.Base, ceiling)
	case x.Procs != s.last.Procs && x.Procs != s.target():
		s.yield(&x)
	default:
		s.look(&x, &p, ceiling)
	}
	return s, s.decision(&x, ceiling)
}

// ceilingOf is how many Ps there may be.
func ceilingOf(p *StarvationPolicy, cores float64) int {
	c := p.Ceiling
	if c <= 0 {
		c = Ceiling(cores)
	}
	return max(c, p.Base)
}

// Ceiling is how many Ps the escape may ask for where nobody says otherwise: the
// larger of 8 and 4 times the cores.
func Ceiling(cores float64) int {
	if cores > 2 {
		return int(4 * math.Ceil(min(cores, 1<<16)))
	}
	return 8
}

// target is the GOMAXPROCS that was asked for last, 0 for none.
func (s *StarvationState) target() int {
	if s.want != 0 {
		return s.want
	}
	return s.home
}

// rebase begins anew from another Base. What is held is held on: the program
// needs it, whatever the limits, and would collapse once more.
func (s *StarvationState) rebase(x *CPU, base, ceiling int) {
	n := StarvationState{seen: true, last: *x, base: base, rest: x.At, returned: math.Inf(-1), worked: s.worked}
	if s.want > base && ceiling > base {
		n.want, n.home, n.hotAt, n.stay, n.before = min(s.want, ceiling), base, x.At, s.stay, s.before
	}
	*s = n
}

// yield leaves GOMAXPROCS to whoever changed it or does not let it change. Where that undid the law's own
// number it rests for a while, lest the two take turns.
func (s *StarvationState) yield(x *CPU) {
	n := StarvationState{
		seen: true, last: *x, base: s.base, rest: max(s.rest, x.At), returned: s.returned,
		stay: s.stay, relapses: s.relapses, worked: s.worked, futile: s.futile, yielded: s.yielded,
	}
	if s.target() != 0 {
		n.rest, n.yielded = x.At+stay, true
	}
	*s = n
}

// look takes a sample in.
func (s *StarvationState) look(x *CPU, p *StarvationPolicy, ceiling int) {
	dt := x.At - s.last.At
	if dt >= 0 && dt < lookAtLeast && x.Procs == s.last.Procs {
		return
	}
	from := s.last
	s.last = *x
	if s.want == 0 && x.Procs == s.home {
		s.home = 0 // it has returned
	}
	if x.Cores > 0 && s.want > ceiling {
		s.want = max(ceiling, s.home)
	}
	if n := s.target(); n != 0 && x.Procs != n {
		s.hot, s.calm = hotRun{}, 0
		if s.pending++; s.pending > obeyed {
			s.yield(x)
		}
		return
	}
	s.pending = 0
	w := Measure(&from, x)
	if !(dt > 0) || dt > lookAtMost || !sameRoom(&from, x) || !(w.GoWait >= 0) || !(w.Used >= 0) {
		s.hot, s.calm = hotRun{}, 0
		return
	}
	hot := crowded(&w, x)
	if !hot || x.At < s.rest {
		s.hot = hotRun{}
	} else {
		s.hot.add(&from, x)
	}
	if hot {
		s.hotAt = x.At
	}
	if s.futile {
		return
	}
	if s.hot.looks >= hotLooks && x.At-s.hot.first.At >= hotFor {
		s.judge(x, p, ceiling)
	}
	if s.want != 0 && !s.forGood {
		s.maybeReturn(&w, x, dt)
	}
}

// add takes a look into a run.
func (r *hotRun) add(from, x *CPU) {
	if r.looks == 0 {
		r.first = *from
	}
	r.looks++
	if x.KernelWait >= 0 && (r.kernel.Procs == 0 || x.KernelWait < r.kernel.KernelWait) {
		r.kernel = *x // the first, or threads have ended
	}
	if r.classes.Procs == 0 {
		if x.Busy > from.Busy {
			r.classes = *x
		}
	} else if idle := rise(r.classes.Idle, x.Idle); x.Idle > 0 {
		if all := idle + rise(r.classes.Busy, x.Busy); all >= classesFor*float64(x.Procs) {
			r.idle, r.sure = idle/all, true
		}
	}
}

// judge decides on a run that is long enough.
func (s *StarvationState) judge(x *CPU, p *StarvationPolicy, ceiling int) {
	w := Measure(&s.hot.kernel, x)
	h := held(&w, x, s.hot.idle)
	switch {
	case !(w.Seconds >= kernelFor) || h != h:
		return // not known yet
	case !(h > heldShare):
		s.hot, s.rest = hotRun{}, x.At+cleared
		return
	}
	whole := Measure(&s.hot.first, x)
	rate := rise(s.hot.first.Wakeups, x.Wakeups) / whole.Seconds
	if s.want == 0 {
		if x.Procs < ceiling && (s.hot.sure || whole.Seconds >= unsureFor) {
			s.begin(x, p, ceiling, rate)
		}
		return
	}
	switch {
	case rate >= helps*s.before:
		if x.Procs < ceiling {
			s.raise(x, twice(x.Procs, ceiling))
		} else {
			s.hot, s.rest = hotRun{}, x.At+satisfied
		}
	case whole.Seconds >= futileAfter:
		s.want, s.futile, s.forGood, s.hot = 0, true, false, hotRun{}
	}
}

// begin is the first raise after quiet times.
func (s *StarvationState) begin(x *CPU, p *StarvationPolicy, ceiling int, rate float64) {
	most := p.Relapses
	if most <= 0 {
		most = relapses
	}
	s.home, s.before = max(p.Base, x.Procs), rate
	to := max(twice(x.Procs, ceiling), p.Base)
	if x.At-s.returned < forgiveAfter {
		s.relapses++
		s.stay *= 2
		s.forGood = s.relapses >= most
		to = max(to, s.worked)
	} else {
		s.relapses, s.stay = 0, stay
		if p.Stay > 0 {
			s.stay = p.Stay
		}
	}
	s.raise(x, min(to, ceiling))
}

// twice is 2 n, at most ceiling.
func twice(n, ceiling int) int {
	if n > ceiling/2 {
		return ceiling
	}
	return 2 * n
}

func (s *StarvationState) raise(x *CPU, to int) {
	s.want, s.hotAt, s.hot, s.calm, s.yielded = to, x.At, hotRun{}, 0, false
}

// maybeReturn goes back where the stay is over and the load calm.
func (s *StarvationState) maybeReturn(w *Waiting, x *CPU, dt float64) {
	room := min(x.Cores, float64(s.home))
	if w.GoWait <= calmPerP*float64(s.home) && w.Used < calmUsed*room && (x.Quota == 0 || w.Throttled <= calmThrottle) {
		s.calm += dt
	} else {
		s.calm = 0
	}
	if s.calm >= calmFor && x.At-s.hotAt >= s.stay {
		s.want, s.worked, s.returned, s.calm = 0, s.want, x.At, 0
	}
}

// decision is what the state amounts to.
func (s *StarvationState) decision(x *CPU, ceiling int) StarvationDecision {
	d := StarvationDecision{Procs: s.target(), Next: lookCalm, GaveUp: s.forGood || s.futile}
	suspicious := s.hot.looks > 0 && !s.futile && (s.want != 0 || x.Procs < ceiling)
	switch {
	case s.futile:
		d.Code = EscapeFutile
	case s.want != 0 && s.forGood:
		d.Code = EscapeStays
	case s.want != 0:
		d.Code = StarvationEscape
	case s.home != 0:
		d.Code = EscapeReturned
	case suspicious && x.At-s.hot.first.At >= sureFor:
		d.Code = StarvationUnsure
	case suspicious:
		d.Code = StarvationSuspected
	case s.yielded:
		d.Code = EscapeYielded
	}
	d.WantKernel = suspicious
	if suspicious && d.Code != StarvationUnsure || s.want != 0 && x.At-s.hotAt < 2*hotFor {
		d.Next = lookHot
	}
	return d
}
