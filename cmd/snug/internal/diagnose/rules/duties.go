// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"slices"

	"github.com/snug-go/snug/cmd/snug/internal/profile/cpuprof"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// work is a kind of work of the runtime or the kernel that the program's code causes, whatever
// its settings are.
type work struct {
	share shown
	// From these shares of the CPU time it is reported, and is a warning in a busy process.
	report, warn float64
	demands      []cpuprof.Demand                      // calls that cause it
	beside       []shown                               // more evidence
	harmless     func(f *Facts, by *cpuprof.Site) bool // for information only; nil = never
	fix          func(f *Facts, by *cpuprof.Site) string
}

var scheduling = work{
	share: sched, report: 0.25, warn: 0.4,
	demands: []cpuprof.Demand{
		cpuprof.StartsGoroutines, cpuprof.SetsTimers, cpuprof.Sleeps, cpuprof.Receives, cpuprof.Selects, cpuprof.Sends,
		cpuprof.Yields, cpuprof.WaitsForGroup, cpuprof.WaitsForCond, cpuprof.TakesMutexes, cpuprof.WaitsForPoll,
	},
	beside: []shown{timers},
	fix:    scheduleLess,
}

var locking = work{
	share: locks, report: 0.12, warn: 0.25,
	demands: []cpuprof.Demand{cpuprof.TakesMutexes, cpuprof.Receives, cpuprof.Sends, cpuprof.Selects},
	fix: func(_ *Facts, by *cpuprof.Site) string {
		if by != nil && by.Demand != cpuprof.TakesMutexes {
			return "fewer goroutines on the same channel than " + in(by) + " uses, or more work for each message"
		}
		return "hold the mutex for less time, or split what it protects" + after(", in ", by)
	},
}

var stackGrowth = work{
	share: stacks, report: 0.2, warn: 0.3,
	demands: []cpuprof.Demand{cpuprof.CallsDeep},
	fix: func(_ *Facts, by *cpuprof.Site) string {
		return "a fixed number of goroutines that live on, in place of a new one each time: their stacks stay large" +
			after("; deepest are the calls of ", by)
	},
}

var systemCalls = work{
	share: syscalls, report: 0.5, warn: 0.5,
	demands: []cpuprof.Demand{cpuprof.CallsKernel, cpuprof.UsesConnections},
	beside:  []shown{callRate, callBytes},
	// To talk to others is what servers are for, and they do not choose how much is said at a time.
	harmless: func(f *Facts, by *cpuprof.Site) bool {
		return by == nil || by.Demand == cpuprof.UsesConnections || !(num(f.CallBytes) < smallCall)
	},
	fix: func(f *Facts, by *cpuprof.Site) string {
		if num(f.CallBytes) < smallCall {
			return "fewer and larger reads and writes: a buffer (bufio)" + after(", in ", by)
		}
		return "none if these calls are what the program is for" + after("; most are made by ", by)
	},
}

const (
	// busyShare is the share of the CPU time it could get that a busy process uses or waits for.
	busyShare = 0.5
	// busyPs is how many Ps are not idle, on average, in a process that waits because it is busy.
	busyPs = 0.75
	// busyCost is the CPU time in cores that is worth a warning whatever share of a machine it is.
	busyCost = 0.5
	// busyProfile is the CPU time in cores of a busy process of which only a profile is known.
	busyProfile = 0.25
	// minCalls is the number of samples of calls that suffices to name the caller.
	minCalls = 5
	// callerShare is the share of these calls from which a caller is named, and maxCallers how many
	// are.
	callerShare, maxCallers = 0.1, 3
	// smallCall is the number of bytes below which a read or write is small. Copying
	// fewer takes less time than a system call.
	smallCall = 512
	// runtimeShare is the share of the CPU time in the runtime from which a larger quota is not
	// the first thing to try.
	runtimeShare = 0.4
	// timerShare is the share of timers in the scheduler's time from which they are the cause.
	timerShare = 0.25
)

// firstRuntime is the fix for a lack of CPU time that the runtime uses up.
const firstRuntime = "none here: more CPU time would go where this goes, mostly into the runtime; " +
	"see the other findings"

// onRuntime reports whether most of what a larger quota gives would go into the runtime.
func (f *Facts) onRuntime() bool {
	sum := 0.0
	for _, part := range []shown{sched, locks, stacks, gcShare} {
		if v := num(part.of(f)); v > 0 {
			sum += v
		}
	}
	return sum >= runtimeShare
}

// busy reports whether the process uses or waits for much of the CPU time that it could get, or
// the given share of what it uses is much.
func (f *Facts) busy(share float64) bool {
	wants := num(f.Used)
	if share*wants >= busyCost {
		return true
	}
	// An almost idle program waits too where others have the CPUs, but its Ps are idle meanwhile.
	if w := num(f.KernelWait); w > 0 && !(num(f.Busy) < busyPs) {
		wants += w
	}
	room := f.room()
	if !(room > 0) { // a profile: its container is unknown
		return wants >= busyProfile
	}
	return wants >= busyShare*room
}

