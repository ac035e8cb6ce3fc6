// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/cgrun"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
)

// processes are the programs of one run: one program, or its replicas.
type processes []*process

func (ps processes) remove() error {
	var errs []error
	for _, p := range ps {
		errs = append(errs, p.remove())
	}
	return errors.Join(errs...)
}

// cleanUp is for defer: it adds the errors of remove to the error of a run.
func (ps processes) cleanUp(err *error) { *err = errors.Join(*err, ps.remove()) }

// ended reports whether any of them has ended.
func (ps processes) ended() bool {
	for _, p := range ps {
		if p.ended() {
			return true
		}
	}
	return false
}

// whileAlive returns a context that also ends when one of them does: there is no use in
// loading a dead service for the rest of an hour's window.
func (ps processes) whileAlive(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	for _, p := range ps {
		go func() {
			select {
			case <-p.exited:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

// died turns the end of a program during a run into a result if it is one: an OOM kill is
// a result of the setting. Any other end is an error that ends the experiment. If no
// program has ended, died returns err.
func (ps processes) died(ctx context.Context, run *finding.Run, when string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	ps.awaitEnd(ctx) // a failed request may be the first sign
	for _, p := range ps {
		if !p.ended() {
			continue
		}
		if !p.oomKilled() {
			return p.crashed(ctx, when)
		}
		u := p.child.Usage()
		run.OOMKills, run.Peak = u.OOMKills, u.MemoryPeakBytes
		run.Exit = killed(run.Arm) + " " + when
		run.Errors++
		run.Error = firstOf(run.Error, run.Exit)
		return nil
	}
	return err
}

// awaitEnd waits for the end of a program that may be ending. After an OOM kill that can
// take some periods: it needs CPU time of its quota for it.
func (ps processes) awaitEnd(ctx context.Context) {
	for start := time.Now(); !ps.ended() && ctx.Err() == nil; pause(ctx, 10*time.Millisecond) {
		limit := 200 * time.Millisecond
		if slices.ContainsFunc(ps, (*process).oomKilled) {
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
	usage   cgrun.Usage      // the sum over all programs; the pressure is the mean
	trace   *workload.Traced // of the first program, since the last reading
}

func readCounters(ps processes) counters {
	c := counters{}
	for i, p := range ps {
		u := p.child.Usage()
		if i == 0 {
			c.usage, c.trace = u, p.err.trace()
			continue
		}
		add(&c.usage.Periods, u.Periods)
		add(&c.usage.ThrottledPeriods, u.ThrottledPeriods)
		add(&c.usage.ThrottledTime, u.ThrottledTime)
		add(&c.usage.CPUTime, u.CPUTime)
		add(&c.usage.Bursts, u.Bursts)
		add(&c.usage.MemoryPeakBytes, u.MemoryPeakBytes)
		add(&c.usage.OOMKills, u.OOMKills)
		add(&c.usage.Pressure, u.Pressure)
	}
	if c.usage.Pressure != nil {
		mean := *c.usage.Pressure / time.Duration(len(ps))
		c.usage.Pressure = &mean
	}
	c.machine = readMachine()
	return c
}

// add sums two counters; a sum with an unknown part is unknown.
func add[T uint64 | int64 | time.Duration](to **T, n *T) {
	if *to == nil || n == nil {
		*to = nil
		return
	}
	sum := **to + *n
	*to = &sum
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
		share := *d / b.machine.at.Sub(a.machine.at).Seconds()
		run.Pressure = &share
	}
	run.Peak, run.OOMKills = b.usage.MemoryPeakBytes, b.usage.OOMKills
	var own *float64
	if run.CPU != nil && generator != nil {
		sum := *run.CPU + *generator
		own = &sum
	}
	run.Noise = noise(a.machine, b.machine, own)
	perOp(run)
}

func perOp(run *finding.Run) {
	if run.CPU != nil && run.Ops > 0 {
		x := *run.CPU / float64(run.Ops)
		run.CPUPerOp = &x
	}
}

func since(a, b *uint64) *uint64 {
	if a == nil || b == nil || *b < *a {
		return nil
	}
	d := *b - *a
	return &d
}

func sinceTime(a, b *time.Duration) *float64 {
	if a == nil || b == nil {
		return nil
	}
	d := (*b - *a).Seconds()
	return &d
}
