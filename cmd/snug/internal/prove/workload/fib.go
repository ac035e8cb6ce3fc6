// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"sync/atomic"
	"time"
)

// storm starts goroutines as fast as it can, each with very little work, and bounds how
// many are outstanding.
type storm struct{ limit int }

func (s *storm) prepare() error { return nil }

func (s *storm) warm(d time.Duration) error { return s.measure(d, &record{}) }

func (s *storm) measure(d time.Duration, r *record) error {
	permits := make(chan struct{}, s.limit)
	for begin := time.Now(); ; {
		for range 64 { // reading the clock is not free compared with fib(10)
			permits <- struct{}{}
			go func() {
				if fib(10) != 55 {
					panic("fib(10) is not 55")
				}
				<-permits
			}()
			r.ops++
		}
		if time.Since(begin) >= d {
			break
		}
	}
	for range s.limit { // all of them: no goroutine still holds one
		permits <- struct{}{}
	}
	return nil
}

// flood is the shape of GoMaxProcsBench (github.com/iFurySt/GoMaxProcsBench): goroutines
// without a bound. One goroutine starts them on one P while the others run them, so the
// result depends on the queue that builds up, and on the cost of its memory. It exists to
// show that.
type flood struct{ limit int }

const floodNote = "goroutines were started without a bound: this measures the queue of those not yet run, and its " +
	"memory, as much as GOMAXPROCS"

func (f *flood) prepare() error { return nil }

func (f *flood) warm(d time.Duration) error { return f.measure(d, &record{}) }

func (f *flood) measure(d time.Duration, r *record) error {
	var finished atomic.Int64
	var begun, backlog int64
	r.note = floodNote
	begin := time.Now()
	for time.Since(begin) < d {
		for range 64 {
			go func() {
				if fib(10) != 55 {
					panic("fib(10) is not 55")
				}
				finished.Add(1)
			}()
		}
		begun += 64
		backlog = max(backlog, begun-finished.Load())
		if backlog >= int64(f.limit) {
			r.note = fmt.Sprintf("%s; stopped before the window ended, at %d goroutines outstanding, to protect the machine",
				floodNote, f.limit)
			break
		}
	}
	r.counts = map[string]int64{"backlog_max": backlog, "backlog_end": begun - finished.Load()}
	for finished.Load() < begun {
		time.Sleep(time.Millisecond)
	}
	r.ops = begun
	return nil
}
