// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sync"
	"time"
)

// bursts does a fan-out again and again, on an absolute schedule: one that takes
// longer does not delay the next. A fan-out's latency counts from when it was
// due until its last task is done.
//
// A fan-out that fits into the quota of one period is never throttled, however
// many Ps do it. The defaults need one and a half times what a quota of 1 gives
// in a period of 100 ms, so that Ps and cpu.max.burst matter there, and three
// quarters of what it gives from one fan-out to the next, so that none piles up.
type bursts struct {
	work  time.Duration // CPU time of a fan-out, about
	every time.Duration
	tasks int // goroutines of a fan-out
}

func (b *bursts) prepare() error { return nil }

func (b *bursts) warm(d time.Duration) error { return b.measure(d, &record{}) }

// measure starts the bursts due in d and waits for all of them, the late ones
// included: leaving out who is not ready would leave out the slowest.
func (b *bursts) measure(d time.Duration, r *record) error {
	r.latency = newLatency()
	n := max(int(d/b.every), 1)
	each := turns(b.work) / b.tasks
	var all sync.WaitGroup
	begin := time.Now()
	for i := range n {
		due := begin.Add(time.Duration(i) * b.every)
		time.Sleep(time.Until(due))
		all.Go(func() {
			var fan sync.WaitGroup
			for k := range b.tasks {
				fan.Go(func() { use(mix(uint64(k+1), each)) })
			}
			fan.Wait()
			r.latency.add(time.Since(due))
			heap.tick()
		})
	}
	all.Wait()
	time.Sleep(time.Until(begin.Add(time.Duration(n) * b.every))) // the last period is part of the window
	r.ops = int64(n)
	return nil
}
