// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"fmt"
	"runtime"
	"sync"
	"time"
)

// Probe says how long spinning threads were held back.
type Probe struct {
	Threads int     `json:"threads"` // spinning
	Procs   int     `json:"gomaxprocs"`
	Seconds float64 `json:"seconds"` // how long they spun
	Period  float64 `json:"period_seconds"`
	// Worst has a number for each whole period, counted from the start of the probe (the
	// kernel's own periods start elsewhere): the longest gap of any thread that touches
	// the period, in seconds; 0 if there was none.
	Worst []float64 `json:"worst_per_period"`
	// Gaps are all gaps of one thread: start, in seconds since the start of the probe,
	// and length.
	Gaps [][2]float64 `json:"gaps"`
	Max  float64      `json:"max"` // of all threads; 0 if there was none
}

const (
	// shortestGap is the shortest gap that counts. Interrupts and the runtime's own
	// preemption (every 10 ms) take some microseconds.
	shortestGap = time.Millisecond
	// probePeriod is the kernel's default period of a CPU quota.
	probePeriod = 100 * time.Millisecond
)

type gap struct{ start, length time.Duration }

// probe spins with n threads for d. n must not exceed GOMAXPROCS: further threads would
// wait for the Go scheduler, not for the kernel.
func probe(n int, d time.Duration) (Probe, error) {
	procs := runtime.GOMAXPROCS(0)
	if n == 0 {
		n = procs
	}
	if n < 0 || n > procs {
		return Probe{}, fmt.Errorf("%d spinning threads with GOMAXPROCS %d", n, procs)
	}
	gaps := make([][]gap, n)
	for i := range gaps {
		gaps[i] = make([]gap, 0, d/shortestGap+1) // never grows: no GC while spinning
	}
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range gaps {
		wg.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			gaps[i] = spin(begin, d, gaps[i])
		})
	}
	wg.Wait()
	return summarize(gaps, procs, time.Since(begin)), nil
}

// spin reads the clock until d after begin and appends the gaps between readings.
func spin(begin time.Time, d time.Duration, gaps []gap) []gap {
	last := time.Since(begin)
	for last < d {
		now := time.Since(begin)
		if now-last > shortestGap {
			gaps = append(gaps, gap{last, now - last})
		}
		last = now
	}
	return gaps
}

func summarize(gaps [][]gap, procs int, took time.Duration) Probe {
	p := Probe{
		Threads: len(gaps), Procs: procs, Seconds: took.Seconds(), Period: probePeriod.Seconds(),
		Worst: make([]float64, took/probePeriod), Gaps: [][2]float64{},
	}
	for i, thread := range gaps {
		for _, g := range thread {
			length := g.length.Seconds()
			p.Max = max(p.Max, length)
			last := int((g.start + g.length) / probePeriod)
			for n := int(g.start / probePeriod); n <= last && n < len(p.Worst); n++ {
				p.Worst[n] = max(p.Worst[n], length)
			}
			if i == 0 {
				p.Gaps = append(p.Gaps, [2]float64{g.start.Seconds(), length})
			}
		}
	}
	return p
}

// spinner is workload probe.
type spinner struct{ threads int }

func (s *spinner) prepare() error { return nil }

func (s *spinner) warm(d time.Duration) error {
	_, err := probe(s.threads, d)
	return err
}

func (s *spinner) measure(d time.Duration, r *record) error {
	p, err := probe(s.threads, d)
	r.probe = &p
	return err
}
