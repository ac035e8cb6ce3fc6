// SPDX-License-Identifier: Apache-2.0

package exectrace

import (
	"bytes"
	"runtime"
	"runtime/trace"
	"sync"
	"testing"
	"time"
)

// recorded is a trace of this process, with its own figures of that time.
type recorded struct {
	data          []byte
	before, after runtime.MemStats
	procs         int
	wall          time.Duration
}

// record traces work.
func record(t testing.TB, work func()) *recorded {
	t.Helper()
	if trace.IsEnabled() {
		t.Skip("a trace is already being taken")
	}
	var b bytes.Buffer
	r := &recorded{procs: runtime.GOMAXPROCS(0)}
	runtime.GC() // so that none is under way
	if err := trace.Start(&b); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&r.before)
	began := time.Now()
	work()
	r.wall = time.Since(began)
	runtime.ReadMemStats(&r.after)
	trace.Stop()
	r.data = b.Bytes()
	return r
}

// busy allocates, starts goroutines, blocks and sleeps.
func busy() {
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			var keep [64][]byte
			for n := range 8000 {
				keep[n%64] = make([]byte, 16<<10)
				if n%500 == 0 {
					time.Sleep(time.Millisecond)
				}
			}
			runtime.KeepAlive(keep)
		})
	}
	c := make(chan int)
	for range 16 {
		wg.Go(func() {
			for range c {
			}
		})
	}
	for i := range 20000 {
		c <- i
	}
	close(c)
	wg.Wait()
}
