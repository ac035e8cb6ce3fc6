// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/internal/plan"
)

const (
	// overSizeShare is the share of the CPU time that may go into work that grows with the
	// number of Ps.
	overSizeShare = 0.10
	// overSizeAlone is that share if the right number of Ps is unknown: for information, and
	// a warning at twice as much. A program of tiny messages looks the same.
	overSizeAlone = 0.15
	// spinningShare is the share of the busy Ps that look for work.
	spinningShare = 0.3
	// minUsed is the CPU time in cores below which nothing is worth a warning.
	minUsed = 0.05
	// minThrottled is the share of throttled periods that is worth a look. It proves nothing.
	minThrottled = 0.25
	// mostThrottled is the share since the group was made from which it is a warning, if there are many times
	// too many Ps as well. Programs that work in bursts are throttled less, and often fastest so.
	mostThrottled = 0.5
)

// throttling returns the share of throttled periods: while it was watched, or since the group was made if it
// was seen once.
func (f *Facts) throttling() (share float64, from shown) {
	if !f.Throttled.Known() && !f.Seconds.Known() {
		return num(f.Ever), ever
	}
	return num(f.Throttled), throttled
}

// suffers reports whether the extra Ps cost CPU time, and returns the figures that show it.
func (f *Facts) suffers() (bool, []finding.Evidence) {
	seen := f.saw(throttled, overSized, spinning, busy, used)
	if num(f.Used) < minUsed {
		return false, seen
	}
	if f.OverSize.Known() {
		return num(f.OverSize) >= overSizeShare, seen
	}
	// A P that spins when the group is throttled counts as spinning until throttling ends.
	// So use this only if CPU time cannot be sampled.
	return num(f.Spinning) >= spinningShare*num(f.Busy) && num(f.Throttled) >= minThrottled, seen
}

// tooMany finds a GOMAXPROCS above most, the number that limit allows; n is the one to set.
func (f *Facts) tooMany(most, n float64, limit shown, fix string) *result {
	if !(num(f.Procs) > most) || f.callsNeedPs() {
		return nil
	}
	value := f.set("GOMAXPROCS="+whole(n), f.ProcsBy != ByEnvironment && !f.ownCode())
	switch {
	case f.ProcsBy == ByEnvironment:
		value += " in place of the variable's " + whole(num(f.Procs))
	case f.ownCode(): // a variable would not help
		value = "runtime.GOMAXPROCS, which the program calls itself, with " + whole(n) + f.ownFlag()
	}
	res := &result{
		severity: finding.SeverityInfo,
		evidence: f.saw(gomaxprocs, limit),
		fix:      value + fix,
		verify:   f.bench("--gomaxprocs " + whole(n) + "," + whole(num(f.Procs))),
	}
	if f.asleep() >= n {
		res.evidence = append(res.evidence, f.saw(calling, blocked, always)...)
		res.fix += "; only if a measurement shows no loss: goroutines sleep in system calls here, and may need the Ps"
	}
	harm, seen := f.suffers()
	res.evidence = append(res.evidence, seen...)
	if harm {
		res.severity = finding.SeverityWarning
	}
	return res
}

// aboveQuota finds a GOMAXPROCS above the quota. All rules about it share this.
func (f *Facts) aboveQuota(fix string) *result {
	if !f.quotaBinds() {
		return nil
	}
	res := f.tooMany(f.rounded(), f.advised(), quota, fix)
	if res == nil || !(num(f.Ever) >= mostThrottled) || f.asleep() >= f.advised() ||
		!plan.TooManyProcs(int(num(f.Procs)), num(f.Quota)) {
		return res
	}
	res.severity = finding.SeverityWarning
	res.evidence = slices.Insert(res.evidence, 2, f.saw(ever)...) // beside GOMAXPROCS and the quota
	if !f.Blocked.Known() || !(num(f.Used) >= minUsed) {
		res.fix += "; first let snug doctor watch it under load: goroutines that wait in system calls may need the Ps"
	}
	return res
}

// isAboveQuota reports whether one of the rules about it fires.
func (f *Facts) isAboveQuota() bool {
	return cmp.Or(gatedOff(f), ancestorIgnored(f), staleProcs(f), procsAboveQuota(f)) != nil
}

// maxprocs is the prefix of the module that rounds quotas down.
const maxprocs = "go.uber.org/automaxprocs "

// ownCode reports whether the program's own code has set GOMAXPROCS. Its call wins over the
// variable; the known modules leave GOMAXPROCS alone if the variable is set.
func (f *Facts) ownCode() bool { return f.ProcsBy == ByCode && f.Module == "" }

// ownFlag returns the remaining fix for a program whose source the user cannot change.
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

