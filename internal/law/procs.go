// SPDX-License-Identifier: Apache-2.0

package law

import "math"

// ProcsPolicy is within which bounds the law for GOMAXPROCS acts.
type ProcsPolicy struct {
	Base    int // GOMAXPROCS without the law
	Ceiling int // at most; 0 = the larger of 16 and 4 times the cores
}

// Codes of ProcsDecision.
const (
	ProcsTried  = "procs-tried"  // another number of Ps is tried, for a second or two
	ProcsRaised = "procs-raised" // more Ps than Base: with them the program uses more CPU time
)

const (
	// procsLook is the time between two looks, in seconds, while goroutines wait or
	// something is tried.
	procsLook = 0.5
	// procsLooks is how many looks in a row are compared with as many: a burst a second is
	// in both.
	procsLooks = 2
	// procsUsed is the share of the cores above which all is used: more Ps could not help.
	procsUsed = 0.9
	// procsWaiting is how many goroutines must wait for each P, on average.
	procsWaiting = 0.5
	// procsBetter is how many times as much CPU time a try must use to be kept.
	procsBetter = 1.1
	// procsRest is how long nothing is tried after a try that was taken back, in seconds,
	// doubled each time up to procsRestMost; and how long after what is kept is put to the
	// test, doubled each time that it passes.
	procsRest, procsRestMost = 10, 160
	// procsMost is the ceiling where there are few cores.
	procsMost = 16
)

// ProcsState is what the law remembers. The zero state begins.
type ProcsState struct {
	begun bool
	last  CPU // the look before
	base  int // the policy's, to notice a change
	held  int // what was tried and kept; 0 = Base

	to    int     // what is to be tried, or is; 0 = nothing
	on    bool    // it is in force
	looks int     // looks in a row, before the try or at it
	sum   float64 // of the cores used in them
	used  float64 // cores, before the try, on average
	next  float64 // no raise is tried before
	rest  float64 // how long after one that did not help
	test  float64 // when what is held is put to the test
	stay  float64 // how long after the last one
	back  float64 // when Base was last seen to be enough
	lost  int     // looks in a row at a GOMAXPROCS that is neither held nor tried
}

// ProcsDecision is what is to be done now.
type ProcsDecision struct {
	Procs int     // GOMAXPROCS; 0 = leave it alone
	Code  string  // why this number; "" = nothing to say
	Next  float64 // look again after so many seconds
}

// StepProcs is the law for GOMAXPROCS. Where goroutines wait for Ps while CPU time is left
// over, Ps are held by something else: by system calls, from which the runtime's monitor
// takes them late or never (runtime/proc.go, sysmon and retake). The law then tries twice
// as many, up to Ceiling, for a second, and keeps what has raised the CPU time used by a tenth. What
// has not is taken back, and tried again after a wait that doubles. What it keeps is put to
// the test after 10 s, and after 20 s and so on up to 160 s if it is needed again: it goes
// back to Base, and stays there unless less CPU time is used.
//
// Procs is repeated until the samples show it. Samples of different limits are not
// compared; one that could not be read decides nothing.
func StepProcs(s ProcsState, x CPU, p ProcsPolicy) (ProcsState, ProcsDecision) {
	if p.Base <= 0 || x.Procs <= 0 || !(math.Abs(x.At) <= math.MaxFloat64) {
		return s, ProcsDecision{Next: 1}
	}
	switch dt := x.At - s.last.At; {
	case !s.begun || s.base != p.Base || dt < 0:
		s = begin(&x, p.Base)
	case dt > 0:
		s.look(&x, &p)
	}
	d := ProcsDecision{Next: 1}
	switch {
	case s.on:
		d = ProcsDecision{Procs: s.to, Code: ProcsTried, Next: procsLook}
	case s.held != 0:
		d.Procs, d.Code = s.held, ProcsRaised
	}
	if s.looks > 0 {
		d.Next = procsLook
	}
	return s, d
}

// begin is the state at the first look.
func begin(x *CPU, base int) ProcsState {
	return ProcsState{begun: true, last: *x, base: base, next: x.At, rest: procsRest, stay: procsRest, back: math.Inf(-1)}
}

// now is the GOMAXPROCS that the law goes by.
func (s *ProcsState) now() int {
	switch {
	case s.on:
		return s.to
	case s.held != 0:
		return s.held
	}
	return s.base
}

// look takes a sample in.
func (s *ProcsState) look(x *CPU, p *ProcsPolicy) {
	from := s.last
	s.last = *x
	if x.Procs != s.now() {
		// It is being set, which may take a collection; or it cannot be set.
		const patience = 30
		if s.lost++; s.lost > patience {
			*s = begin(x, s.base)
			s.next += procsRestMost
		}
		s.looks, s.sum = 0, 0
		return
	}
	s.lost = 0
	w := Measure(&from, x)
	if !(w.Seconds > 0 && w.Seconds <= 60) || !sameRoom(&from, x) || !(w.Used >= 0) || !(w.GoWait >= 0) {
		s.looks, s.sum = 0, 0
		if s.on && from.Procs == x.Procs { // not the change itself
			s.end(x, false)
		}
		return
	}
	s.looks++
	s.sum += w.Used
	if s.on {
		if s.looks == procsLooks {
			s.end(x, s.helps(s.sum/procsLooks))
		}
		return
	}
	ceiling := p.Ceiling
	if ceiling <= 0 {
		ceiling = ProcsCeiling(x.Cores)
	}
	if s.held > ceiling {
		if s.held = ceiling; ceiling <= s.base {
			s.held = 0
		}
		s.to, s.looks, s.sum = 0, 0, 0
		return
	}
	to := 0
	switch {
	case s.held != 0 && x.At >= s.test:
		to = s.base
	case x.Procs < ceiling && x.At >= s.next && w.GoWait >= procsWaiting*float64(x.Procs) && w.Used <= procsUsed*x.Cores:
		to = min(2*x.Procs, ceiling)
	}
	if to == 0 || to != s.to {
		s.to, s.looks, s.sum = to, min(to, 1), 0 // this look may be longer
		return
	}
	if s.looks == 1+procsLooks {
		s.used, s.on, s.looks, s.sum = s.sum/procsLooks, true, 0, 0
	}
}

// helps reports whether a try is to be kept that uses so many cores.
func (s *ProcsState) helps(used float64) bool {
	if s.to < s.held {
		return used*procsBetter >= s.used
	}
	return used > procsBetter*s.used
}

// end ends a try.
func (s *ProcsState) end(x *CPU, keep bool) {
	switch up := s.to > max(s.held, s.base); {
	case keep && up:
		if s.held == 0 {
			s.longer(x.At-s.back < procsRestMost)
		}
		s.held, s.rest = s.to, procsRest
	case keep:
		s.held, s.next, s.back = 0, x.At+procsRest, x.At
	case up:
		s.next, s.rest = x.At+s.rest, min(2*s.rest, procsRestMost)
	default:
		s.longer(true)
	}
	s.test = x.At + s.stay
	s.to, s.on, s.looks, s.sum = 0, false, 0, 0
}

// longer doubles the time to the next test, or begins anew.
func (s *ProcsState) longer(again bool) {
	if s.stay = min(2*s.stay, procsRestMost); !again {
		s.stay = procsRest
	}
}

// ProcsCeiling is how many Ps there are at most where nobody says otherwise: the larger
// of 16 and 4 times the cores.
func ProcsCeiling(cores float64) int {
	return max(procsMost, int(4*math.Ceil(min(cores, 1<<16))))
}
