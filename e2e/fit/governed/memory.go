// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// result is the last line of a load. The collector's share and cores are computed from the
// runtime's GC share of its own CPU time, times the CPU time counted by the kernel: the runtime's
// count alone is several times too high on shared CPUs.
type result struct {
	Load      string  `json:"load"`
	Seconds   float64 `json:"seconds"`
	Ops       int64   `json:"ops"`
	OpsRate   float64 `json:"ops_per_second"`
	CPUPerOp  float64 `json:"cpu_us_per_op"`
	Cores     float64 `json:"cores"`
	GCCores   float64 `json:"gc_cores"`
	GCShare   float64 `json:"gc_share"`
	Runtime   float64 `json:"gc_seconds_by_runtime"`
	Cycles    uint64  `json:"gc_cycles"`
	Peak      int64   `json:"peak_rss_bytes"`
	LivePeak  int64   `json:"live_peak_bytes"`   // largest live heap that the load held
	NonGoPeak int64   `json:"non_go_peak_bytes"` // largest non-Go memory that the load held
	Queue     int64   `json:"queue_max"`         // operations
	Late      float64 `json:"late_p99_seconds"`
	Limit     number  `json:"gomemlimit_bytes"` // at the end; null = off
	GOGC      int64   `json:"gogc"`             // at the end
	Procs     int     `json:"gomaxprocs"`
	Effective float64 `json:"effective_gogc"` // at the end
	*watched
}

// finish fills in the figures since a. It runs a last collection, because the runtime counts only
// up to the end of a collection.
func (r *result) finish(m *meter, a reading, wall float64) {
	counted := cpuTime() // without the last collection
	b := m.read()
	effective := b.effective()
	runtime.GC()
	end := m.read()
	r.Seconds = wall
	r.OpsRate = float64(r.Ops) / wall
	r.CPUPerOp = (counted - a.cpu) / float64(max(1, r.Ops)) * 1e6
	r.Cores = (counted - a.cpu) / wall
	if r.GCShare = share(a, end); math.IsNaN(r.GCShare) {
		r.GCShare = 0
	}
	r.GCCores = r.GCShare * r.Cores
	r.Runtime = end.gc - a.gc
	r.Cycles = b.cycles - a.cycles
	r.Peak = peak()
	r.Limit, r.GOGC, r.Procs, r.Effective = number(b.limit), b.gogc, runtime.GOMAXPROCS(0), effective
	r.watched = watch()
}

// demand is the memory and work of a load; memory is a share of the limit.
type demand struct {
	live, burst  float64
	nonGo        float64
	nonGoRate    int64 // bytes per second
	opsPerSecond float64
}

var demands = map[string]demand{
	"heavy": {burst: .04, nonGo: .15, nonGoRate: 40 << 20, opsPerSecond: 4000},
	"mild":  {burst: .02, nonGo: .04, nonGoRate: 10 << 20, opsPerSecond: 6000},
}

const (
	garbage    = 8 << 10 // bytes per operation
	burstEvery = 5500 * time.Millisecond
	burstFor   = 500 * time.Millisecond
	nonGoHold  = 3 * time.Second
	nonGoPause = 2 * time.Second
)

// memory is a service with a live heap. Operations at a fixed rate make garbage. Now and then the
// heap is larger and there is more garbage for half a second. Memory outside of the Go runtime
// comes and goes.
func memory(args []string) error {
	f := newFlags("memory", 12.5)
	load := f.String("load", "heavy", "heavy, mild or own")
	live := f.Float64("live", .5, "live heap, as a share of the limit")
	rate := f.Float64("rate", 0, "operations per second (0: the rate of the load)")
	dir := f.String("dir", "", "directory of the file of own (default: the directory for temporary files)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *load == "own" {
		return own(f, *live, *rate, *dir)
	}
	d, ok := demands[*load]
	if !ok {
		return fmt.Errorf("unknown load, --load %s", *load)
	}
	d.live = *live
	if *rate > 0 {
		d.opsPerSecond = *rate
	}
	if err := govern(nil); err != nil {
		return err
	}
	var h heap
	h.grow(f.share(d.live))

	var size atomic.Int64 // garbage of an operation
	size.Store(garbage)
	var livePeak, nonGo, nonGoPeak atomic.Int64
	livePeak.Store(h.bytes())
	stop := make(chan struct{})
	var side sync.WaitGroup
	side.Go(func() {
		for every := time.NewTicker(burstEvery); ; {
			select {
			case <-stop:
				every.Stop()
				return
			case <-every.C:
			}
			size.Store(4 * garbage)
			more := heap{seed: 1}
			more.grow(f.share(d.burst))
			livePeak.Store(h.bytes() + more.bytes())
			select {
			case <-stop:
			case <-time.After(burstFor):
			}
			runtime.KeepAlive(more)
			size.Store(garbage)
		}
	})
	var failed error
	side.Go(func() { failed = comeAndGo(f.share(d.nonGo), d.nonGoRate, &nonGo, &nonGoPeak, stop) })

	m := newMeter()
	began := m.read()
	var o open
	untrace := tracer(began.at, o.ops.Load, func(s *sample) {
		s.LiveAsked, s.NonGo = h.bytes(), nonGo.Load()
		s.Queue = o.queue.Load()
	}, f.trace)
	o.run(d.opsPerSecond, f.duration(), func() { litter(int(size.Load())) })
	wall := time.Since(began.at).Seconds()
	untrace()
	close(stop)
	side.Wait()
	if failed != nil {
		return failed
	}
	r := result{
		Load: "memory " + *load, Ops: o.ops.Load(), LivePeak: livePeak.Load(), NonGoPeak: nonGoPeak.Load(),
		Queue: int64(float64(o.queue.Load()) * tick.Seconds() * d.opsPerSecond), Late: o.lateness(),
	}
	r.finish(m, began, wall)
	runtime.KeepAlive(&h)
	printJSON(r)
	return nil
}

// comeAndGo maps memory, touches it at a rate, holds it and unmaps it, repeatedly until stop.
func comeAndGo(bytes, perSecond int64, now, peak *atomic.Int64, stop <-chan struct{}) error {
	pause := func(d time.Duration) bool {
		select {
		case <-stop:
			return false
		case <-time.After(d):
			return true
		}
	}
	var f foreign
	defer f.drop()
	for {
		last := time.Now()
		for full := false; !full; {
			if !pause(10 * time.Millisecond) {
				return nil
			}
			var err error
			full, err = f.grow(bytes, perSecond, time.Since(last))
			if err != nil {
				return err
			}
			last = time.Now()
			now.Store(int64(f.touched))
			peak.Store(max(peak.Load(), int64(f.touched)))
		}
		if !pause(nonGoHold) {
			return nil
		}
		f.drop()
		now.Store(0)
		if !pause(nonGoPause) {
			return nil
		}
	}
}