// autoProcs is auto for GOMAXPROCS. The variable wins over snug/auto, so it must go first.
func (f *Facts) autoProcs() string {
	switch {
	case f.ProcsBy != ByEnvironment:
		return f.auto()
	case f.Prebuilt:
		return "; or no variable, and " + f.run()
	}
	return "; or no variable, and " + importAuto
}

// run returns the command that starts the program with `snug run`, as an ExecStart line if
// its unit is known.
func (f *Facts) run() string {
	s := "snug run -- " + cmp.Or(f.Program, "PROGRAM") + " ARG..."
	if f.Unit != "" {
		s = "ExecStart=" + s + " in " + f.Unit
	}
	return s
}

// set proposes a variable to set. For a program that cannot be rebuilt it proposes
// `snug run` first, if runs says that this has the same effect.
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
	return f.Minor >= 25 && f.Aware != nil && !*f.Aware && !f.Missed && f.ProcsBy == ByHost
}

func (f *Facts) isAncestor() bool {
	return f.ProcsBy == ByRuntime && (none(f.OwnQuota) || num(f.OwnQuota) > num(f.Quota))
}

func (f *Facts) isPinned() bool { return f.ProcsBy == ByEnvironment || f.ProcsBy == ByCode }

// isSnug reports whether snug is linked into the program and follows the quota, so that its
// choice is intended.
func (f *Facts) isSnug() bool {
	return f.ProcsBy == ByCode && strings.HasPrefix(f.Module, "github.com/snug-go/snug ")
}

func gatedOff(f *Facts) *result {
	if !f.isGated() {
		return nil
	}
	fix := ", or GODEBUG=containermaxprocs=1"
	if !f.Prebuilt {
		fix += ", or a go line of 1.25 or later in go.mod" + f.auto()
	}
	return f.aboveQuota(fix)
}

func ancestorIgnored(f *Facts) *result {
	if !f.isAncestor() {
		return nil
	}
	fix := f.auto()
	if fix != "" {
		fix += "; both read the tighter group above"
	}
	res := f.aboveQuota(fix)
	if res != nil {
		res.evidence = append(res.evidence, f.saw(ownQuota)...)
	}
	return res
}

func staleProcs(f *Facts) *result {
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
		return f.aboveQuota(f.auto() + " in place of " + f.Module + ", which reads the quota once")
	case !f.follows():
		return f.aboveQuota(f.autoProcs())
	case f.ProcsBy == ByEnvironment:
		return f.aboveQuota(f.orNo("GOMAXPROCS variable at all"))
	}
	if f.Prebuilt {
		return f.aboveQuota("")
	}
	return f.aboveQuota(f.orNo("such call"))
}

// orNo adds to a fix that the runtime chooses the same without the setting, if it does: below one core
// it takes 2 Ps.
func (f *Facts) orNo(setting string) string {
	if f.rounded() != f.advised() {
		return ""
	}
	return ", or no " + setting + ": this program's Go follows the quota by itself"
}

// follows reports whether the runtime, if GOMAXPROCS were unset, would follow the quota and
// not keep the number of CPUs at start. Go 1.25 does not find it in a container of cgroup v1.
func (f *Facts) follows() bool {
	return f.Minor >= 25 && f.Aware != nil && *f.Aware &&
		!(f.Minor == 25 && strings.HasSuffix(f.Quota.Source, "cpu.cfs_quota_us"))
}

// pinsLow reports whether the operator or the program set a GOMAXPROCS that holds the
// program back, in a container that may have been resized since. It needs a quota: without
// one the machine's CPUs are the limit, and those do not change.
func (f *Facts) pinsLow() bool {
	return f.isPinned() && !f.isSnug() && num(f.Quota) > 0 && f.heldBack()
}

// pinnedLow returns the result for a program that pinsLow.
func (f *Facts) pinnedLow() *result {
	res := f.tooFew()
	n := whole(f.fitting())
	const resized = ", which does not follow a container that is resized"
	const restart = "or a restart, after which that module reads the quota again"
	inPlace := "GOMAXPROCS=" + n + " in place of the variable's " + whole(num(f.Procs)) + resized
	switch {
	case f.ProcsBy == ByEnvironment && f.follows():
		res.fix = "no GOMAXPROCS variable: this program's Go follows the quota by itself; or " + inPlace
	case f.ProcsBy == ByEnvironment:
		res.fix = inPlace + f.autoProcs()
	case strings.HasPrefix(f.Module, maxprocs) && num(f.Procs) == max(1, math.Floor(num(f.Quota))):
		res.fix = f.run() + ", or GOMAXPROCS=" + n + " in its environment: " + f.Module +
			" rounds the quota down and honours the variable"
	case f.Module != "" && f.Prebuilt:
		res.fix = f.run() + ": " + f.Module + " honours the variable that it sets; " + restart
	case f.Module != "":
		res.fix = importAuto + " in place of " + f.Module + resized + "; " + restart
	case f.follows() && !f.Prebuilt:
		res.fix = "no call of runtime.GOMAXPROCS in the program" + resized + ": its Go follows the quota by itself"
	case f.Prebuilt:
		res.fix = "runtime.GOMAXPROCS, which the program calls itself, with " + n + f.ownFlag()
	default:
		res.fix = importAuto + " in place of the program's call of runtime.GOMAXPROCS" + resized
	}
	res.fix = "if the program has more to do in parallel: " + res.fix
	if share := f.unused(); share >= minUnused {
		res.fix += "; " + whole(math.Round(100*share)) + " % of the quota cannot be used"
	}
	return res
}

