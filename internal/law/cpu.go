// SPDX-License-Identifier: Apache-2.0

package law

import "math"

// Verdict says why a process waits.
type Verdict uint8

const (
	Unclear    Verdict = iota // the figures are inconclusive
	Fine                      // little waits, and the quota suffices
	TooFewPs                  // Ps are held in system calls while the quota is unused
	QuotaSpent                // the quota is used up: no GOMAXPROCS helps
	HostBusy                  // threads wait for CPUs that other processes use
)

// String returns the verdict: "unknown", "fine", "too-few-procs", "quota-spent", "host-busy".
func (v Verdict) String() string {
	return [...]string{"unknown", "fine", "too-few-procs", "quota-spent", "host-busy"}[v]
}

// Waiting holds the measurements between two samples. If Seconds is 0, all others are unknown.
type Waiting struct {
	Seconds    float64 // between the samples; 0 = not measured yet
	GoWait     float64 // goroutines that waited for a P, on average; NaN = unknown
	KernelWait float64 // threads that waited for a CPU, on average; NaN = unknown
	PerWakeup  float64 // seconds waited per wakeup of a goroutine, both kinds; NaN = unknown
	Used       float64 // cores; NaN = unknown
	Throttled  float64 // share of periods, 0 to 1; NaN = unknown
	Verdict    Verdict
}

// The thresholds of the verdicts. An unknown figure fails every comparison, which leaves
// Unclear.
const (
	// crowdPerP is the number of goroutines waiting per P that are too many.
	crowdPerP = 10
	// unused is the share of the Ps' usable cores below which CPU time is left over.
	unused = 0.8
	// heldShare is a share of the Ps' time spent neither running, nor waiting for a CPU, nor
	// idle: the threads that hold them sleep in the kernel. Saturated programs show at most
	// 0.05, however busy; collapsing ones 0.45 or more.
	heldShare = 0.25

	// spentShare of the quota is used, and spentThrottled of the periods are throttled. Both
	// are needed: throttling alone proves nothing.
	spentShare     = 0.97
	spentThrottled = 0.9

	// fineWaits is the number of goroutines and threads together that may wait per usable core:
	// about the queue of a server at 80 % load (M/M/1: 0.8^2/(1-0.8) = 3.2).
	fineWaits     = 3
	fineThrottled = 0.1

	// How far the threads' wait for CPUs must exceed what they can cause each other, before
	// other processes are to blame: half of what ran, and a quarter of the Ps' time.
	deniedOfUsed  = 0.5
	deniedOfProcs = 0.25
)

// Measure returns what happened between two samples, and the verdict. A counter that goes back,
// as after a move to another group or when threads have ended, makes its figure unknown.
// TooFewPs, Fine and HostBusy need the kernel's wait in both samples. If GOMAXPROCS or the
// limits differ between the samples, the verdict is Unclear.
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

// verdict returns the verdict on w.
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

// sameRoom reports whether both samples have the same known GOMAXPROCS and limits: an average
// over a change describes neither side.
func sameRoom(from, to *CPU) bool {
	return to.Procs > 0 && from.Procs == to.Procs &&
		to.Cores > 0 && from.Cores == to.Cores && from.Quota == to.Quota
}

// usable returns the number of cores the Ps of x can use.
func usable(x *CPU) float64 { return min(x.Cores, float64(x.Procs)) }

// denied returns the average number of threads that waited for a CPU because of another process;
// NaN = unknown. If all Ps have work but there are fewer CPUs, one P per CPU runs and the others
// wait: that wait, and throttling, is the process's own. If more threads wait than twice the
// number of Ps, some are not Go's (cgo).
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

// held returns the share of the Ps' time that is not accounted for: 1 less the shares running,
// waiting for a CPU (throttling included) and idle. It is a lower bound, because threads without
// a P may wait for a CPU too.
func held(w *Waiting, x *CPU, idle float64) float64 {
	return 1 - (w.Used+w.KernelWait)/float64(x.Procs) - idle
}

// idled returns the share of the Ps' time without work. Its classes advance only with
// collections; it returns 0 if they do not cover about the time between the samples.
func idled(from, to *CPU, dt float64) float64 {
	idle := rise(from.Idle, to.Idle)
	all := idle + rise(from.Busy, to.Busy)
	if span := dt * float64(to.Procs); all >= span/2 && all <= 2*span {
		return idle / all
	}
	return 0
}

// throttled returns the share of the periods in which the group used up its quota.
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

// rise returns the increase b - a of a counter: NaN if either is unknown or it went back.
func rise(a, b float64) float64 {
	if a >= 0 && b >= a && b <= math.MaxFloat64 {
		return b - a
	}
	return math.NaN()
}
