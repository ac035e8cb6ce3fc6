// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"runtime"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/finding"
	"github.com/snug-go/snug/cmd/snug/internal/stats"
	"github.com/snug-go/snug/cmd/snug/internal/workload"
)

// collected fills in what a built-in workload's runtime counted.
func collected(run *finding.Run, gc workload.GC, procs int) {
	run.Procs = &procs
	run.GCs, run.STW, run.STWMax = &gc.Cycles, &gc.STW, &gc.STWMax
	run.GCCPU, run.PeakHeap = &gc.CPU, &gc.PeakHeap
}

// traced fills in what a program's GC trace said in the window: after is what
// was taken from it at the end, before what was taken at the start.
func traced(run *finding.Run, before, after *workload.Traced) {
	if before == nil || after == nil || before.Cycles+after.Cycles == 0 {
		return // not a Go program, or one that has not collected yet
	}
	procs := after.Procs
	if procs == 0 {
		procs = before.Procs
	}
	run.Procs = &procs
	run.GCs, run.STW, run.STWMax = &after.Cycles, &after.STW, &after.STWMax
	if after.Cycles > 0 {
		run.PeakHeap = &after.PeakHeap
	}
}

// stall sums a probe up.
func stall(p workload.Probe, quota float64, periodMicros int64) *finding.Stall {
	if periodMicros == 0 {
		periodMicros = 100_000
	}
	period := time.Duration(periodMicros) * time.Microsecond
	s := &finding.Stall{
		Threads: p.Threads, Quota: quota, Period: period.Seconds(), Span: p.Seconds,
		Law:  experiment.StallLaw(quota, p.Threads, runtime.NumCPU(), period).Seconds(),
		Gaps: p.Gaps,
	}
	if len(p.Worst) > 0 {
		m, x := stats.Median(p.Worst), slices.Max(p.Worst)
		s.Median, s.Max = &m, &x
	}
	return s
}
