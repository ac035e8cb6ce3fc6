// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// tick is the interval of an open loop; several operations are due at each tick.
	tick    = 2 * time.Millisecond
	workers = 4
)

// open is an open loop: operations are due whether or not the earlier ones have ended, and late
// operations stay in the queue.
type open struct {
	began time.Time
	ticks int64        // total
	next  atomic.Int64 // next tick
	ops   atomic.Int64 // completed
	queue atomic.Int64 // longest queue, in ticks
	late  []int32      // microseconds from the due time of a tick to its end; 0 = never done
}

// run calls op at a rate per second until the time is over.
func (o *open) run(rate float64, length time.Duration, op func()) {
	o.began, o.ticks = time.Now(), int64(length/tick)
	o.late = make([]int32, o.ticks)
	perTick := rate * tick.Seconds()
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for {
				i := o.next.Add(1) - 1
				due := o.began.Add(time.Duration(i) * tick)
				if i >= o.ticks || time.Since(o.began) > length {
					return
				}
				time.Sleep(time.Until(due))
				behind := int64(time.Since(due) / tick)
				for old := o.queue.Load(); behind > old && !o.queue.CompareAndSwap(old, behind); old = o.queue.Load() {
				}
				n := int64(float64(i+1)*perTick) - int64(float64(i)*perTick)
				for range n {
					op()
				}
				o.ops.Add(n)
				o.late[i] = int32(max(1, time.Since(due).Microseconds()))
			}
		})
	}
	all.Wait()
}

// closed calls op from a number of workers as fast as possible, until the time is over or, if ops
// is not 0, that many are done.
func closed(workers int, began time.Time, length time.Duration, ops int64, done *atomic.Int64, op func()) {
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			for time.Since(began) < length && (ops == 0 || done.Load() < ops) {
				op()
				done.Add(1)
			}
		})
	}
	all.Wait()
}

// lateness returns the 99th percentile of ticks in seconds. Ticks that were never done count as the
// longest.
func (o *open) lateness() float64 {
	all := slices.Clone(o.late)
	longest := int32(0)
	for _, l := range all {
		longest = max(longest, l)
	}
	for i, l := range all {
		if l == 0 {
			all[i] = longest
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return float64(all[len(all)*99/100]) / 1e6
}
