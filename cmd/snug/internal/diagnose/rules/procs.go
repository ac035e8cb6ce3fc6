// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"math"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

const (
	// overSizeShare of the CPU time, for what grows with the number of Ps.
	overSizeShare = 0.10
	// overSizeAlone is for information where it is not known how many Ps fit, twice that a
	// warning: a program of tiny messages looks the same.
	overSizeAlone = 0.15
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
	if num(f.Used) < usedLeast {
		return false, seen
	}
	if f.OverSize.Known() {
		return num(f.OverSize) >= overSizeShare, seen
	}
	// A P that spins when the group is throttled counts until that is over, so this
	// is for where CPU time cannot be sampled.
	return num(f.Spinning) >= spinningShare*num(f.Busy) && num(f.Throttled) >= someThrottled, seen
}

// tooMany is a GOMAXPROCS above the n that limit allows.
func (f *Facts) tooMany(n float64, limit shown, fix string) *hit {
	if !(num(f.Procs) > n) {
		return nil
	}
	value := f.set("GOMAXPROCS="+whole(n), f.ProcsBy != ByEnvironment && !f.ownCode())
	switch {
	case f.ProcsBy == ByEnvironment:
		value += " in place of the variable's " + whole(num(f.Procs))
	case f.ownCode(): // a variable would not help
		value = "runtime.GOMAXPROCS, which the program calls itself, with " + whole(n) + f.ownFlag()
	}
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(gomaxprocs, limit),
		fix:      value + fix,
		verify:   f.bench("--gomaxprocs " + whole(n) + "," + whole(num(f.Procs))),
	}
	harm, seen := f.suffers()
	h.evidence = append(h.evidence, seen...)
	if harm {
		h.severity = finding.SeverityWarning
	}
	return h
}

// aboveQuota is what all rules about a GOMAXPROCS above the quota have in common.
func (f *Facts) aboveQuota(fix string) *hit {
	if !f.quotaBinds() {
		return nil
	}
	return f.tooMany(f.rounded(), quota, fix)
}

// maxprocs is how the module begins that rounds quotas down.
const maxprocs = "go.uber.org/automaxprocs "

// ownCode reports whether the program's own code has set GOMAXPROCS, which wins over a
// variable; the modules that are known honour one.
func (f *Facts) ownCode() bool { return f.ProcsBy == ByCode && f.Module == "" }

// ownFlag is all that is left where the code is the program's own and not the reader's.
func (f *Facts) ownFlag() string {
	if f.Prebuilt {
		return ": by a flag or a setting of its own, if it has one"
	}
	return ""
}

// importAuto is the fix for programs that can be rebuilt.
const importAuto = `import _ "github.com/snug-go/snug/auto"`

// auto offers importAuto beside another fix, where the program can be rebuilt.
func (f *Facts) auto() string {
	if f.Prebuilt {
		return ""
	}
	return ", or " + importAuto
}

// autoProcs is auto for GOMAXPROCS: a variable wins over whatever a program does.
func (f *Facts) autoProcs() string {
	switch {
	case f.ProcsBy != ByEnvironment:
		return f.auto()
	case f.Prebuilt:
		return "; or no variable, and " + f.run()
	}
	return "; or no variable, and " + importAuto
}

// run is how `snug run` starts the program, as its unit has it where that is known.
func (f *Facts) run() string {
	s := "snug run -- " + cmp.Or(f.Program, "PROGRAM") + " ARG..."
	if f.Unit != "" {
		s = "ExecStart=" + s + " in " + f.Unit
	}
	return s
}

// set is a variable to set. Before that it names `snug run`, for a program that cannot
// be rebuilt here, if that does the same.
func (f *Facts) set(variable string, runs bool) string {
	if f.Unit != "" {
		variable = "Environment=" + variable + " in " + f.Unit
	}
	if f.Prebuilt && runs {
		return f.run() + ", or " + variable
	}
	return variable
}

func (f *Facts) isGated() bool {
	return f.Minor >= 25 && f.Aware != nil && !*f.Aware && f.ProcsBy == ByHost
}

func (f *Facts) isAncestor() bool {
	return f.ProcsBy == ByRuntime && (none(f.OwnQuota) || num(f.OwnQuota) > num(f.Quota))
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
	fix := ", or GODEBUG=containermaxprocs=1"
	if !f.Prebuilt {
		fix += ", or a go line of 1.25 or later in go.mod" + f.auto()
	}
	return f.aboveQuota(fix)
}

func ancestorIgnored(f *Facts) *hit {
	if !f.isAncestor() {
		return nil
	}
	fix := f.auto()
	if fix != "" {
		fix += "; both see the tighter group above"
	}
	h := f.aboveQuota(fix)
	if h != nil {
		h.evidence = append(h.evidence, f.saw(ownQuota)...)
	}
	return h
}

func staleProcs(f *Facts) *hit {
	if f.pinsLow() {
		return f.pinnedLow()
	}
	if !f.isPinned() || f.isSnug() {
		return nil
	}
	switch {
	case f.Module != "":
		if f.Prebuilt {
			return f.aboveQuota(": " + f.Module + " honours the variable")
		}
		return f.aboveQuota(f.auto() + " in place of " + f.Module + ", which looks once")
	case !f.follows():
		return f.aboveQuota(f.autoProcs())
	case f.ProcsBy == ByEnvironment:
		return f.aboveQuota(", or no GOMAXPROCS variable at all: this program's Go follows the quota by itself")
	}
	if f.Prebuilt {
		return f.aboveQuota("")
	}
	return f.aboveQuota(", or no such call: this program's Go follows the quota by itself")
}

