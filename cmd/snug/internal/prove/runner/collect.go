// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"runtime"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// traced fills in what a program's GC trace reported in the window. before and after are
// what the readings at its start and its end took from the trace.
func traced(run *finding.Run, before, after *workload.Traced) {
	if before == nil || after == nil || before.Cycles+after.Cycles == 0 {
		return // not a Go program, or no collection yet
	}
	if before.Mixed || after.Mixed {
		return // children of the program wrote to it too
	}
	procs := after.Procs
	if procs == 0 {
		procs = before.Procs
	}
	run.Procs = &procs
	run.GCs = new(after.Cycles + after.Missed)
	if after.Missed > 0 {
		return // an unreadable line may be the one with the longest stop
	}
	run.STW, run.STWMax, run.GCCPU = &after.STW, &after.STWMax, &after.CPU
	if after.Cycles > 0 {
		run.PeakHeap = &after.PeakHeap
	}
}

// stall summarizes a probe. Median and Max are nil if no thread was throttled.
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
	if p.Max > 0 {
		s.Max = &p.Max
	}
	if m := stats.Median(p.Worst); m > 0 { // also false for NaN
		s.Median = &m
	}
	return s
}
