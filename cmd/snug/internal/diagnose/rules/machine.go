// SPDX-License-Identifier: Apache-2.0

package rules

import "github.com/snug-go/snug/cmd/snug/internal/report/finding"

func crashQuota(f *Facts) *hit {
	if num(f.Crashes) != 1 || f.Minor < 25 || f.Minor > 27 || f.Aware != nil && !*f.Aware || f.isPinned() {
		return nil
	}
	h := &hit{
		severity: finding.SeverityError,
		evidence: f.saw(crashes),
		fix:      "a quota without a limit written as max (v2) or -1 (v1)",
	}
	n := num(f.CPUs)
	if f.quotaBinds() {
		n = f.rounded()
	}
	if n >= 1 {
		h.fix = "GOMAXPROCS=" + whole(n) + " in the environment, or " + h.fix
	}
	return h
}

// waitShare of the time that threads ran, they also waited for a CPU; and waitLeast
// of them on average: next to nothing waits often and briefly.
const (
	waitShare = 0.5
	waitLeast = 0.25
	// idleMost of the CPUs' time is nobody's where others take it: the kernel does not
	// always wake a thread on the CPU that is free.
	idleMost = 0.15
)

// neighbours: threads wait for a CPU although neither the quota nor the number of
// Ps makes them.
func neighbours(f *Facts) *hit {
	if !(num(f.KernelWait) >= waitLeast && num(f.KernelWait) > waitShare*num(f.Used) && num(f.Procs) <= num(f.CPUs) && num(f.Used) < 0.8*num(f.Cores)) {
		return nil
	}
	if !(num(f.Idle) <= idleMost) || !f.Quota.Read() || num(f.Quota) > 0 && !(num(f.Throttled) < 0.05) {
		return nil
	}
	return &hit{
		severity: finding.SeverityWarning,
		evidence: f.saw(kernelWait, used, idle, throttled),
		fix:      "raise the CPU request (cpu.weight, cpu.shares), or move something else off this machine",
	}
}

func subCoreQuota(f *Facts) *hit {
	if !(num(f.Quota) > 0 && num(f.Quota) < 1 && num(f.Throttled) >= someThrottled) {
		return nil
	}
	return &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(quota, throttled),
		fix:      "none is certain: one thread alone can use the quota up before its period ends; measure GOMAXPROCS=1 and a quota of 1",
		verify:   f.bench("--gomaxprocs 1,2"),
	}
}

// throttledFit says of a GOMAXPROCS that fits that throttling is no fault of it.
func throttledFit(f *Facts) *hit {
	if !(num(f.Throttled) >= someThrottled && num(f.Procs) <= f.rounded()) {
		return nil
	}
	h := &hit{
		severity: finding.SeverityInfo,
		evidence: f.saw(throttled, gomaxprocs, quota, used, overSized),
		fix:      "none that is certain: a larger quota if latency matters; fewer Ps throttle less and are often slower",
		verify:   f.bench("--gomaxprocs 1," + whole(num(f.Procs))),
	}
	if num(f.Procs) == 1 {
		h.verify = ""
	}
	return h
}
