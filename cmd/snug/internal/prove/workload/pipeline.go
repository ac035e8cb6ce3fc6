// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

var errNoBlocking = errors.New("blocking system calls are made on Linux only")

// pipeline has sources that block in system calls of 1 to 5 ms, like reads from a disk,
// and pass one item each to a stage that uses CPU. The runtime does not know how long a
// call takes: sysmon retakes the P some 20 µs to 10 ms later (runtime.retake), so with
// fewer Ps a larger part of them is blocked.
type pipeline struct{ sources int }

// stageWork is the CPU time of an item: with 16 sources, 3 ms each on average, 5,200
// items/s need about 0.7 CPUs.
const stageWork = 100 * time.Microsecond

func (p *pipeline) prepare() error { return block(time.Microsecond) }

func (p *pipeline) warm(d time.Duration) error { return p.measure(d, &record{}) }

func (p *pipeline) measure(d time.Duration, r *record) error {
	r.latency = new(latency)
	items := make(chan time.Time)
	begin := time.Now()

	var sources, stage sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for i := range p.sources {
		sources.Go(func() {
			lengths := rand.New(rand.NewPCG(1, uint64(i))) // the same in each run
			for time.Since(begin) < d {
				start := time.Now()
				if err := block(time.Millisecond + time.Duration(lengths.Int64N(int64(4*time.Millisecond)))); err != nil {
					mu.Lock()
					failed = err
					mu.Unlock()
					return
				}
				items <- start
			}
		})
	}
	for range runtime.GOMAXPROCS(0) {
		stage.Go(func() {
			var n int64
			for start := range items {
				use(mix(uint64(start.UnixNano()), turns(stageWork)))
				r.latency.add(time.Since(start))
				n++
			}
			mu.Lock()
			r.ops += n
			mu.Unlock()
		})
	}
	sources.Wait()
	close(items)
	stage.Wait()
	return failed
}
