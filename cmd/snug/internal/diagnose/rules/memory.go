// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

const (
	// gcHigh and gcVeryHigh are shares of the CPU time for collections, and gcOfAll of
	// what GOMAXPROCS CPUs would have had.
	gcHigh, gcVeryHigh = 0.25, 0.4
	gcOfAll            = 0.1
	// gcNoRest of the latter: the runtime marks with a quarter of the Ps
	// (runtime/mgcpacer.go, gcBackgroundUtilization), so it hardly ever stops.
	gcNoRest = 0.2
	// tightGrowth percent: below it the collector runs nearly all the time.
	tightGrowth = 10
	// safeShare of the memory limit is what a plan may fill, safeLeast bytes stay free,
	// and what is not Go's may grow by otherGrowth.
	safeShare   = 0.9
	safeLeast   = 16 << 20
	otherGrowth = 1.25
	// smallHeap bytes of a live heap: below it growth in percent says nothing.
	smallHeap = 16 << 20
)

// gcPart is what collections take of the process's CPU time; NaN = unknown.
func (f *Facts) gcPart() (share float64, from []finding.Evidence) {
	if f.GCShare.Known() {
		return f.GCShare.N, f.saw(gcShare)
	}
	return num(f.GCCores) / num(f.Used), f.saw(gcCores, used)
}

// gcAll is what collections take of the time of all Ps; NaN = unknown.
func (f *Facts) gcAll() float64 {
	used := num(f.GCCores)
	if f.GCShare.Known() {
		used = num(f.GCShare) * num(f.Used)
	}
	procs := num(f.Procs)
	return used / min(procs, f.coresOr(procs))
}

// coresOr is the CPU time there is, or n where it is not known.
func (f *Facts) coresOr(n float64) float64 {
	if c := num(f.Cores); c > 0 {
		return c
	}
	return n
}

// other is the memory of the container that is not Go's, in bytes; 0 = unknown or none.
func (f *Facts) other() float64 {
	if n := num(f.MemUsed) - num(f.Mapped); n > 0 {
		return n
	}
	return 0
}

// safeLimit is a GOMEMLIMIT that the memory limit and other memory leave room for.
func (f *Facts) safeLimit() float64 {
	hard := num(f.MemHard)
	return min(safeShare*hard, hard-safeLeast, hard-otherGrowth*f.other())
}

// limitFix names a GOMEMLIMIT, or says that the container is too small for one.
func (f *Facts) limitFix(n float64) string {
	least := 0.0
	if live := num(f.Live); live > 0 {
		least = 1.2*live + safeLeast/2
	}
	if n < max(least, safeLeast) {
		need := (max(least, safeLeast) + otherGrowth*f.other()) / safeShare
		return "a memory limit of " + units.GoMebibytes(int64(need+1<<20)) + " or more, or less memory in use: no GOMEMLIMIT fits"
	}
	return "GOMEMLIMIT=" + units.GoMebibytes(int64(n))
}

// memoryFix is a GOMEMLIMIT for the memory limit, and who else sets it. A variable wins
// over whatever a program does.
func (f *Facts) memoryFix() string {
	value := f.limitFix(f.safeLimit())
	if !strings.HasPrefix(value, "GOMEMLIMIT=") {
		return value
	}
	if f.MemLimitBy == ByCode && f.MemModule == "" { // a variable would not help
		return "debug.SetMemoryLimit, which the program calls itself, with " + strings.TrimPrefix(value, "GOMEMLIMIT=") + f.ownFlag()
	}
	value = f.set(value, f.MemLimitBy != ByEnvironment)
	if f.MemLimitBy == ByEnvironment {
		return value + " in place of the variable's value"
	}
	return value + f.auto()
}

// limited reports whether GOMEMLIMIT, not GOGC, sets the heap goal.
func (f *Facts) limited() bool {
	if !(num(f.MemLimit) > 0) {
		return false
	}
	gogc := num(f.GOGC)
	return gogc < 0 || num(f.Goal) < 0.95*num(f.Live)*(1+gogc/100)
}

func oomKills(f *Facts) *hit {
	if !(num(f.OOMKills) > 0) {
		return nil
	}
	h := &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(kills, memHard, memUsed, gomemlimit),
		fix:      "see what else is reported here; if nothing is, raise the memory limit",
	}
	switch {
	case !(num(f.MemHard) > 0):
		h.severity = finding.SeverityInfo
		h.fix = "the container has no limit, so the machine ran out: look what else runs there"
	case none(f.MemLimit):
		h.fix = f.memoryFix()
	}
	return h
}