func procsAboveQuota(f *Facts) *result {
	if f.isGated() || f.isAncestor() || f.isPinned() {
		return nil
	}
	fix := f.auto()
	if f.Minor > 0 && (f.Minor < 25 || f.Missed && f.Minor == 25) && !f.Prebuilt {
		fix += ", or Go 1.26 or later"
	}
	return f.aboveQuota(fix)
}

func procsAboveAffinity(f *Facts) *result {
	if f.quotaBinds() {
		return nil
	}
	return f.tooMany(num(f.CPUs), num(f.CPUs), cpus, f.autoProcs())
}

// injected reports whether a container runtime, and not the pod, may have set the variable.
func (f *Facts) injected() bool {
	return f.ProcsBy == ByEnvironment && f.Injector != "" && none(f.Quota) && (f.PodSets == nil || !*f.PodSets)
}

// procsInjected says where a GOMAXPROCS comes from that is not in the pod, and what it does to this
// program's Go.
func procsInjected(f *Facts) *result {
	if !f.injected() {
		return nil
	}
	from := f.Injector + " may have set it, or the pod or its image"
	if f.PodSets != nil {
		from = f.Injector + " set it, or the image: the pod does not"
	}
	does := ". Without it, and without a CPU limit, Go would use all CPUs"
	if f.follows() {
		does += "; with it, this program's Go does not follow a limit that a resize adds"
	}
	return &result{
		severity: finding.SeverityInfo,
		evidence: f.saw(gomaxprocs, cpus),
		fix: from + does + `. To choose another value, set GOMAXPROCS in the pod; ` +
			`the annotation skip-gomaxprocs.crio.io: "true" leaves it unset`,
	}
}

// overSize fires if the container is not known, as for a profile alone.
func overSize(f *Facts) *result {
	if !(num(f.OverSize) >= overSizeAlone) || f.Quota.Read() && f.Procs.Known() || num(f.Used) < minUsed {
		return nil
	}
	res := &result{
		severity: finding.SeverityInfo,
		evidence: f.saw(overSized, gomaxprocs, used),
		fix: "compare GOMAXPROCS with the CPU limit of the container that this came from; " +
			"snug doctor PID reads both there",
	}
	if num(f.OverSize) >= 2*overSizeAlone {
		res.severity = finding.SeverityWarning
	}
	return res
}

// heldBack reports whether all Ps run all the time and get their CPUs, and the container
// allows more.
func (f *Facts) heldBack() bool {
	p := num(f.Procs)
	more := math.Floor(num(f.Cores)) >= p+1 || f.unused() >= minUnused
	return num(f.Used) >= 0.9*p && num(f.Busy) >= 0.95*p && more && !(num(f.KernelWait) > 0.1*p)
}

// minUnused is the smallest share of the quota out of reach of the Ps that is reported.
const minUnused = 0.1

// unused returns the share of the quota that the Ps cannot use even if all are busy: a third
// of 1.5 cores with one P.
func (f *Facts) unused() float64 {
	q := num(f.Quota)
	if !(q > 0 && num(f.Cores) >= q) {
		return 0
	}
	return max(0, 1-num(f.Procs)/q)
}

// tooFew returns the result for a GOMAXPROCS that holds the program back. It is only for
// information, because the number of waiting goroutines cannot be seen from outside.
func (f *Facts) tooFew() *result {
	p, n := whole(num(f.Procs)), whole(f.fitting())
	where := ", or leave it to Go or snug"
	if f.injected() {
		where = " in the pod, which wins over what " + f.Injector + " injects"
	}
	return &result{
		severity: finding.SeverityInfo,
		evidence: f.saw(gomaxprocs, used, busy, coresThere),
		fix:      "GOMAXPROCS=" + n + where + ", if the program has more to do in parallel",
		verify:   f.bench("--gomaxprocs " + p + "," + n),
	}
}

// procsTooFew fires if GOMAXPROCS is too low and pinsLow does not apply.
func procsTooFew(f *Facts) *result {
	if !f.heldBack() || f.pinsLow() {
		return nil
	}
	return f.tooFew()
}
