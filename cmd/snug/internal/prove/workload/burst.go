// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"sync"
	"time"
)

// bursts repeats a fan-out on an absolute schedule: a slow fan-out does not delay the
// next. The latency of a fan-out counts from when it was due until its last task is done.
//
// A fan-out that fits into the quota of one period is never throttled, with any number of
// Ps. By default it needs one and a half times what a quota of 1 gives in a period of 100
// ms, so that Ps and cpu.max.burst matter. It also needs three quarters of what the quota
// gives until the next fan-out, so that they do not queue up.
type bursts struct {
	work  time.Duration // approximate CPU time of a fan-out
	every time.Duration
	tasks int // goroutines of a fan-out
}

func (b *bursts) prepare() error { return nil }

func (b *bursts) warm(d time.Duration) error { return b.measure(d, &record{}) }

// measure starts the bursts due in d and waits for all of them, also the late ones:
// without those, it would leave out the slowest.
func (b *bursts) measure(d time.Duration, r *record) error {
	r.latency = new(latency)
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
		})
	}
	all.Wait()
	time.Sleep(time.Until(begin.Add(time.Duration(n) * b.every))) // the last period is part of the window
	r.ops = int64(n)
	return nil
}
