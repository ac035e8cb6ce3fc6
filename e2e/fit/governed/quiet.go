// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"sync"
	"time"
)

// quiet does almost nothing, so that its CPU time is that of the watcher: a live heap, blocked
// threads, and an operation now and then.
func quiet(args []string) error {
	f := newFlags("quiet", 60)
	live := f.Float64("live", .2, "live heap, as a share of the limit")
	threads := f.Int("threads", 10, "blocked threads")
	rate := f.Float64("rate", 0, "operations per second, 0.1 ms of CPU each")
	if err := f.Parse(args); err != nil {
		return err
	}
	if err := govern(nil); err != nil {
		return err
	}
	h := heap{seed: 1}
	h.grow(f.share(*live))
	release := make(chan struct{})
	var all sync.WaitGroup
	for range *threads {
		all.Go(func() {
			runtime.LockOSThread()
			<-release
		})
	}
	runtime.GC()
	time.Sleep(3 * time.Second)
	m := newMeter()
	began := m.read()
	ops := int64(0)
	for time.Since(began.at) < f.duration() {
		if *rate <= 0 {
			time.Sleep(f.duration() - time.Since(began.at))
			continue
		}
		spin(10)
		ops++
		time.Sleep(time.Until(began.at.Add(time.Duration(float64(ops) / *rate * float64(time.Second)))))
	}
	spent := cpuTime() - began.cpu
	close(release)
	all.Wait()
	runtime.KeepAlive(&h)
	printJSON(struct {
		Load  string  `json:"load"`
		Cores float64 `json:"cores"`
		Ops   int64   `json:"ops"`
		*watched
	}{"quiet", spent / f.seconds, ops, watch()})
	return nil
}
