// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"math"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/finding"
)

const (
	// overSizeShare of the CPU time, for what grows with the number of Ps.
	overSizeShare = 0.15
	// spinningShare of the busy Ps look for work.
	spinningShare = 0.3
	// usedLeast: below so many cores nothing is worth a warning.
	usedLeast = 0.05
	// someThrottled is a share of the periods that is worth a look, and no verdict.
	someThrottled = 0.25
)

// suffers says whether more Ps than there is CPU time for cost something, and by
// which figures.
func (f *Facts) suffers() (bool, []finding.Evidence) {
	seen := f.saw(throttled, overSized, spinning, busy, used)
	if f.Used.get() < usedLeast {
		return false, seen
	}
	spins := f.Spinning.get() >= spinningShare*f.Busy.get() && f.Throttled.get() >= someThrottled
	return f.OverSize.get() >= overSizeShare || spins, seen
}

// aboveQuota is what all rules about a GOMAXPROCS above the quota have in common.
func (f *Facts) aboveQuota(fix string) *hit {
	if !(f.Quota.get() > 0 && f.Procs.get() > f.rounded()) {
		return nil
	}
	n := whole(f.rounded())
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(gomaxprocs, quota),
		fix:      "GOMAXPROCS=" + n + fix,
		verify:   f.bench("--gomaxprocs " + n + "," + whole(f.Procs.get())),
	}
	harm, seen := f.suffers()
	h.evidence = append(h.evidence, seen...)
	if harm {
		h.severity = finding.SeverityWarning
	}
	return h
}

// auto is the fix for programs that can be rebuilt.
const auto = `, or import _ "github.com/snug-go/snug/auto"`

func (f *Facts) isGated() bool {
	return f.Minor >= 25 && f.Aware != nil && !*f.Aware && f.ProcsBy == ByHost
}

func (f *Facts) isAncestor() bool {
	own := f.OwnQuota.get()
	return f.ProcsBy == ByRuntime && (own == 0 || own > f.Quota.get())
}

func (f *Facts) isPinned() bool { return f.ProcsBy == ByEnvironment || f.ProcsBy == ByCode }

// isSnug: snug is in the program and follows, so what it chose is no accident.
func (f *Facts) isSnug() bool {
	return f.ProcsBy == ByCode && strings.HasPrefix(f.Module, "github.com/snug-go/snug ")
}

func gatedOff(f *Facts) *hit {
	if !f.isGated() {
		return nil
	}
	return f.aboveQuota(", or GODEBUG=containermaxprocs=1, or a go line of 1.25 or later in go.mod" + auto)
}

func ancestorIgnored(f *Facts) *hit {
	if !f.isAncestor() {
		return nil
	}
	h := f.aboveQuota(auto + "; both see the tighter group above")
	if h != nil {
		h.evidence = append(h.evidence, f.saw(ownQuota)...)
	}
	return h
}

func staleProcs(f *Facts) *hit {
	switch {
	case !f.isPinned() || f.isSnug():
		return nil
	case f.ProcsBy == ByEnvironment:
		return f.aboveQuota(", or no GOMAXPROCS variable at all: Go 1.25 and snug follow the quota")
	case f.Module != "":
		return f.aboveQuota(auto + " in place of " + f.Module + ", which looks once")
	}
	return f.aboveQuota(", or no call of runtime.GOMAXPROCS in the program: Go 1.25 and snug follow the quota")
}

func procsAboveQuota(f *Facts) *hit {
	if f.isGated() || f.isAncestor() || f.isPinned() {
		return nil
	}
	fix := auto
	if f.Minor > 0 && f.Minor < 25 {
		fix += ", or Go 1.25 or later"
	}
	return f.aboveQuota(fix)
}

func procsAboveAffinity(f *Facts) *hit {
	if !(f.Procs.get() > f.CPUs.get()) || f.Quota.get() > 0 {
		return nil
	}
	n := whole(f.CPUs.get())
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(gomaxprocs, cpus),
		fix:      "GOMAXPROCS=" + n + auto,
		verify:   f.bench("--gomaxprocs " + n + "," + whole(f.Procs.get())),
	}
	harm, seen := f.suffers()
	h.evidence = append(h.evidence, seen...)
	if harm {
		h.severity = finding.SeverityWarning
	}
	return h
}

// overSize speaks where the container is not known, as for a profile alone.
func overSize(f *Facts) *hit {
	if !(f.OverSize.get() >= overSizeShare) || f.Quota != nil && f.Procs != nil {
		return nil
	}
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(overSized, gomaxprocs),
		fix:      "compare GOMAXPROCS with the CPU limit of the container that this came from; snug doctor PID there knows both",
	}
	if f.OverSize.get() >= 2*overSizeShare {
		h.severity = finding.SeverityWarning
	}
	return h
}

// procsTooFew: all Ps run all the time, and more CPU is there.
func procsTooFew(f *Facts) *hit {
	p, cores := f.Procs.get(), f.Cores.get()
	if !(f.Used.get() >= 0.9*p && f.Busy.get() >= 0.95*p && math.Floor(cores) >= p+1) {
		return nil
	}
	n := whole(min(math.Ceil(cores), f.CPUs.get()))
	return &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(gomaxprocs, used, busy, coresThere),
		fix:      "GOMAXPROCS=" + n + ", or leave it to Go or snug",
		verify:   f.bench("--gomaxprocs " + whole(p) + "," + n),
	}
}

// heldShare of the Ps' time goes neither into running nor into waiting for a CPU.
const heldShare = 0.25

// procsHeld: threads sleep in the kernel and keep their Ps.
func procsHeld(f *Facts) *hit {
	p := f.Procs.get()
	held := f.Busy.get() - f.Used.get() - f.KernelWait.get()
	if !(f.Busy.get() >= 0.95*p && held >= heldShare*p && f.Used.get() < 0.8*min(f.Cores.get(), p)) {
		return nil
	}
	n := whole(2 * p)
	return &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(gomaxprocs, busy, used, kernelWait),
		fix:      "GOMAXPROCS=" + n + ", or SNUG_ADAPT=cpu with snug in the program",
		verify:   f.bench("--gomaxprocs " + whole(p) + "," + n),
	}
}
