// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
	"github.com/snug-go/snug/internal/plan"
)

const (
	// gcHigh and gcVeryHigh are shares of the process's CPU time spent in collections.
	// gcOfAll is a share of the CPU time that GOMAXPROCS CPUs would give.
	gcHigh, gcVeryHigh = 0.25, 0.4
	gcOfAll            = 0.1
	// gcNoRest is a share of the same. The runtime marks with a quarter of the Ps
	// (runtime/mgcpacer.go, gcBackgroundUtilization), so above it marking hardly ever stops.
	gcNoRest = 0.2
	// tightGrowth is the heap growth between collections, in percent, below which the
	// collector runs nearly all the time.
	tightGrowth = 10
	// A proposed GOMEMLIMIT is at most that of package plan, and lets memory that is not Go's grow by the
	// factor otherGrowth.
	safeShare   = 0.9
	minFree     = plan.MinHeadroom
	otherGrowth = 1.25
	// smallHeap is the live heap in bytes below which growth in percent means nothing.
	smallHeap = 16 << 20
)

// gcPart returns the share of the process's CPU time spent in collections; NaN = unknown.
func (f *Facts) gcPart() (share float64, from []finding.Evidence) {
	if f.GCShare.Known() {
		return f.GCShare.N, f.saw(gcShare)
	}
	return num(f.GCCores) / num(f.Used), f.saw(gcCores, used)
}

// gcAll returns the share of the time of all Ps spent in collections; NaN = unknown.
func (f *Facts) gcAll() float64 {
	used := num(f.GCCores)
	if f.GCShare.Known() {
		used = num(f.GCShare) * num(f.Used)
	}
	return used / f.room()
}

// room returns the CPU time in cores that the process could get: all its Ps, if what the container
// gives is unknown, and at most that. It is NaN if GOMAXPROCS is unknown.
func (f *Facts) room() float64 {
	procs := num(f.Procs)
	if c := num(f.Cores); c > 0 {
		return min(procs, c)
	}
	return procs
}

// other returns the memory of the container that is not Go's, in bytes; 0 = unknown or none.
func (f *Facts) other() float64 {
	if n := num(f.MemUsed) - num(f.Mapped); n > 0 {
		return n
	}
	return 0
}

// safeLimit returns the largest GOMEMLIMIT that fits the memory limit beside other memory; 0 or less = none.
func (f *Facts) safeLimit() float64 {
	hard := num(f.MemHard)
	return min(float64(plan.MemoryForLimit(int64(hard), &plan.Policy{})), hard-otherGrowth*f.other())
}

// limitFix proposes GOMEMLIMIT=n, or a larger memory limit if n is too small for the live heap.
func (f *Facts) limitFix(n float64) string {
	minLimit := 0.0
	if live := num(f.Live); live > 0 {
		minLimit = 1.2*live + minFree/2
	}
	if n < max(minLimit, minFree) {
		need := (max(minLimit, minFree) + otherGrowth*f.other()) / safeShare
		return "a memory limit of " + units.GoMebibytes(max(plan.MinMemory, int64(need+1<<20))) +
			" or more, or less memory in use: no GOMEMLIMIT fits"
	}
	return "GOMEMLIMIT=" + units.GoMebibytes(int64(n))
}

