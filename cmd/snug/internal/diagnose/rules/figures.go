// SPDX-License-Identifier: Apache-2.0

package rules

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

// figure is one of Facts: its words, its unit as package report knows it, and
// where it is.
type figure struct {
	words string
	unit  finding.Unit
	of    func(*Facts) *Num
}

var (
	gomaxprocs = figure{"GOMAXPROCS", finding.UnitCount, func(f *Facts) *Num { return f.Procs }}
	gogc       = figure{"GOGC", finding.UnitGOGC, func(f *Facts) *Num { return f.GOGC }}
	gomemlimit = figure{"GOMEMLIMIT", finding.UnitLimitBytes, func(f *Facts) *Num { return f.MemLimit }}
	live       = figure{"live heap", finding.UnitBytes, func(f *Facts) *Num { return f.Live }}
	goal       = figure{"heap goal", finding.UnitBytes, func(f *Facts) *Num { return f.Goal }}
	mapped     = figure{"memory that Go holds", finding.UnitBytes, func(f *Facts) *Num { return f.Mapped }}
	quota      = figure{"CPU quota", finding.UnitLimitCores, func(f *Facts) *Num { return f.Quota }}
	ownQuota   = figure{"CPU quota of its own group", finding.UnitLimitCores, func(f *Facts) *Num { return f.OwnQuota }}
	coresThere = figure{"CPU time it can get", finding.UnitCores, func(f *Facts) *Num { return f.Cores }}
	cpus       = figure{"CPUs it may run on", finding.UnitCount, func(f *Facts) *Num { return f.CPUs }}
	crashes    = figure{"quota files that end plain Go programs", finding.UnitCount, func(f *Facts) *Num { return f.Crashes }}
	memHard    = figure{"memory limit", finding.UnitLimitBytes, func(f *Facts) *Num { return f.MemHard }}
	memUsed    = figure{"memory in use that cannot be reclaimed", finding.UnitBytes, func(f *Facts) *Num { return f.MemUsed }}
	kills      = figure{"killed for want of memory in this container", finding.UnitCount, func(f *Facts) *Num { return f.OOMKills }}
	seconds    = figure{"watched for", finding.UnitSeconds, func(f *Facts) *Num { return f.Seconds }}
	used       = figure{"CPU used", finding.UnitCores, func(f *Facts) *Num { return f.Used }}
	kernelWait = figure{"threads waiting for a CPU", finding.UnitMean, func(f *Facts) *Num { return f.KernelWait }}
	idle       = figure{"time that its CPUs were idle", finding.UnitRatio, func(f *Facts) *Num { return f.Idle }}
	throttled  = figure{"throttled periods", finding.UnitRatio, func(f *Facts) *Num { return f.Throttled }}
	busy       = figure{"Ps not idle", finding.UnitMean, func(f *Facts) *Num { return f.Busy }}
	spinning   = figure{"Ps looking for work", finding.UnitMean, func(f *Facts) *Num { return f.Spinning }}
	cycles     = figure{"collections", finding.UnitPerSecond, func(f *Facts) *Num { return f.Cycles }}
	gcCores    = figure{"CPU used by collections", finding.UnitCores, func(f *Facts) *Num { return f.GCCores }}
	gcHeld     = figure{"time of the Ps that the collector held", finding.UnitRatio, func(f *Facts) *Num { return f.GCHeld }}
	stopped    = figure{"time that the world was stopped", finding.UnitRatio, func(f *Facts) *Num { return f.Stopped }}
	runWait    = figure{"wait of a goroutine that could run, 99th percentile", finding.UnitSeconds, func(f *Facts) *Num { return f.RunWait }}
	heapPeak   = figure{"objects on the heap, most", finding.UnitBytes, func(f *Facts) *Num { return f.HeapPeak }}
	overSized  = figure{"scheduler, idle marking and stopping the world", finding.UnitRatio, func(f *Facts) *Num { return f.OverSize }}
	gcShare    = figure{"marking, assists, sweeping and scavenging", finding.UnitRatio, func(f *Facts) *Num { return f.GCShare }}
)

// Seen are all figures that are known, in the order in which they explain.
func (f *Facts) Seen() []finding.Evidence {
	return f.saw(gomaxprocs, gogc, gomemlimit, live, goal, mapped, quota, ownQuota, coresThere, cpus, crashes, memHard, memUsed, kills, seconds, used, kernelWait, idle, throttled, busy, spinning, cycles, gcCores, gcHeld, stopped, runWait, heapPeak, overSized, gcShare)
}

// saw is the evidence of those figures that are known.
func (f *Facts) saw(figures ...figure) []finding.Evidence {
	all := []finding.Evidence{}
	for _, x := range figures {
		if n := x.of(f); n.get() == n.get() { // known
			all = append(all, finding.Evidence{What: x.words, Value: n.V, Unit: x.unit, Source: n.Source, Raw: n.Raw})
		}
	}
	return all
}