// follows: without the setting the runtime would go by the quota, and not by the CPUs
// there were at start.
func (f *Facts) follows() bool { return f.Minor >= 25 && f.Aware != nil && *f.Aware }

// pinsLow: the operator or the program has set a number that holds the program back, in a container that may
// have been resized since. Without a quota a machine of that many CPUs is all there is.
func (f *Facts) pinsLow() bool {
	return f.isPinned() && !f.isSnug() && num(f.Quota) > 0 && f.heldBack()
}

// pinnedLow is a setting that holds the program back in a container that gives more.
func (f *Facts) pinnedLow() *hit {
	h := f.tooFew()
	n := whole(math.Ceil(num(f.Cores)))
	const resized = ", which does not follow a container that is resized"
	switch {
	case f.ProcsBy == ByEnvironment && f.follows():
		h.fix = "no GOMAXPROCS variable: this program's Go follows the quota by itself; or GOMAXPROCS=" + n + " in place of the variable's " + whole(num(f.Procs)) + resized
	case f.ProcsBy == ByEnvironment:
		h.fix = "GOMAXPROCS=" + n + " in place of the variable's " + whole(num(f.Procs)) + resized + f.autoProcs()
	case strings.HasPrefix(f.Module, maxprocs) && num(f.Procs) == max(1, math.Floor(num(f.Quota))):
		h.fix = f.run() + ", or GOMAXPROCS=" + n + " in its environment: " + f.Module + " rounds the quota down and honours the variable"
	case f.Module != "" && f.Prebuilt:
		h.fix = f.run() + ": " + f.Module + " honours the variable that it sets; or a restart, when that looks again"
	case f.Module != "":
		h.fix = importAuto + " in place of " + f.Module + resized + "; or a restart, when that looks again"
	case f.follows() && !f.Prebuilt:
		h.fix = "no call of runtime.GOMAXPROCS in the program" + resized + ": its Go follows the quota by itself"
	case f.Prebuilt:
		h.fix = "runtime.GOMAXPROCS, which the program calls itself, with " + n + f.ownFlag()
	default:
		h.fix = importAuto + " in place of the program's call of runtime.GOMAXPROCS" + resized
	}
	h.fix = "if it has more to do at a time: " + h.fix
	if share := f.unused(); share >= unusedLeast {
		h.fix += "; " + whole(math.Round(100*share)) + " % of the quota cannot be used"
	}
	return h
}

func procsAboveQuota(f *Facts) *hit {
	if f.isGated() || f.isAncestor() || f.isPinned() {
		return nil
	}
	fix := f.auto()
	if f.Minor > 0 && f.Minor < 25 && !f.Prebuilt {
		fix += ", or Go 1.25 or later"
	}
	return f.aboveQuota(fix)
}

func procsAboveAffinity(f *Facts) *hit {
	if f.quotaBinds() {
		return nil
	}
	return f.tooMany(num(f.CPUs), cpus, f.autoProcs())
}

// overSize speaks where the container is not known, as for a profile alone.
func overSize(f *Facts) *hit {
	if !(num(f.OverSize) >= overSizeAlone) || f.Quota.Read() && f.Procs.Known() || num(f.Used) < usedLeast {
		return nil
	}
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(overSized, gomaxprocs, used),
		fix:      "compare GOMAXPROCS with the CPU limit of the container that this came from; snug doctor PID there knows both",
	}
	if num(f.OverSize) >= 2*overSizeAlone {
		h.severity = finding.SeverityWarning
	}
	return h
}

// heldBack: all Ps run all the time and get their CPUs, and there may be more.
func (f *Facts) heldBack() bool {
	p := num(f.Procs)
	more := math.Floor(num(f.Cores)) >= p+1 || f.unused() >= unusedLeast
	return num(f.Used) >= 0.9*p && num(f.Busy) >= 0.95*p && more && !(num(f.KernelWait) > 0.1*p)
}

// unusedLeast is from which share on a part of a core that no P can use is worth a word.
const unusedLeast = 0.1

// unused is the share of a quota that Ps, all busy, cannot use: a third of 1.5 cores
// with one P.
func (f *Facts) unused() float64 {
	q := num(f.Quota)
	if !(q > 0 && num(f.Cores) >= q) {
		return 0
	}
	return max(0, 1-num(f.Procs)/q)
}

// tooFew is a GOMAXPROCS that holds the program back. How many goroutines wait is not
// seen from outside, so it is no more than worth a look.
func (f *Facts) tooFew() *hit {
	p, n := whole(num(f.Procs)), whole(math.Ceil(num(f.Cores)))
	return &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(gomaxprocs, used, busy, coresThere),
		fix:      "GOMAXPROCS=" + n + ", or leave it to Go or snug, if it has more to do at a time",
		verify:   f.bench("--gomaxprocs " + p + "," + n),
	}
}

// procsTooFew speaks where GOMAXPROCS is not known to have been set.
func procsTooFew(f *Facts) *hit {
	if !f.heldBack() || f.pinsLow() {
		return nil
	}
	return f.tooFew()
}

// heldShare of the Ps' time goes neither into running nor into waiting for a CPU.
const heldShare = 0.25

// procsHeld: threads sleep in the kernel and keep their Ps.
func procsHeld(f *Facts) *hit {
	p := num(f.Procs)
	held := num(f.Busy) - num(f.Used) - num(f.KernelWait)
	if !(num(f.Busy) >= 0.95*p && held >= heldShare*p && num(f.Used) < 0.8*min(num(f.Cores), p)) {
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