// memoryFix proposes a GOMEMLIMIT for the memory limit, and the way to set it. The
// variable wins over snug/auto and the known modules, but not over the program's own call.
func (f *Facts) memoryFix() string {
	value := f.limitFix(f.safeLimit())
	if !strings.HasPrefix(value, "GOMEMLIMIT=") {
		return value
	}
	if f.MemLimitBy == ByCode && f.MemModule == "" { // a variable would not help
		return "debug.SetMemoryLimit, which the program calls itself, with " + strings.TrimPrefix(value, "GOMEMLIMIT=") +
			f.ownFlag()
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

func oomKills(f *Facts) *result {
	if !(num(f.OOMKills) > 0) {
		return nil
	}
	res := &result{
		severity: finding.SeverityWarning,
		evidence: f.saw(kills, memHard, memUsed, gomemlimit),
		fix:      "see what else is reported here; if nothing is, raise the memory limit",
	}
	switch {
	case !(num(f.MemHard) > 0):
		res.severity = finding.SeverityInfo
		res.fix = "the container has no limit, so the machine ran out of memory: look what else runs there"
	case none(f.MemLimit):
		res.fix = f.memoryFix()
	}
	return res
}

func memlimitAbove(f *Facts) *result {
	if !(num(f.MemHard) > 0 && num(f.MemLimit) > num(f.MemHard)) {
		return nil
	}
	return &result{
		severity: finding.SeverityWarning,
		evidence: f.saw(gomemlimit, memHard),
		fix:      f.memoryFix(),
	}
}

func gogcOff(f *Facts) *result {
	if !(num(f.GOGC) < 0) || !none(f.MemLimit) {
		return nil
	}
	res := &result{
		severity: finding.SeverityWarning,
		evidence: f.saw(gogc, gomemlimit, memHard),
		fix:      "GOGC=100, or a GOMEMLIMIT beside GOGC=off",
	}
	if num(f.MemHard) > 0 {
		res.severity = finding.SeverityError
		res.fix = "GOGC=100, and " + f.limitFix(f.safeLimit())
	}
	return res
}

func memlimitNearLive(f *Facts) *result {
	// A log does not show what sets the goal. Assume GOMEMLIMIT, because GOGC below 10 is rare.
	fromLog := !f.MemLimit.Read() && !f.GOGC.Known()
	if !f.limited() && !fromLog || !(f.spareGrowth() < tightGrowth) || num(f.Live) < smallHeap {
		return nil
	}
	res := &result{
		severity: finding.SeverityInfo,
		evidence: f.saw(gomemlimit, live, goal, cycles),
		fix:      "give the container and GOMEMLIMIT more memory, or keep less in the heap",
	}
	part, seen := f.gcPart()
	res.evidence = append(res.evidence, seen...)
	if part >= gcHigh && num(f.Used) >= minUsed && f.gcAll() >= gcOfAll || f.gcAll() >= gcNoRest {
		res.severity = finding.SeverityWarning
	}
	return res
}

func nonGoMemory(f *Facts) *result {
	room := num(f.MemHard) - num(f.MemLimit)
	if !(num(f.MemLimit) > 0 && room >= 0 && f.other() > room) {
		return nil
	}
	return &result{
		severity: finding.SeverityWarning,
		evidence: f.saw(memUsed, mapped, gomemlimit, memHard),
		fix: f.limitFix(min(num(f.MemLimit), num(f.MemHard)-otherGrowth*f.other())) +
			"; SNUG_ADAPT=memory, with snug in the program, follows that memory",
	}
}

func memlimitMissing(f *Facts) *result {
	if !(num(f.MemHard) > 0) || !none(f.MemLimit) || num(f.GOGC) < 0 {
		return nil
	}
	res := &result{
		severity: finding.SeverityInfo,
		evidence: f.saw(memHard, gomemlimit, goal, live),
		fix:      f.memoryFix(),
	}
	if num(f.Goal)+f.other() > safeShare*num(f.MemHard) {
		res.severity = finding.SeverityWarning
		res.verify = f.bench("--set GOMEMLIMIT=90%")
	}
	return res
}

func gcCPU(f *Facts) *result {
	part, seen := f.gcPart()
	all := f.gcAll()
	busy := part >= gcHigh && !(num(f.Used) < minUsed)
	indirect := !f.Used.Known() && !f.GCShare.Known() // only a log or a trace was read
	if !busy && !(indirect && (all >= gcNoRest || num(f.GCHeld) >= gcNoRest)) {
		return nil
	}
	res := &result{
		severity: finding.SeverityInfo,
		evidence: append(seen, f.saw(gomaxprocs, gcHeld, cycles, live, goal, gogc, gomemlimit, memHard)...),
		fix:      "allocate less: go tool pprof -sample_index=alloc_space on a heap profile shows where",
	}
	if busy && part >= gcVeryHigh && !(all < gcOfAll) || indirect {
		res.severity = finding.SeverityWarning
	}
	now := num(f.GOGC)
	next := whole(2 * max(now, 100))
	switch {
	case f.limited():
		res.fix = "raise GOMEMLIMIT and the memory limit: the live heap nearly fills them"
	case !(now > 0), !f.Goal.Known(), !f.MemHard.Read():
	case none(f.MemHard):
		res.fix = "GOGC=" + next + ": there is no memory limit"
		res.verify = f.bench("--gogc " + whole(now) + "," + next)
	case 2*num(f.Goal) < f.safeLimit():
		res.fix = "GOGC=" + next + ": twice the heap would fit"
		if none(f.MemLimit) {
			res.fix = "GOGC=" + next + " with " + f.limitFix(f.safeLimit()) + ": twice the heap would fit"
		}
		res.verify = f.bench("--gogc " + whole(now) + "," + next)
	}
	return res
}
