// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// defaultPeriod is the kernel's default period of a quota.
const defaultPeriod = 100 * time.Millisecond

// cannot returns what this number of CPUs, or these loads, cannot show.
func cannot(cells []finding.Cell, machineCPUs int) []finding.Unshown {
	out := manyThreads(cells, machineCPUs)
	var idle, shared []float64
	open, saturated, users := false, false, false
	for _, c := range cells {
		if c.Quota >= float64(machineCPUs) {
			idle = append(idle, c.Quota)
		}
		if openLoop(&c) {
			open = true
			if c.Quota == 0 || float64(machineCPUs)-math.Ceil(c.Quota) < 1 {
				shared = append(shared, c.Quota)
			}
		}
		saturated = saturated || c.Load == "saturated"
		_, ramp := finding.ParseRamp(c.Load)
		users = users || ramp || strings.HasSuffix(c.Load, " users") || c.Loop() == finding.LoopClosed &&
			(c.P50 != nil || c.P95 != nil || c.P99 != nil)
	}
	for _, u := range []finding.Unshown{{Code: finding.UnshownThrottle, Quotas: idle},
		{Code: finding.UnshownGenerator, Quotas: shared}} {
		if len(u.Quotas) > 0 {
			slices.Sort(u.Quotas)
			u.CPUs, u.Quotas = machineCPUs, slices.Compact(u.Quotas)
			out = append(out, u)
		}
	}
	switch {
	case open:
	case users:
		out = append(out, finding.Unshown{Code: finding.UnshownOmission})
	case saturated:
		out = append(out, finding.Unshown{Code: finding.UnshownTails})
	}
	return out
}

// manyThreads returns the stalls that the stall law gives for more threads than CPUs.
func manyThreads(cells []finding.Cell, machineCPUs int) []finding.Unshown {
	var threads []int
	quota, period := math.Inf(1), defaultPeriod
	for _, c := range cells {
		n, _ := strconv.Atoi(c.GOMAXPROCS)
		if c.Procs != nil {
			n = *c.Procs
		}
		q := c.Quota / float64(max(1, c.Replicas)) // of one container
		if n <= machineCPUs || q <= 0 || q >= float64(n) {
			continue
		}
		if q < quota {
			quota, threads = q, nil
		}
		if q == quota && !slices.Contains(threads, n) {
			threads = append(threads, n)
		}
		for _, r := range c.Rounds {
			if r.Confined.PeriodMicros > 0 {
				period = time.Duration(r.Confined.PeriodMicros) * time.Microsecond
			}
		}
	}
	if len(threads) == 0 {
		return nil
	}
	slices.Sort(threads)
	u := finding.Unshown{Code: finding.UnshownStalls, CPUs: machineCPUs, Quotas: []float64{quota}}
	for _, n := range threads {
		u.Stalls = append(u.Stalls, finding.StallOf{Threads: n, Seconds: StallLaw(quota, n, n, period).Seconds()})
	}
	return []finding.Unshown{u}
}
