// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	// heldShare is the share of the Ps whose threads neither run nor wait for a CPU.
	heldShare = 0.25
	// heldUsed is the share of the CPU time it could get up to which Ps, not the CPU, hold a
	// program up.
	heldUsed = 0.9
	// mostPs is the number of Ps for each core up to which more of them were shown to help
	// (e2e/prove/advice/block). Each also costs CPU time.
	mostPs = 16
	// queueEach is the number of goroutines of one go statement that wait, for each P, from which it is worth a word.
	queueEach = 32
)

// asleep returns the threads that sleep in system calls for a while, on average. Those that always
// do, the runtime's monitor among them, hold no P: the monitor takes it away within 10 ms
// (runtime/proc.go, retake).
func (f *Facts) asleep() float64 { return num(f.Blocked) - max(1, num(f.AlwaysBlocked)) }

// callsNeedPs reports whether as many threads sleep in system calls as procsHeld asks for, so that GOMAXPROCS may
// be its advice. Fewer Ps would be held.
func (f *Facts) callsNeedPs() bool {
	p := num(f.Procs)
	return f.asleep() >= heldShare/2*p && p <= mostPs*math.Ceil(num(f.Cores))
}

// heldByCalls reports whether goroutines in system calls hold Ps that others wait for. Neither
// throttling nor other programs look like this: they stop goroutines that run, and threads that do
// not sleep.
func (f *Facts) heldByCalls() bool {
	p := num(f.Procs)
	held := num(f.Busy) - num(f.Running) - num(f.Spinning)
	return num(f.Busy) >= 0.9*p && held >= heldShare*p && num(f.Calling) >= held && f.asleep() >= held/2 &&
		num(f.Runnable) >= p && num(f.Used) < heldUsed*min(num(f.Cores), p)
}

// heldByThreads reports the same where goroutines cannot be read. Under throttling and beside other
// programs it sees nothing, because threads that return from their calls wait for a CPU.
func (f *Facts) heldByThreads() bool {
	p := num(f.Procs)
	held := num(f.Busy) - num(f.Used) - num(f.KernelWait)
	return num(f.Busy) >= 0.95*p && held >= heldShare*p && num(f.Used) < 0.8*min(num(f.Cores), p)
}

// procsHeld finds threads that sleep in the kernel and keep their Ps.
func procsHeld(f *Facts) *result {
	p := num(f.Procs)
	byCalls := f.heldByCalls()
	most := mostPs * math.Ceil(num(f.Cores))
	if !(2*p <= most && num(f.Used) >= minUsed && (byCalls || f.heldByThreads())) {
		return nil
	}
	res := &result{
		severity: finding.SeverityWarning,
		evidence: f.saw(gomaxprocs, busy, running, runnable, calling, blocked, always, used, coresThere, kernelWait),
	}
	n := 2 * p
	if byCalls {
		// Each P gives the same CPU time as now, as long as a goroutine waits for it.
		n = min(max(n, math.Ceil(p*num(f.Cores)/num(f.Used))), p+math.Floor(num(f.Runnable)), most)
	}
	res.fix = "GOMAXPROCS=" + whole(n) + ", an estimate: "
	if byCalls {
		res.fix += whole(p) + " x CPU time it can get / CPU used, but "
	}
	res.fix += "at least twice " + whole(p) + "; or SNUG_ADAPT=cpu with snug in the program"
	if byCalls && len(f.Callers) > 0 {
		by := &f.Callers[0]
		res.evidence = append(res.evidence, by.evidence("in calls of ", " that end", finding.UnitMean, "goroutines"))
		res.fix += "; or fewer calls that block, in " + by.in()
	}
	res.verify = f.bench("--gomaxprocs " + whole(p) + "," + whole(n) + "," + whole(2*n))
	return res
}

// procsQueue finds far more goroutines of one go statement that could run than there are Ps.
func procsQueue(f *Facts) *result {
	p := num(f.Procs)
	busy := num(f.Busy) >= 0.9*p && num(f.Used) >= minUsed && p >= num(f.Cores)
	if !busy || len(f.Queued) == 0 || !(f.Queued[0].N >= queueEach*p) || procsHeld(f) != nil {
		return nil
	}
	by := &f.Queued[0]
	return &result{
		severity: finding.SeverityInfo,
		evidence: append(f.saw(gomaxprocs, runnable, running, used, coresThere),
			by.evidence("wait for a P, started by ", "", finding.UnitMean, "goroutines")),
		fix: "let fewer of the goroutines that " + by.in() + " starts work at a time, by a semaphore or a pool of about " +
			"GOMAXPROCS: the others keep their memory while they wait, and nothing is done sooner",
	}
}
