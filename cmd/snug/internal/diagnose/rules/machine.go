// SPDX-License-Identifier: Apache-2.0

package rules

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

func crashQuota(f *Facts) *result {
	if num(f.Crashes) != 1 || f.Minor < 25 || f.Minor > 27 || f.Aware != nil && !*f.Aware || f.isPinned() {
		return nil
	}
	res := &result{
		severity: finding.SeverityError,
		evidence: f.saw(crashes),
		fix:      "write max (v2) or -1 (v1) for a quota without a limit",
	}
	n := num(f.CPUs)
	if f.quotaBinds() {
		n = f.rounded()
	}
	if n >= 1 {
		res.fix = "GOMAXPROCS=" + whole(n) + " in the environment, or " + res.fix
	}
	return res
}

// Threads wait for a CPU at least minWaitShare of the time that they run, and on average
// at least minWaiting threads wait. Without the second bound, short and frequent waits of
// an almost idle program would count.
const (
	minWaitShare = 0.5
	minWaiting   = 0.25
	// maxIdle is the share of idle time up to which the CPUs count as taken by others. The
	// kernel does not always wake a thread on a free CPU.
	maxIdle = 0.15
	// minOthers is the share of the CPUs that others must use. Threads also wait for each other.
	minOthers = 0.2
)

// neighbours finds threads that wait for a CPU for a reason other than the quota and the
// number of Ps.
func neighbours(f *Facts) *result {
	waits := num(f.KernelWait) >= minWaiting && num(f.KernelWait) > minWaitShare*num(f.Used)
	if !(waits && num(f.Procs) <= num(f.CPUs) && num(f.Used) < 0.8*num(f.Cores)) {
		return nil
	}
	others := (1-num(f.Idle))*num(f.CPUs) - num(f.Used)
	taken := num(f.Idle) <= maxIdle && others >= minOthers*num(f.CPUs)
	if !taken || !f.Quota.Read() || num(f.Quota) > 0 && !(num(f.Throttled) < 0.05) {
		return nil
	}
	return &result{
		severity: finding.SeverityWarning,
		evidence: f.saw(kernelWait, used, idle, throttled),
		fix:      "raise the CPU request (cpu.weight, cpu.shares), or move something else off this machine",
	}
}

func subCoreQuota(f *Facts) *result {
	share, from := f.throttling()
	if !(num(f.Quota) > 0 && num(f.Quota) < 1 && share >= minThrottled) || f.isAboveQuota() {
		return nil
	}
	res := &result{
		severity: finding.SeverityInfo,
		evidence: f.saw(quota, from),
		fix:      "a quota of one core if latency matters: one thread alone uses this one up before its period ends",
	}
	if procsHeld(f) == nil && num(f.Procs) > 1 && !f.callsNeedPs() {
		res.evidence = append(res.evidence, f.saw(gomaxprocs)...)
		res.fix = "GOMAXPROCS=1, as snug sets below one core, unless its goroutines block in system calls; " +
			"or a quota of one core"
		res.verify = f.bench("--gomaxprocs 1," + whole(num(f.Procs)))
	}
	if f.onRuntime() {
		res.fix, res.verify = firstRuntime, ""
	}
	return res
}

// throttledFit finds throttling that is not caused by GOMAXPROCS.
func throttledFit(f *Facts) *result {
	share, from := f.throttling()
	if !(share >= minThrottled && num(f.Procs) <= f.rounded()) {
		return nil
	}
	res := &result{
		severity: finding.SeverityInfo,
		evidence: f.saw(from, gomaxprocs, quota, used, overSized),
		fix:      "none that is certain: a larger quota if latency matters; fewer Ps throttle less and are often slower",
		verify:   f.bench("--gomaxprocs 1," + whole(num(f.Procs))),
	}
	switch {
	case f.onRuntime():
		res.fix, res.verify = firstRuntime, ""
	case num(f.Procs) == 1:
		res.verify = ""
	}
	return res
}
