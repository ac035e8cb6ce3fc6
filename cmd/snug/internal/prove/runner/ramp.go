// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"context"
	"path"
	"strconv"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/prove/experiment"
	"github.com/snug-go/snug/cmd/snug/internal/prove/load"
	"github.com/snug-go/snug/cmd/snug/internal/prove/workload"
	"github.com/snug-go/snug/cmd/snug/internal/report/finding"
	"github.com/snug-go/snug/cmd/snug/internal/report/units"
)

// reading is one look at the program in a window that is counted in slices.
type reading struct {
	counters
	resident *int64 // the program's resident set, in bytes
}

// course reads the counters of a program at the end of each slice of a window. Nil reads nothing.
type course struct {
	ramp     finding.Ramp // or the same number of users all the time
	slices   int
	p        *process  // nil = only the load generator's figures are known
	readings []reading // one for each slice but the last
	resident *int64    // at the end of the last
	stop     context.CancelFunc
	ended    chan struct{}
}

// follow begins to read, if the load is a ramp or the window is counted in slices. The window begins now.
func (r *Runner) follow(ctx context.Context, arm finding.Arm, p *process) *course {
	c := &course{p: p, slices: r.Slices, ended: make(chan struct{})}
	ramp, ok := finding.ParseRamp(arm.Load)
	switch {
	case ok:
		c.ramp, c.slices = ramp, ramp.Slices()
	case r.Slices > 0 && r.Load == "" && !experiment.OpenLoop(arm):
		users, ok := Users(arm.Load)
		if !ok {
			users = Connections
		}
		c.ramp = finding.Ramp{From: users, To: users, Over: r.Window}
	default:
		return nil
	}
	ctx, c.stop = context.WithCancel(ctx)
	began := time.Now()
	go func() {
		defer close(c.ended)
		for i := 1; i < c.slices && p != nil; i++ {
			pause(ctx, time.Until(began.Add(c.ramp.Over*time.Duration(i)/time.Duration(c.slices))))
			if ctx.Err() != nil {
				return
			}
			c.readings = append(c.readings, c.read())
		}
	}()
	return c
}

func (c *course) read() reading { return reading{readCounters(c.p), c.p.resident()} }

// resident returns the program's resident set in bytes; nil if it is unknown.
func (p *process) resident() *int64 {
	if n := kibibytes(read(path.Join("/proc", strconv.Itoa(p.child.PID()), "status")), "VmRSS:"); n > 0 {
		return &n
	}
	return nil
}

// end stops reading. It may be called more than once.
func (c *course) end() {
	if c == nil {
		return
	}
	c.stop()
	<-c.ended
	if c.resident == nil && c.p != nil {
		c.resident = c.p.resident()
	}
}

// slicesOf returns the slices that snug's load generator counted.
func slicesOf(d driver) []load.Slice {
	if g, ok := d.(*generatorDriver); ok {
		return g.res.Slices
	}
	return nil
}

// record adds the course to a run, if it is one.
func (c *course) record(run *finding.Run, a, b counters, slices []load.Slice) {
	if c != nil {
		run.Timeline = c.timeline(a, b, slices)
	}
}

// traced adds the GC traces that the readings took to the last one. Without readings it returns that.
func (c *course) traced(last *workload.Traced) *workload.Traced {
	if c == nil || last == nil {
		return last
	}
	sum := workload.Traced{}
	for _, r := range c.readings {
		sum = sum.Plus(*r.trace)
	}
	sum = sum.Plus(*last)
	return &sum
}

// timeline returns the course of a run. a and b are the counters before and after the window; without
// program they are not used.
func (c *course) timeline(a, b counters, slices []load.Slice) *finding.Timeline {
	n := c.slices
	t := &finding.Timeline{Step: c.ramp.Over.Seconds() / float64(n)}
	for i := range n {
		t.Users = append(t.Users, units.RoundTo(c.ramp.Users((float64(i)+0.5)/float64(n)), 6))
		var s load.Slice
		if i < len(slices) {
			s = slices[i]
		}
		t.RPS = append(t.RPS, float64(s.Ops)/t.Step)
		t.P50, t.P95, t.Errors = append(t.P50, s.P50), append(t.P95, s.P95), append(t.Errors, s.Errors)
	}
	before := a
	for i := range n {
		var now reading
		switch {
		case i < len(c.readings):
			now = c.readings[i]
		case i == n-1 && len(c.readings) == n-1 && c.p != nil:
			now = reading{b, c.resident}
		}
		counted(t, before, now)
		before = now.counters
	}
	return t
}

// counted adds what was counted between two readings. A reading that is missing is unknown.
func counted(t *finding.Timeline, a counters, b reading) {
	var throttled, cpu, gc *float64
	periods, held := since(a.usage.Periods, b.usage.Periods), since(a.usage.ThrottledPeriods, b.usage.ThrottledPeriods)
	if periods != nil && held != nil {
		throttled = new(0.0)
		if *periods > 0 {
			*throttled = float64(*held) / float64(*periods)
		}
	}
	took := b.machine.at.Sub(a.machine.at).Seconds()
	if d := sinceTime(a.usage.CPUTime, b.usage.CPUTime); d != nil && took > 0 {
		cpu = new(*d / took)
	}
	var cycles *uint64
	if b.trace != nil && !b.trace.Mixed {
		cycles = new(b.trace.Cycles + b.trace.Missed)
		if b.trace.Missed == 0 {
			gc = &b.trace.CPU
		}
	}
	t.Throttled, t.CPU = append(t.Throttled, throttled), append(t.CPU, cpu)
	t.GCs, t.GCCPU, t.Resident = append(t.GCs, cycles), append(t.GCCPU, gc), append(t.Resident, b.resident)
}