// duty returns the rule for a kind of work.
func duty(w work) func(*Facts) *result {
	return func(f *Facts) *result {
		part := num(w.share.of(f))
		if !(part >= w.report) || num(f.Used) < minUsed {
			return nil
		}
		show := append(append([]shown{w.share}, w.beside...), used)
		res := &result{severity: finding.SeverityInfo, evidence: f.saw(show...)}
		by := f.callers(&w, res)
		if part >= w.warn && f.busy(part) && (w.harmless == nil || !w.harmless(f, by)) {
			res.severity = finding.SeverityWarning
		}
		res.fix = w.fix(f, by)
		return res
	}
}

// callers adds the functions that cause the work to the evidence, and returns the first; nil if
// the samples do not show it.
func (f *Facts) callers(w *work, res *result) *cpuprof.Site {
	var calls []*cpuprof.Site
	samples, ratio := int64(0), 0.0
	for i := range f.Sites {
		if s := &f.Sites[i]; slices.Contains(w.demands, s.Demand) {
			calls = append(calls, s)
			samples += s.Samples
			ratio += s.Ratio
		}
	}
	if samples < minCalls {
		return nil
	}
	for _, s := range calls[:min(len(calls), maxCallers)] {
		if part := s.Ratio / ratio; part >= callerShare {
			res.evidence = append(res.evidence, finding.Evidence{
				What: s.Function + " " + string(s.Demand), Value: part, Unit: finding.UnitRatio,
				Source: fmt.Sprintf("of %d samples of such calls", samples), Raw: s.At,
			})
		}
	}
	return calls[0]
}

// in names a caller and its place.
func in(by *cpuprof.Site) string { return placed(by.Function, by.At) }

// placed names a function and its place, if that is known.
func placed(function, at string) string {
	if at == "" {
		return function
	}
	return function + " (" + at + ")"
}

// after returns a word and the caller; "" without one.
func after(word string, by *cpuprof.Site) string {
	if by == nil {
		return ""
	}
	return word + in(by)
}

// scheduleLess is the fix for a scheduler that has too much to do.
func scheduleLess(f *Facts, by *cpuprof.Site) string {
	fix := "more work in each goroutine, message or tick"
	switch {
	case num(f.Timers) >= timerShare*num(f.Sched):
		fix = "fewer timers, or longer periods: one ticker can serve a whole list" + after("; what they wake is ", by)
	case by == nil:
		fix += ": snug profile --html shows what the program does"
	case by.Demand == cpuprof.StartsGoroutines:
		fix = "fewer goroutines from " + in(by) +
			", each with more to do: batches, or a fixed number that read from a channel"
	case by.Demand == cpuprof.SetsTimers || by.Demand == cpuprof.Sleeps:
		fix = "fewer timers, or longer times, in " + in(by)
	case by.Demand == cpuprof.Yields:
		fix = "no runtime.Gosched in " + in(by)
	case by.Demand == cpuprof.TakesMutexes:
		fix = "hold the mutex for less time, or split what it protects, in " + in(by)
	case by.Demand == cpuprof.WaitsForPoll:
		fix = "more bytes in each read and write: a buffer, or batches, in " + in(by)
	default:
		fix = "more work for each message that passes " + in(by) + ": batches, or a call in place of a channel"
	}
	if num(f.Procs) > f.rounded() || num(f.Procs) > num(f.CPUs) {
		fix = "first a GOMAXPROCS that fits; then " + fix
	}
	return fix
}

const (
	// minWaiters is the number of goroutines waiting for mutexes, on average, that is worth a word. It
	// must also be twice the number of Ps.
	minWaiters = 8
	// idleShare is the share of the CPU time it could get that a process leaves where a lock, not the
	// CPU, holds it up.
	idleShare = 0.2
)

// lockWait finds goroutines that wait in a queue for a mutex.
func lockWait(f *Facts) *result {
	n, procs := num(f.MutexWaits), num(f.Procs)
	if !(n >= minWaiters && n >= 2*procs) || len(f.Waiters) == 0 {
		return nil
	}
	res := &result{severity: finding.SeverityInfo, evidence: f.saw(mutexWaits, goroutines, used)}
	wants := num(f.Used)
	if w := num(f.KernelWait); w > 0 {
		wants += w
	}
	if wants >= minUsed && wants <= (1-idleShare)*f.room() {
		res.severity = finding.SeverityWarning
	}
	for _, h := range f.Waiters {
		if h.N >= callerShare*n {
			res.evidence = append(res.evidence, h.evidence("waiting in ", "", finding.UnitMean, "goroutines"))
		}
	}
	res.fix = "hold the mutex for less time, or split what it protects, in " + f.Waiters[0].in()
	return res
}
