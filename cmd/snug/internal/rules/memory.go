// SPDX-License-Identifier: Apache-2.0

package rules

import "github.com/snug-go/snug/cmd/snug/internal/finding"

const (
	// gcHigh and gcVeryHigh are shares of the CPU time for collections.
	gcHigh, gcVeryHigh = 0.25, 0.4
	// tightGrowth percent: below it the collector runs nearly all the time.
	tightGrowth = 10
	// safeShare of the memory limit is what a plan may fill.
	safeShare = 0.9
)

// gcPart is what collections take of the process's CPU time; NaN = unknown.
func (f *Facts) gcPart() (share float64, from []finding.Evidence) {
	if f.GCShare != nil {
		return f.GCShare.V, f.saw(gcShare)
	}
	return f.GCCores.get() / f.Used.get(), f.saw(gcCores, used)
}

// safeLimit is the GOMEMLIMIT that snug would set.
func (f *Facts) safeLimit() float64 {
	hard := f.MemHard.get()
	return max(hard/2, min(safeShare*hard, hard-16<<20))
}

// other is the memory of the container that is not Go's, in bytes.
func (f *Facts) other() float64 { return max(0, f.MemUsed.get()-f.Mapped.get()) }

// limited reports whether GOMEMLIMIT, not GOGC, sets the heap goal.
func (f *Facts) limited() bool {
	if !(f.MemLimit.get() > 0) {
		return false
	}
	gogc := f.GOGC.get()
	return gogc < 0 || f.Goal.get() < 0.95*f.Live.get()*(1+gogc/100)
}

func oomKills(f *Facts) *hit {
	if !(f.OOMKills.get() > 0) {
		return nil
	}
	h := &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(kills, memHard, memUsed, gomemlimit),
		fix:      "see what else is reported here; if nothing is, raise the memory limit",
	}
	if f.MemLimit.get() == 0 && f.MemHard.get() > 0 {
		h.fix = "GOMEMLIMIT=" + mebibytes(f.safeLimit()) + auto
	}
	return h
}

func memlimitAbove(f *Facts) *hit {
	if !(f.MemHard.get() > 0 && f.MemLimit.get() > f.MemHard.get()) {
		return nil
	}
	return &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(gomemlimit, memHard),
		fix:      "GOMEMLIMIT=" + mebibytes(f.safeLimit()) + auto,
	}
}

func gogcOff(f *Facts) *hit {
	if f.GOGC == nil || f.MemLimit == nil || f.GOGC.V >= 0 || f.MemLimit.V != 0 {
		return nil
	}
	h := &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(gogc, gomemlimit, memHard),
		fix:      "GOGC=100, or a GOMEMLIMIT beside GOGC=off",
	}
	if f.MemHard.get() > 0 {
		h.severity = finding.SeverityError
		h.fix = "GOGC=100, and GOMEMLIMIT=" + mebibytes(f.safeLimit())
	}
	return h
}

func memlimitNearLive(f *Facts) *hit {
	if !f.limited() || !(f.spareGrowth() < tightGrowth) {
		return nil
	}
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(gomemlimit, live, goal, cycles),
		fix:      "give the container and GOMEMLIMIT more memory, or keep less in the heap",
	}
	part, seen := f.gcPart()
	h.evidence = append(h.evidence, seen...)
	if part >= gcHigh && f.Used.get() >= usedLeast {
		h.severity = finding.SeverityWarning
	}
	return h
}

func nonGoMemory(f *Facts) *hit {
	room := f.MemHard.get() - f.MemLimit.get()
	if !(f.MemLimit.get() > 0 && room >= 0 && f.other() > room) || f.Mapped == nil {
		return nil
	}
	fit := max(f.MemHard.get()/2, f.MemHard.get()-1.25*f.other())
	return &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(memUsed, mapped, gomemlimit, memHard),
		fix:      "GOMEMLIMIT=" + mebibytes(fit) + ", or SNUG_ADAPT=memory with snug in the program, which follows it",
	}
}

func memlimitMissing(f *Facts) *hit {
	if !(f.MemHard.get() > 0) || f.MemLimit == nil || f.MemLimit.V != 0 || f.GOGC.get() < 0 {
		return nil
	}
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(memHard, gomemlimit, goal, live),
		fix:      "GOMEMLIMIT=" + mebibytes(f.safeLimit()) + auto,
	}
	if f.Goal.get()+f.other() > safeShare*f.MemHard.get() {
		h.severity = finding.SeverityWarning
		h.verify = f.bench("--set GOMEMLIMIT=90%")
	}
	return h
}

func gcCost(f *Facts) *hit {
	part, seen := f.gcPart()
	if !(part >= gcHigh) || f.Used.get() < usedLeast {
		return nil
	}
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: append(seen, f.saw(cycles, live, goal, memHard)...),
		fix:      "allocate less: go tool pprof -sample_index=alloc_space on a heap profile shows where",
	}
	if part >= gcVeryHigh {
		h.severity = finding.SeverityWarning
	}
	switch hard := f.MemHard.get(); {
	case f.limited():
		h.fix = "raise GOMEMLIMIT and the memory limit: the live heap nearly fills them"
	case hard > 0 && f.Goal.get() < hard/3:
		h.fix = "GOGC=200 with GOMEMLIMIT=" + mebibytes(f.safeLimit()) + ": most of the memory is idle"
		h.verify = f.bench("--gogc default,200,400")
	case hard == 0 && f.Goal != nil:
		h.fix = "GOGC=200: there is no memory limit"
		h.verify = f.bench("--gogc default,200,400")
	}
	return h
}
