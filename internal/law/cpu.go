// SPDX-License-Identifier: Apache-2.0

package law

import "math"

// Verdict says what the waiting of a process is due to.
type Verdict uint8

const (
	Unclear    Verdict = iota // nothing certain can be said
	Fine                      // little waits, and the quota suffices
	TooFewPs                  // Ps are held in system calls while the quota is unused
	QuotaSpent                // the quota is used up: no GOMAXPROCS helps
	HostBusy                  // threads wait for CPUs that other processes have
)

// String is the verdict's word: "unknown", "fine", "too-few-procs", "quota-spent",
// "host-busy".
func (v Verdict) String() string {
	return [...]string{"unknown", "fine", "too-few-procs", "quota-spent", "host-busy"}[v]
}

// Waiting is what was measured between two samples. With Seconds 0 nothing else
// in it is known.
type Waiting struct {
	Seconds    float64 // between the samples; 0 = nothing was measured yet
	GoWait     float64 // goroutines that waited for a P, on average; NaN = unknown
	KernelWait float64 // threads that waited for a CPU, on average; NaN = unknown
	PerWakeup  float64 // seconds waited for each wake-up of a goroutine, both kinds; NaN = unknown
	Used       float64 // cores; NaN = unknown
	Throttled  float64 // share of periods, 0 to 1; NaN = unknown
	Verdict    Verdict
}

// What the verdicts are made of. A figure that is unknown fails every
// comparison, and leaves Unclear.
const (
	// crowdPerP is how many goroutines wait for each P where too many do.
	crowdPerP = 10
	// unused is the share of what the Ps may use below which CPU time is left over.
	unused = 0.8
	// heldShare is the share of the Ps' time that went neither into running nor
	// into waiting for a CPU nor into idling: the threads that have them sleep in
	// the kernel. Saturated programs show 0.05 at most, whatever keeps them busy
	// or waiting; the collapse 0.45 and more.
	heldShare = 0.25

	// spentShare of the quota used, and throttled in spentThrottled of the
	// periods: both, because a throttled share says nothing alone.
	spentShare     = 0.97
	spentThrottled = 0.9

	// fineWaits is how many may wait for each core there is to use, goroutines and
	// threads together: about the queue of a server at 80 % load (M/M/1:
	// 0.8^2/(1-0.8) = 3.2).
	fineWaits     = 3
	fineThrottled = 0.1

	// How much more the threads must have waited for a CPU than they can have made
	// each other wait, before others are to blame: half of what ran, and a quarter of
	// the Ps' time.
	deniedOfUsed  = 0.5
	deniedOfProcs = 0.25
)

// Measure is what happened between two samples, and the verdict on it. A
// counter that goes back, as after a move to another group or when threads have
// ended, leaves its figure unknown. TooFewPs, Fine and HostBusy need the kernel's wait in
// both samples; no verdict is given when GOMAXPROCS or the limits differ between them.
func Measure(from, to *CPU) Waiting {
	unknown := math.NaN()
	w := Waiting{GoWait: unknown, KernelWait: unknown, PerWakeup: unknown, Used: unknown, Throttled: unknown}
	dt := rise(from.At, to.At)
	if !(dt > 0) {
		return w
	}
	w.Seconds = dt
	w.GoWait = rise(from.GoWait, to.GoWait) / dt
	w.KernelWait = rise(from.KernelWait, to.KernelWait) / dt
	w.Used = rise(from.Used, to.Used) / dt
	if wakeups := rise(from.Wakeups, to.Wakeups); wakeups > 0 {
		w.PerWakeup = (w.GoWait + w.KernelWait) * dt / wakeups
	}
	w.Throttled = throttled(from, to, dt)
	w.Verdict = verdict(&w, from, to)
	return w
}

// verdict is the judgement on w.
func verdict(w *Waiting, from, to *CPU) Verdict {
	if !sameRoom(from, to) {
		return Unclear
	}
	if to.Quota > 0 && w.Used >= spentShare*to.Quota && w.Throttled > spentThrottled {
		return QuotaSpent
	}
	if crowded(w, to) && held(w, to, idled(from, to, w.Seconds)) > heldShare {
		return TooFewPs
	}
	room := usable(to)
	quotaSuffices := to.Quota == 0 || w.Throttled <= fineThrottled
	if quotaSuffices && w.Used < unused*room && denied(w, to) > max(deniedOfUsed*w.Used, deniedOfProcs*float64(to.Procs)) {
		return HostBusy
	}
	if w.GoWait+w.KernelWait <= fineWaits*room && w.Used <= unused*room && quotaSuffices {
		return Fine
	}
	return Unclear
}

// sameRoom reports whether both samples were taken with the same GOMAXPROCS and limits,
// and these are known: averages over a change say nothing about either side.
func sameRoom(from, to *CPU) bool {
	return to.Procs > 0 && from.Procs == to.Procs &&
		to.Cores > 0 && from.Cores == to.Cores && from.Quota == to.Quota
}

// usable is how many cores the Ps of x can use.
func usable(x *CPU) float64 { return min(x.Cores, float64(x.Procs)) }

// denied is how many threads, on average, waited for a CPU that another process had;
// NaN where that cannot be told. Ps that all have work on fewer CPUs run one for each
// CPU while the others wait: that much, and what throttling held, is the process's own
// doing. More waiting threads than Ps and as many again are not Go's (cgo).
func denied(w *Waiting, x *CPU) float64 {
	procs, cpus := float64(x.Procs), float64(x.CPUs)
	if cpus <= 0 || w.KernelWait > 2*procs {
		return math.NaN()
	}
	own := w.Used * max(0, procs/cpus-1)
	if x.Quota > 0 {
		own += procs * w.Throttled
	}
	return w.KernelWait - own
}

// crowded reports whether many goroutines wait while CPU time is left over.
func crowded(w *Waiting, x *CPU) bool {
	return w.GoWait > crowdPerP*float64(x.Procs) && w.Used < unused*usable(x)
}

// held is the share of the Ps' time that is not accounted for: 1 less what ran,
// what waited for a CPU, throttling included, and what idled. Threads without a
// P may wait for a CPU too, so it is a lower bound.
func held(w *Waiting, x *CPU, idle float64) float64 {
	return 1 - (w.Used+w.KernelWait)/float64(x.Procs) - idle
}

// idled is the share of the Ps' time without work, from classes that
// advance with collections only: 0 when these do not cover about the time between
// the samples.
func idled(from, to *CPU, dt float64) float64 {
	idle := rise(from.Idle, to.Idle)
	all := idle + rise(from.Busy, to.Busy)
	if span := dt * float64(to.Procs); all >= span/2 && all <= 2*span {
		return idle / all
	}
	return 0
}

// throttled is the share of the periods in which the group ran into its quota.
func throttled(from, to *CPU, dt float64) float64 {
	if from.Periods < 0 || from.Throttled < 0 || to.Periods < from.Periods || to.Throttled < from.Throttled {
		return math.NaN()
	}
	periods, hits := to.Periods-from.Periods, to.Throttled-from.Throttled
	if periods == 0 {
		// The kernel counts no periods while a group sleeps (kernel/sched/fair.c,
		// do_sched_cfs_period_timer); the longest is 1 s.
		if hits == 0 && dt > 1 {
			return 0
		}
		return math.NaN()
	}
	return min(1, float64(hits)/float64(periods))
}

// rise is b - a of a counter: NaN when either is unknown or it went back.
func rise(a, b float64) float64 {
	if a >= 0 && b >= a && b <= math.MaxFloat64 {
		return b - a
	}
	return math.NaN()
}
