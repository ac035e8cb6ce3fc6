// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// crowd is a service that fans out each request into many short goroutines. Clients send a request,
// wait for all parts of the answer, pause for a moment, and repeat.
func crowd(args []string) error {
	f := newFlags("crowd", 30)
	clients := f.Int("clients", 16, "number of concurrent clients")
	parts := f.Int("parts", 16, "goroutines per request")
	hash := f.Int("hash", 1, "KiB that each goroutine hashes ten times, about 7 µs per KiB")
	pause := f.Duration("pause", 2*time.Millisecond, "mean pause of a client between two requests")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := govern(nil); err != nil {
		return err
	}
	m := newMeter()
	began := m.read()
	end := began.at.Add(f.duration())
	var ops atomic.Int64
	var all sync.WaitGroup
	for i := range *clients {
		all.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 1))
			for time.Now().Before(end) {
				answers := make(chan []item, *parts)
				for range *parts {
					draw := r.Uint64()
					go func() {
						items := list(rand.New(rand.NewPCG(draw, 2)), 3)
						spin(*hash)
						answers <- items
					}()
				}
				for range *parts {
					runtime.KeepAlive(<-answers)
				}
				ops.Add(int64(*parts))
				time.Sleep(time.Duration(r.ExpFloat64() * float64(*pause)))
			}
		})
	}
	all.Wait()
	wall := time.Since(began.at).Seconds()
	r := result{Load: "crowd", Ops: ops.Load()}
	r.finish(m, began, wall)
	printJSON(r)
	return nil
}
