// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// heap follows the heap of this process.
var heap heapPeak

// lookEvery is the shortest time between two looks at the heap.
const lookEvery = 10 * time.Millisecond

// heapPeak is the largest heap so far. The work itself samples it, by calling
// tick: a heap grows only while something runs, and a timer would wake a
// process that sleeps, which under a quota is not free.
//
// It sees /memory/classes/heap/objects:bytes, live objects and garbage not yet
// swept, at most every 10 ms and at each reading of Stats; so it misses at most
// what is allocated in 10 ms of work or between two ticks, whichever is longer,
// and after many cycles close to nothing. Where no cycle runs nothing is missed.
type heapPeak struct {
	next atomic.Int64 // when to look again, since started

	mu     sync.Mutex
	sample [1]metrics.Sample
	most   uint64
}

// tick looks at the heap when it is time to.
func (p *heapPeak) tick() {
	now := int64(time.Since(started))
	next := p.next.Load()
	if now < next || !p.next.CompareAndSwap(next, now+int64(lookEvery)) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.look()
}

func (p *heapPeak) look() uint64 {
	p.sample[0].Name = "/memory/classes/heap/objects:bytes"
	metrics.Read(p.sample[:])
	now := p.sample[0].Value.Uint64()
	p.most = max(p.most, now)
	return now
}

// take returns the peak and begins the next one, at the present heap.
func (p *heapPeak) take() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.look()
	most := p.most
	p.most = now
	return most
}
