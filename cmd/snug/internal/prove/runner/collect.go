// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"runtime"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/stats"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// fetchStats reads the statistics of built-in services, one after the other.
func fetchStats(ctx context.Context, urls []string) ([]workload.Stats, error) {
	var all []workload.Stats
	for _, url := range urls {
		s, err := workload.FetchStats(ctx, url)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// between returns the sum of what the services' collectors did. The heaps need not peak
// at the same time, so PeakHeap is an upper bound.
func between(before, after []workload.Stats) (workload.GC, error) {
	var sum workload.GC
	for i := range before {
		gc, err := workload.Between(before[i], after[i])
		if err != nil {
			return sum, err
		}
		sum.Cycles += gc.Cycles
		sum.CPU += gc.CPU
		sum.STW += gc.STW
		sum.STWMax = max(sum.STWMax, gc.STWMax)
		sum.PeakHeap += gc.PeakHeap
	}
	return sum, nil
}

// collected fills in what the runtime of a built-in workload counted.
func collected(run *finding.Run, gc workload.GC, procs int) {
	run.Procs = &procs
	run.GCs, run.STW, run.STWMax = &gc.Cycles, &gc.STW, &gc.STWMax
	run.GCCPU, run.PeakHeap = &gc.CPU, &gc.PeakHeap
}

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
	cycles := after.Cycles + after.Missed
	run.GCs = &cycles
	if after.Missed > 0 {
		return // an unreadable line may be the one with the longest stop
	}
	run.STW, run.STWMax = &after.STW, &after.STWMax
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
