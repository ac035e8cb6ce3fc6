// SPDX-License-Identifier: Apache-2.0

package main

import (
	"math"
	"runtime"
	"time"

	"github.com/snug-go/snug/internal/law"
	"github.com/snug-go/snug/internal/sense"
	"github.com/snug-go/snug/limits"
)

// procsLaw is a small law for GOMAXPROCS. Where goroutines wait for Ps while the quota is not
// used up, all Ps are held, by system calls if by nothing else: it doubles them, as far as
// most times what there was, and keeps only what has raised the CPU used (or with wakeups the
// number of times that goroutines were woken) by a tenth. What did not is taken back, and
// tried again after a wait that doubles.
func procsLaw(wakeups bool) error {
	h, err := limits.Open(limits.Process{})
	if err != nil {
		return err
	}
	l, _ := h.Read(0)
	cores, ok := l.CPU.Cores.Get()
	if !ok {
		return nil
	}
	const (
		look        = 500 * time.Millisecond
		most        = 16
		used        = 0.9 // of the cores there are: more is all of it
		better      = 1.1
		first, last = 10, 160 // seconds
	)
	sensor := sense.New()
	base := runtime.GOMAXPROCS(0)
	go func() {
		var before law.CPU
		sensor.CPU(&before)
		at := time.Now()
		var rate float64     // before the try that is on
		tried, looks := 0, 0 // Ps before it; looks at it
		wait, next := first*time.Second, time.Now()
		for range time.Tick(look) {
			var now law.CPU
			sensor.CPU(&now)
			dt := time.Since(at).Seconds()
			cpu, waiting := (now.Used-before.Used)/dt, (now.GoWait-before.GoWait)/dt
			got := cpu
			if wakeups {
				got = (now.Wakeups - before.Wakeups) / dt
			}
			before, at = now, time.Now()
			n := runtime.GOMAXPROCS(0)
			switch {
			case tried > 0:
				if looks++; looks < 3 { // the first shows the change itself
					continue
				}
				if got >= better*rate {
					wait = first * time.Second
				} else {
					runtime.GOMAXPROCS(tried)
					next = time.Now().Add(wait)
					wait = min(2*wait, last*time.Second)
				}
				tried = 0
			case math.IsNaN(cpu) || cpu > used*cores || waiting < float64(n)/2 || n >= most*base || time.Now().Before(next):
				looks = 0
			default:
				if looks++; looks < 2 {
					continue
				}
				rate, tried, looks = got, n, 0
				runtime.GOMAXPROCS(min(2*n, most*base))
			}
		}
	}()
	return nil
}
