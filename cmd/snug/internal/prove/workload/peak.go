// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

// heap tracks the heap of this process.
var heap heapPeak

// sampleEvery is the minimum time between two samples of the heap.
const sampleEvery = 10 * time.Millisecond

// heapPeak is the largest heap so far. The work samples it by calling tick: a heap grows
// only while something runs, and a timer would wake an idle process, which costs CPU
// under a quota.
//
// It reads /memory/classes/heap/objects:bytes, live objects and garbage not yet swept, at
// most every 10 ms and at each reading of Stats. So it misses at most what is allocated
// in 10 ms of work or between two ticks, whichever is longer; over many cycles it misses
// almost nothing, and without a cycle nothing.
type heapPeak struct {
	next atomic.Int64 // time of the next sample, since started

	mu     sync.Mutex
	sample [1]metrics.Sample
	peak   uint64
}

// tick samples the heap if a sample is due.
func (p *heapPeak) tick() {
	now := int64(time.Since(started))
	next := p.next.Load()
	if now < next || !p.next.CompareAndSwap(next, now+int64(sampleEvery)) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read()
}

func (p *heapPeak) read() uint64 {
	p.sample[0].Name = "/memory/classes/heap/objects:bytes"
	metrics.Read(p.sample[:])
	now := p.sample[0].Value.Uint64()
	p.peak = max(p.peak, now)
	return now
}

// take returns the peak and starts the next one, at the present heap.
func (p *heapPeak) take() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.read()
	peak := p.peak
	p.peak = now
	return peak
}
