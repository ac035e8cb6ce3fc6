// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// tick is how often operations of an open loop are due, several at a time.
	tick = 2 * time.Millisecond
	// workers do them.
	workers = 4
)

// open is an open loop: operations are due whether or not the earlier ones are
// done, and what is late stays in the queue.
type open struct {
	began time.Time
	ticks int64        // in all
	next  atomic.Int64 // tick
	ops   atomic.Int64 // done
	queue atomic.Int64 // longest, in ticks
	late  []int32      // microseconds from when a tick was due to its end; 0: never done
}

// run does op at so many per second until the time is over.
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

// closed does op as fast as so many workers can, until the time is over or, where
// ops is not 0, so many are done.
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

// lateness is the 99th percentile of ticks, in seconds, those never done counting
// as the longest.
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
