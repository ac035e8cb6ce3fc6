// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"context"
	"crypto/sha256"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/snug-go/snug/limiter"
)

// gate bounds how many tasks run at once.
type gate interface {
	enter()
	leave()
	size() int
}

// semaphore is a gate of constant size.
type semaphore chan struct{}

func (s semaphore) enter()    { s <- struct{}{} }
func (s semaphore) leave()    { <-s }
func (s semaphore) size() int { return cap(s) }

func byNumCPU() gate { return make(semaphore, runtime.NumCPU()) }
func byProcs() gate  { return make(semaphore, runtime.GOMAXPROCS(0)) }

type limited struct{ *limiter.Limiter }

func (l limited) enter() {
	if err := l.Acquire(context.Background()); err != nil {
		panic(err) // this context never ends
	}
}
func (l limited) leave()    { l.Release() }
func (l limited) size() int { return l.Size() }

func byLimiter() gate { return limited{limiter.NewProcs(1)} }

// tasks runs n small tasks, each in a goroutine of its own.
type tasks struct {
	gate func() gate // called for each run
	n    int
}

func (t *tasks) prepare() error { return nil }

func (t *tasks) warm(d time.Duration) error {
	for begin := time.Now(); ; {
		if err := t.run(min(t.n, 1000), &record{}); err != nil {
			return err
		}
		if time.Since(begin) >= d {
			return nil
		}
	}
}

func (t *tasks) measure(_ time.Duration, r *record) error { return t.run(t.n, r) }

func (t *tasks) run(n int, r *record) error {
	g := t.gate()
	stop := func() {}
	if l, ok := g.(limited); ok {
		stop = follow(l.Limiter)
	}
	defer stop()
	first := g.size()
	var done atomic.Int64
	var wg sync.WaitGroup
	for i := range n {
		g.enter()
		wg.Go(func() {
			defer g.leave()
			if task(byte(i)) {
				done.Add(1)
			}
		})
	}
	wg.Wait()
	r.ops = done.Load()
	r.counts = map[string]int64{"permits_first": int64(first), "permits_last": int64(g.size())}
	if r.ops != int64(n) {
		return fmt.Errorf("%d of %d tasks were done", r.ops, n)
	}
	return nil
}

// follow updates l from GOMAXPROCS, as often as the runtime checks the quota, until stop
// is called.
func follow(l *limiter.Limiter) (stop func()) {
	end := make(chan struct{})
	ticker := time.NewTicker(time.Second)
	go func() {
		for {
			select {
			case <-ticker.C:
				l.Refresh()
			case <-end:
				return
			}
		}
	}()
	return func() {
		ticker.Stop()
		close(end)
	}
}

// task allocates a kilobyte, fills it and hashes it: about 1 µs of CPU. It reports
// whether it did.
func task(seed byte) bool {
	b := make([]byte, 1024)
	for i := range b {
		b[i] = seed + byte(i)
	}
	return sha256.Sum256(b) != [sha256.Size]byte{}
}