func memlimitAbove(f *Facts) *hit {
	if !(num(f.MemHard) > 0 && num(f.MemLimit) > num(f.MemHard)) {
		return nil
	}
	return &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(gomemlimit, memHard),
		fix:      f.memoryFix(),
	}
}

func gogcOff(f *Facts) *hit {
	if !(num(f.GOGC) < 0) || !none(f.MemLimit) {
		return nil
	}
	h := &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(gogc, gomemlimit, memHard),
		fix:      "GOGC=100, or a GOMEMLIMIT beside GOGC=off",
	}
	if num(f.MemHard) > 0 {
		h.severity = finding.SeverityError
		h.fix = "GOGC=100, and " + f.limitFix(f.safeLimit())
	}
	return h
}

func memlimitNearLive(f *Facts) *hit {
	// A log does not tell what sets the goal; GOGC below 10 is rare.
	told := !f.MemLimit.Read() && !f.GOGC.Known()
	if !f.limited() && !told || !(f.spareGrowth() < tightGrowth) || num(f.Live) < smallHeap {
		return nil
	}
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(gomemlimit, live, goal, cycles),
		fix:      "give the container and GOMEMLIMIT more memory, or keep less in the heap",
	}
	part, seen := f.gcPart()
	h.evidence = append(h.evidence, seen...)
	if part >= gcHigh && num(f.Used) >= usedLeast && f.gcAll() >= gcOfAll || f.gcAll() >= gcNoRest {
		h.severity = finding.SeverityWarning
	}
	return h
}

func nonGoMemory(f *Facts) *hit {
	room := num(f.MemHard) - num(f.MemLimit)
	if !(num(f.MemLimit) > 0 && room >= 0 && f.other() > room) {
		return nil
	}
	return &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(memUsed, mapped, gomemlimit, memHard),
		fix: f.limitFix(min(num(f.MemLimit), num(f.MemHard)-otherGrowth*f.other())) +
			"; SNUG_ADAPT=memory, with snug in the program, follows it",
	}
}

func memlimitMissing(f *Facts) *hit {
	if !(num(f.MemHard) > 0) || !none(f.MemLimit) || num(f.GOGC) < 0 {
		return nil
	}
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(memHard, gomemlimit, goal, live),
		fix:      f.memoryFix(),
	}
	if num(f.Goal)+f.other() > safeShare*num(f.MemHard) {
		h.severity = finding.SeverityWarning
		h.verify = f.bench("--set GOMEMLIMIT=90%")
	}
	return h
}

func gcCPU(f *Facts) *hit {
	part, seen := f.gcPart()
	all := f.gcAll()
	busy := part >= gcHigh && !(num(f.Used) < usedLeast)
	told := !f.Used.Known() && !f.GCShare.Known() // by a log or a trace
	if !busy && !(told && (all >= gcNoRest || num(f.GCHeld) >= gcNoRest)) {
		return nil
	}
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: append(seen, f.saw(gomaxprocs, gcHeld, cycles, live, goal, gogc, gomemlimit, memHard)...),
		fix:      "allocate less: go tool pprof -sample_index=alloc_space on a heap profile shows where",
	}
	if busy && part >= gcVeryHigh && !(all < gcOfAll) || told {
		h.severity = finding.SeverityWarning
	}
	now := num(f.GOGC)
	next := whole(2 * max(now, 100))
	switch {
	case f.limited():
		h.fix = "raise GOMEMLIMIT and the memory limit: the live heap nearly fills them"
	case !(now > 0), !f.Goal.Known(), !f.MemHard.Read():
	case none(f.MemHard):
		h.fix = "GOGC=" + next + ": there is no memory limit"
		h.verify = f.bench("--gogc " + whole(now) + "," + next)
	case 2*num(f.Goal) < f.safeLimit():
		h.fix = "GOGC=" + next + ": twice the heap would fit"
		if none(f.MemLimit) {
			h.fix = "GOGC=" + next + " with " + f.limitFix(f.safeLimit()) + ": twice the heap would fit"
		}
		h.verify = f.bench("--gogc " + whole(now) + "," + next)
	}
	return h
}
