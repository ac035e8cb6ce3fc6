// SPDX-License-Identifier: Apache-2.0

package experiment

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// defaultPeriod is the kernel's period of a quota.
const defaultPeriod = 100 * time.Millisecond

// cannot is what a machine with so few CPUs, or this choice of loads, cannot
// show, one sentence each.
func cannot(cells []finding.Cell, machineCPUs int) []string {
	out := []string{}
	if s := manyThreads(cells, machineCPUs); s != "" {
		out = append(out, s)
	}
	var idle, shared []float64
	open, saturated, users := false, false, false
	for _, c := range cells {
		if c.Quota >= float64(machineCPUs) {
			idle = append(idle, c.Quota)
		}
		if OpenLoop(c.Arm) {
			open = true
			if c.Quota == 0 || float64(machineCPUs)-math.Ceil(c.Quota) < 1 {
				shared = append(shared, c.Quota)
			}
		}
		saturated = saturated || c.Load == "saturated"
		users = users || strings.HasSuffix(c.Load, " users")
	}
	if len(idle) > 0 {
		out = append(out, fmt.Sprintf("%s here: a quota of %s cannot throttle", units.CPUs(float64(machineCPUs)), quotas(idle)))
	}
	if len(shared) > 0 {
		out = append(out, fmt.Sprintf("%s here: with %s the load generator has no CPU of its own, and latencies include its waits",
			units.CPUs(float64(machineCPUs)), quotas(shared)))
	}
	switch {
	case open:
	case users:
		out = append(out, "users wait for an answer before they ask again, so a stall is met by few requests: "+
			"latencies of a closed loop hide it (coordinated omission), --load 80% shows it")
	case saturated:
		use := "--full"
		if w := cells[0].Workload; w == "command" || w == "url" {
			use = "--load 80%"
		}
		out = append(out, "tail latency was not measured here, use "+use)
	}
	return out
}

// manyThreads says what the stall law holds for more threads than CPUs.
func manyThreads(cells []finding.Cell, machineCPUs int) string {
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
		return ""
	}
	slices.Sort(threads)
	var says []string
	for _, n := range threads {
		says = append(says, fmt.Sprintf("%s ms for N=%d", units.Two(millis(StallLaw(quota, n, n, period))), n))
	}
	return fmt.Sprintf("%s here: stalls of N>%d threads cannot be shown; the law T(1-q/N) says %s at a quota of %s",
		units.CPUs(float64(machineCPUs)), machineCPUs, units.List(says), units.CPUs(quota))
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// quotas lists them once each, in order.
func quotas(x []float64) string {
	slices.Sort(x)
	var parts []string
	for _, q := range slices.Compact(x) {
		parts = append(parts, units.CPUs(q))
	}
	return units.ListBy(parts, "or")
}
