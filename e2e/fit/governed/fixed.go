// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// spiral grows the live heap from a share of the limit to all of it, during a closed loop of
// operations, and keeps it there unless the process is killed.
func spiral(args []string) error {
	f := newFlags("spiral", 30)
	from := f.Float64("from", .5, "live heap at the start, as a share of the limit")
	to := f.Float64("to", 1, "live heap at the end of the ramp, as a share of the limit")
	ramp := f.Duration("ramp", 20*time.Second, "duration of the ramp")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := govern(nil); err != nil {
		return err
	}
	h := heap{seed: 1}
	h.grow(f.share(*from))
	m := newMeter()
	began := m.read()
	var ops, live atomic.Int64
	live.Store(h.bytes())
	stop := make(chan struct{})
	var side sync.WaitGroup
	side.Go(func() {
		for every := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-stop:
				every.Stop()
				return
			case <-every.C:
			}
			part := min(1, time.Since(began.at).Seconds()/ramp.Seconds())
			h.grow(f.share(*from + (*to-*from)*part))
			live.Store(h.bytes())
		}
	})
	untrace := tracer(began.at, ops.Load, func(s *sample) { s.LiveAsked = live.Load() }, f.trace)
	closed(2, began.at, f.duration(), 0, &ops, func() {
		litter(garbage)
		spin(10) // about 0.1 ms: 75 MiB of garbage a second at 1 CPU
	})
	wall := time.Since(began.at).Seconds()
	untrace()
	close(stop)
	side.Wait()
	r := result{Load: "spiral", Ops: ops.Load(), LivePeak: h.bytes()}
	r.finish(m, began, wall)
	runtime.KeepAlive(&h)
	printJSON(r)
	return nil
}

// collect does a fixed number of operations with a live heap, so that the total CPU time includes
// the cost of the collector.
func collect(args []string) error {
	f := newFlags("gc", 120)
	live := bytesFlag(30 << 20)
	f.Var(&live, "live-bytes", "live heap")
	ops := f.Int64("ops", 300_000, "operations")
	workers := f.Int("workers", 1, "number of workers")
	settle := f.Duration("settle", 0, "work first until GOGC has not changed for this time, at most two minutes")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := govern(nil); err != nil {
		return err
	}
	h := heap{seed: 1}
	h.grow(int64(live))
	m := newMeter()
	settled := settled{until: m.read().at.Add(2 * time.Minute), still: *settle}
	for settled.since = m.read().at; !settled.at(m.read()); {
		var before atomic.Int64
		closed(*workers, time.Now(), time.Second, 0, &before, func() { litter(garbage) })
	}
	began := m.read()
	var done atomic.Int64
	untrace := tracer(began.at, done.Load, func(s *sample) { s.LiveAsked = h.bytes() }, f.trace)
	closed(*workers, began.at, f.duration(), *ops, &done, func() { litter(garbage) })
	wall := time.Since(began.at).Seconds()
	untrace()
	r := result{Load: "gc", Ops: done.Load(), LivePeak: h.bytes()}
	r.finish(m, began, wall)
	runtime.KeepAlive(&h)
	printJSON(r)
	return nil
}

// settled reports whether GOGC has not changed for a time.
type settled struct {
	still        time.Duration
	since, until time.Time
	gogc         int64
}

func (s *settled) at(r reading) bool {
	if r.gogc != s.gogc {
		s.gogc, s.since = r.gogc, r.at
	}
	return r.at.Sub(s.since) >= s.still || r.at.After(s.until)
}
