// SPDX-License-Identifier: Apache-2.0

package rules

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

// shown describes one figure of Facts: its name for users, its unit in package report,
// and how to get it.
type shown struct {
	name string
	unit finding.Unit
	of   func(*Facts) amount
}

var (
	gomaxprocs = shown{"GOMAXPROCS", finding.UnitCount, func(f *Facts) amount { return f.Procs }}
	gogc       = shown{"GOGC", finding.UnitGOGC, func(f *Facts) amount { return f.GOGC }}
	gomemlimit = shown{"GOMEMLIMIT", finding.UnitLimitBytes, func(f *Facts) amount { return f.MemLimit }}
	live       = shown{"live heap", finding.UnitBytes, func(f *Facts) amount { return f.Live }}
	goal       = shown{"heap goal", finding.UnitBytes, func(f *Facts) amount { return f.Goal }}
	kept       = shown{"kept by the last collection", finding.UnitRatio, func(f *Facts) amount { return f.Kept }}
	mapped     = shown{"memory that Go holds", finding.UnitBytes, func(f *Facts) amount { return f.Mapped }}
	quota      = shown{"CPU quota", finding.UnitLimitCores, func(f *Facts) amount { return f.Quota }}
	ownQuota   = shown{"CPU quota of its own group", finding.UnitLimitCores, func(f *Facts) amount { return f.OwnQuota }}
	coresThere = shown{"CPU time it can get", finding.UnitCores, func(f *Facts) amount { return f.Cores }}
	cpus       = shown{"CPUs it may run on", finding.UnitCount, func(f *Facts) amount { return f.CPUs }}
	crashes    = shown{"quota files that crash plain Go programs", finding.UnitCount,
		func(f *Facts) amount { return f.Crashes }}
	memHard = shown{"memory limit", finding.UnitLimitBytes, func(f *Facts) amount { return f.MemHard }}
	memUsed = shown{"memory in use that cannot be reclaimed", finding.UnitBytes,
		func(f *Facts) amount { return f.MemUsed }}
	kills      = shown{"OOM kills in this container", finding.UnitCount, func(f *Facts) amount { return f.OOMKills }}
	seconds    = shown{"watched for", finding.UnitSeconds, func(f *Facts) amount { return f.Seconds }}
	goroutines = shown{"goroutines", finding.UnitCount, func(f *Facts) amount { return f.Goroutines }}
	mutexWaits = shown{"goroutines waiting for a mutex", finding.UnitMean, func(f *Facts) amount { return f.MutexWaits }}
	age        = shown{"running for", finding.UnitSeconds, func(f *Facts) amount { return f.Age }}
	running    = shown{"goroutines running", finding.UnitMean, func(f *Facts) amount { return f.Running }}
	runnable   = shown{"goroutines waiting for a P", finding.UnitMean, func(f *Facts) amount { return f.Runnable }}
	calling    = shown{"goroutines in system calls", finding.UnitMean, func(f *Facts) amount { return f.Calling }}
	blocked    = shown{"threads asleep in system calls", finding.UnitMean, func(f *Facts) amount { return f.Blocked }}
	always     = shown{"threads always asleep in system calls", finding.UnitCount,
		func(f *Facts) amount { return f.AlwaysBlocked }}
	finalizing = shown{"looks that found a finalizer at work", finding.UnitRatio,
		func(f *Facts) amount { return f.Finalizing }}
	finalWaits = shown{"looks in which it waited", finding.UnitRatio, func(f *Facts) amount { return f.FinalizerWaits }}
	timerCount = shown{"live objects of time.After and time.Tick", finding.UnitCount,
		func(f *Facts) amount { return f.TimerObjects }}
	timerBytes = shown{"live, allocated by time.After and time.Tick", finding.UnitBytes,
		func(f *Facts) amount { return f.TimerBytes }}
	used       = shown{"CPU used", finding.UnitCores, func(f *Facts) amount { return f.Used }}
	kernelWait = shown{"threads waiting for a CPU", finding.UnitMean, func(f *Facts) amount { return f.KernelWait }}
	idle       = shown{"time that its CPUs were idle", finding.UnitRatio, func(f *Facts) amount { return f.Idle }}
	throttled  = shown{"throttled periods", finding.UnitRatio, func(f *Facts) amount { return f.Throttled }}
	ever       = shown{"throttled periods since the group was made", finding.UnitRatio,
		func(f *Facts) amount { return f.Ever }}
	busy      = shown{"Ps not idle", finding.UnitMean, func(f *Facts) amount { return f.Busy }}
	spinning  = shown{"Ps looking for work", finding.UnitMean, func(f *Facts) amount { return f.Spinning }}
	cycles    = shown{"collections", finding.UnitPerSecond, func(f *Facts) amount { return f.Cycles }}
	callRate  = shown{"reads and writes", finding.UnitPerSecond, func(f *Facts) amount { return f.CallRate }}
	callBytes = shown{"bytes of a read or write", finding.UnitBytes, func(f *Facts) amount { return f.CallBytes }}
	gcCores   = shown{"CPU used by collections", finding.UnitCores, func(f *Facts) amount { return f.GCCores }}
	gcHeld    = shown{"time of the Ps that the collector held", finding.UnitRatio,
		func(f *Facts) amount { return f.GCHeld }}
	stopped = shown{"time that the world was stopped", finding.UnitRatio, func(f *Facts) amount { return f.Stopped }}
	runWait = shown{"wait of a goroutine that could run, 99th percentile", finding.UnitSeconds,
		func(f *Facts) amount { return f.RunWait }}
	heapPeak  = shown{"objects on the heap, maximum", finding.UnitBytes, func(f *Facts) amount { return f.HeapPeak }}
	overSized = shown{"scheduler, idle marking and stopping the world", finding.UnitRatio,
		func(f *Facts) amount { return f.OverSize }}
	gcShare = shown{"CPU time of collections, without idle marking", finding.UnitRatio,
		func(f *Facts) amount { return f.GCShare }}
	sched    = shown{"scheduling and timers", finding.UnitRatio, func(f *Facts) amount { return f.Sched }}
	timers   = shown{"timers", finding.UnitRatio, func(f *Facts) amount { return f.Timers }}
	locks    = shown{"taking and waiting for locks", finding.UnitRatio, func(f *Facts) amount { return f.Locks }}
	stacks   = shown{"growing stacks", finding.UnitRatio, func(f *Facts) amount { return f.Stacks }}
	syscalls = shown{"system calls", finding.UnitRatio, func(f *Facts) amount { return f.Syscalls }}
)

// Seen returns all known figures, in reporting order.
func (f *Facts) Seen() []finding.Evidence {
	return f.saw(
		gomaxprocs, gogc, gomemlimit, live, goal, kept, mapped, quota, ownQuota, coresThere, cpus, crashes, memHard, memUsed,
		kills, seconds, age, goroutines, mutexWaits, running, runnable, calling, blocked, always, finalizing, finalWaits,
		timerCount, timerBytes, used, kernelWait, idle, throttled, ever, busy, spinning, cycles, callRate, callBytes,
		gcCores, gcHeld, stopped, runWait, heapPeak, overSized, gcShare, sched, timers, locks, stacks, syscalls,
	)
}

// saw returns the evidence for the figures that are known. A limit that is none has
// the value 0; a heap goal that is none is left out.
func (f *Facts) saw(figures ...shown) []finding.Evidence {
	all := []finding.Evidence{}
	for _, x := range figures {
		n := x.of(f)
		limit := x.unit == finding.UnitLimitBytes || x.unit == finding.UnitLimitCores
		if v := num(n); none(n) && limit || v == v { // known
			all = append(all, finding.Evidence{What: x.name, Value: n.N, Unit: x.unit, Source: n.Source, Raw: n.Raw})
		}
	}
	return all
}
