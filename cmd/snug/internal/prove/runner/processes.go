// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// cleanUp is for defer: it adds the error of remove to the error of a run.
func (p *process) cleanUp(err *error) { *err = errors.Join(*err, p.remove()) }

// whileAlive returns a context that also ends when the program does: there is no use in
// loading a dead service for the rest of an hour's window.
func (p *process) whileAlive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-p.exited:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// died turns the end of the program during a run into a result if it is one: an OOM kill is
// a result of the setting. Any other end is an error that ends the experiment. If the
// program has not ended, died returns err.
func (p *process) died(ctx context.Context, run *finding.Run, when string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	p.awaitEnd(ctx) // a failed request may be the first sign
	switch {
	case !p.ended():
		return err
	case !p.oomKilled():
		return p.crashed(ctx, when)
	}
	u := p.child.Usage()
	run.OOMKills, run.Peak = u.OOMKills, u.MemoryPeakBytes
	run.Exit = killed(run.Arm) + " " + when
	run.Errors++
	run.Error = cmp.Or(run.Error, run.Exit)
	return nil
}

// awaitEnd waits for the end of a program that may be ending. After an OOM kill that can
// take some periods: it needs CPU time of its quota for it.
func (p *process) awaitEnd(ctx context.Context) {
	for start := time.Now(); !p.ended() && ctx.Err() == nil; pause(ctx, 10*time.Millisecond) {
		limit := 200 * time.Millisecond
		if p.oomKilled() {
			limit = 5 * time.Second
		}
		if time.Since(start) > limit {
			return
		}
	}
}

// killed returns the Exit text of an OOM-killed program, with the limit if the arm sets none.
func killed(arm finding.Arm) string {
	if arm.Memory == 0 {
		return "OOM-killed (with no memory limit set, the limit is 80 % of what the machine had free)"
	}
	return "OOM-killed"
}

// counters are the readings before and after a window.
type counters struct {
	machine machineTime
	usage   cgrun.Usage
	trace   *workload.Traced // since the last reading
}

func readCounters(p *process) counters {
	return counters{usage: p.child.Usage(), trace: p.err.trace(), machine: readMachine()}
}

// account fills in what the kernel counted between two readings. generator is the load
// generator's CPU time, in seconds; nil is unknown.
func account(run *finding.Run, a, b counters, generator *float64) {
	run.Periods = since(a.usage.Periods, b.usage.Periods)
	run.ThrottledPeriods = since(a.usage.ThrottledPeriods, b.usage.ThrottledPeriods)
	run.Bursts = since(a.usage.Bursts, b.usage.Bursts)
	run.ThrottledSeconds = sinceTime(a.usage.ThrottledTime, b.usage.ThrottledTime)
	run.CPU = sinceTime(a.usage.CPUTime, b.usage.CPUTime)
	if d := sinceTime(a.usage.Pressure, b.usage.Pressure); d != nil {
		run.Pressure = new(*d / b.machine.at.Sub(a.machine.at).Seconds())
	}
	run.Peak, run.OOMKills = b.usage.MemoryPeakBytes, b.usage.OOMKills
	var own *float64
	if run.CPU != nil && generator != nil {
		own = new(*run.CPU + *generator)
	}
	run.Noise = noise(a.machine, b.machine, own)
	perOp(run)
}

func perOp(run *finding.Run) {
	if run.CPU != nil && run.Ops > 0 {
		run.CPUPerOp = new(*run.CPU / float64(run.Ops))
	}
}

func since(a, b *uint64) *uint64 {
	if a == nil || b == nil || *b < *a {
		return nil
	}
	return new(*b - *a)
}

func sinceTime(a, b *time.Duration) *float64 {
	if a == nil || b == nil {
		return nil
	}
	return new((*b - *a).Seconds())
}
