// SPDX-License-Identifier: Apache-2.0

package law

import "math"

// ProcsPolicy bounds the law for GOMAXPROCS.
type ProcsPolicy struct {
	Base    int // GOMAXPROCS without the law
	Ceiling int // the maximum; 0 = the larger of 16 and 4 times the cores
}

// Codes of ProcsDecision.
const (
	ProcsTried  = "procs-tried"  // another number of Ps is being tried, for a second or two
	ProcsRaised = "procs-raised" // more Ps than Base, with which the program uses more CPU time
)

const (
	// procsLook is the time between two samples, in seconds, while goroutines wait or a try is
	// running.
	procsLook = 0.5
	// procsLooks is the number of consecutive samples compared with as many others: both then
	// contain a burst that comes once per second.
	procsLooks = 2
	// procsUsed is the share of the cores above which more Ps cannot help.
	procsUsed = 0.9
	// procsWaiting is the average number of goroutines per P that must wait.
	procsWaiting = 0.5
	// procsBetter is the factor of CPU time that a try must reach to be kept.
	procsBetter = 1.1
	// procsRest is the pause after a try that was taken back, in seconds, doubled each time up
	// to procsMaxRest. It is also the time until a kept number is tested, doubled each time it
	// passes.
	procsRest, procsMaxRest = 10, 160
	// procsMinCeiling is the ceiling if there are few cores.
	procsMinCeiling = 16
)

// ProcsState is the state of the law. The zero state is its start.
type ProcsState struct {
	begun bool
	last  CPU // the previous sample
	base  int // the policy's, to notice a change
	held  int // what was tried and kept; 0 = Base

	to    int     // the number to try, or being tried; 0 = none
	on    bool    // the try is in force
	looks int     // consecutive samples, before the try or during it
	sum   float64 // of the cores used in them
	used  float64 // average cores before the try
	next  float64 // no raise is tried before this time
	rest  float64 // the pause after the next failed try
	test  float64 // when the held number is tested
	stay  float64 // the time until the next test
	back  float64 // when Base was last found sufficient
	lost  int     // consecutive samples with a GOMAXPROCS neither held nor tried
}

// ProcsDecision is the output of the law.
type ProcsDecision struct {
	Procs int     // GOMAXPROCS; 0 = leave it alone
	Code  string  // why this number; "" = no reason
	Next  float64 // seconds until the next sample
}

// StepProcs is the law for GOMAXPROCS. If goroutines wait for Ps while CPU time is left over,
// something else holds the Ps: system calls, from which the runtime's monitor retakes them late
// or never (runtime/proc.go, sysmon and retake). The law then tries twice as many Ps, up to
// Ceiling, for a second, and keeps them if the CPU time used rises by 10 %. Otherwise it takes
// them back, and tries again after a wait that doubles. It tests a kept number after 10 s, then
// after 20 s and so on up to 160 s as long as it is needed: it returns to Base, and stays there
// unless less CPU time is used.
//
// Procs is repeated until the samples show it. Samples with different limits are not compared;
// an unreadable one decides nothing.
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

// begin returns the state after the first sample.
func begin(x *CPU, base int) ProcsState {
	return ProcsState{begun: true, last: *x, base: base, next: x.At, rest: procsRest, stay: procsRest, back: math.Inf(-1)}
}

// now returns the GOMAXPROCS that the law expects.
func (s *ProcsState) now() int {
	switch {
	case s.on:
		return s.to
	case s.held != 0:
		return s.held
	}
	return s.base
}

// look processes a sample.
func (s *ProcsState) look(x *CPU, p *ProcsPolicy) {
	from := s.last
	s.last = *x
	if x.Procs != s.now() {
		// It is being set, which may take a collection, or it cannot be set.
		const patience = 30
		if s.lost++; s.lost > patience {
			*s = begin(x, s.base)
			s.next += procsMaxRest
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
		s.to, s.looks, s.sum = to, min(to, 1), 0 // this sample may be longer
		return
	}
	if s.looks == 1+procsLooks {
		s.used, s.on, s.looks, s.sum = s.sum/procsLooks, true, 0, 0
	}
}

// helps reports whether to keep a try that uses this many cores.
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
			s.backOff(x.At-s.back < procsMaxRest)
		}
		s.held, s.rest = s.to, procsRest
	case keep:
		s.held, s.next, s.back = 0, x.At+procsRest, x.At
	case up:
		s.next, s.rest = x.At+s.rest, min(2*s.rest, procsMaxRest)
	default:
		s.backOff(true)
	}
	s.test = x.At + s.stay
	s.to, s.on, s.looks, s.sum = 0, false, 0, 0
}

// backOff doubles the time to the next test, or resets it unless again is set.
func (s *ProcsState) backOff(again bool) {
	if s.stay = min(2*s.stay, procsMaxRest); !again {
		s.stay = procsRest
	}
}

// ProcsCeiling returns the default maximum of Ps: the larger of 16 and 4 times the cores.
func ProcsCeiling(cores float64) int {
	return max(procsMinCeiling, int(4*math.Ceil(min(cores, 1<<16))))
}
