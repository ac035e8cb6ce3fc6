// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// stalls runs many workers that mostly wait in system calls and use CPU time in between: five
// sleeps in the kernel, which hold a P until the runtime notices, and a hash.
func stalls(args []string) error {
	f := newFlags("stalls", 20)
	workers := f.Int("workers", 128, "goroutines")
	sleep := f.Duration("sleep", 3*time.Millisecond, "duration of each system call")
	hash := f.Int("hash", 6, "KiB that each operation hashes ten times, about 7 µs per KiB")
	warm := f.Float64("warm", 10, "seconds before operations count")
	listen := f.String("listen", "", "serve HTTP at this address instead: one operation for each request")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := govern(nil); err != nil {
		return err
	}
	once := func() {
		for range 5 {
			nanosleep(int64(*sleep))
		}
		spin(*hash)
	}
	if *listen != "" {
		return http.ListenAndServe(*listen, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { once() }))
	}
	var ops atomic.Int64
	var stop atomic.Bool
	var all sync.WaitGroup
	for range *workers {
		all.Go(func() {
			for !stop.Load() {
				once()
				ops.Add(1)
			}
		})
	}
	time.Sleep(time.Duration(*warm * float64(time.Second)))
	m := newMeter()
	began, before := m.read(), ops.Load()
	time.Sleep(f.duration())
	r := result{Load: "stalls", Ops: ops.Load() - before}
	r.finish(m, began, time.Since(began.at).Seconds())
	stop.Store(true)
	all.Wait()
	printJSON(r)
	return nil
}
