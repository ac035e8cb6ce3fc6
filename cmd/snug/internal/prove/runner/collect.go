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

// fetchStats reads what built-in services know about themselves, one after the
// other.
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

// between is what the collectors of all services did together. Their heaps need
// not have been largest at one time: PeakHeap is at most so much.
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
	if before.Mixed || after.Mixed {
		return // the program's children wrote, too: whose is what?
	}
	procs := after.Procs
	if procs == 0 {
		procs = before.Procs
	}
	run.Procs = &procs
	cycles := after.Cycles + after.Missed
	run.GCs = &cycles
	if after.Missed > 0 {
		return // a line that could not be read may have been that of the longest stop
	}
	run.STW, run.STWMax = &after.STW, &after.STWMax
	if after.Cycles > 0 {
		run.PeakHeap = &after.PeakHeap
	}
}

// stall sums a probe up. Median and Max are nil where no thread was held back.
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
	if m := stats.Median(p.Worst); m > 0 { // not NaN, either
		s.Median = &m
	}
	return s
}
