// SPDX-License-Identifier: Apache-2.0

package goproc

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// SpinSummary holds what Ps did, on average. Every P that is not idle counts as busy, also one in
// a system call until the runtime takes it back. A spinning P is busy looking for work.
type SpinSummary struct {
	Samples int
	// Took is how long the sampling took.
	Took time.Duration
	// Busy and Spinning are mean numbers of Ps.
	Busy, Spinning float64
	// GOMAXPROCS is its value at the end.
	GOMAXPROCS int
	// Source says where the counters were read.
	Source string
}

// ErrNoCounters means that the runtime's counters of Ps cannot be read in this process.
var ErrNoCounters = errors.New("idle and spinning Ps are unknown")

// Spin samples the runtime's counters of idle and spinning Ps for duration, rate times per
// second (1000 is good), without stopping anything. A sample costs snug a few microseconds of
// CPU time and the process none. facts must come from [Look] at the same process.
//
// An error of the process, such as proc.ErrGone, or of ctx comes with the summary so far.
func Spin(ctx context.Context, p *proc.Process, facts *Facts, rate int, duration time.Duration) (SpinSummary, error) {
	if !facts.IdlePs.Known() || !facts.GOMAXPROCS.Known() || facts.image == nil {
		return SpinSummary{}, fmt.Errorf("pid %d: %w: %s", p.Pid(), ErrNoCounters, facts.IdlePs.Why)
	}
	if rate < 1 || rate > 10_000 || duration <= 0 {
		return SpinSummary{}, fmt.Errorf("bad sampling: %d samples a second for %v", rate, duration)
	}
	if err := p.Same(); err != nil {
		return SpinSummary{}, err
	}
	mem, err := p.Memory()
	if err != nil {
		return SpinSummary{}, err
	}
	entry, err := p.AuxEntry()
	if err != nil {
		return SpinSummary{}, err
	}
	r := &reader{mem: mem, image: facts.image, bias: entry - facts.image.Entry, pid: p.Pid()}
	s := SpinSummary{GOMAXPROCS: facts.GOMAXPROCS.N, Source: r.source(r.image.Vars.Spinning)}
	var busy, spinning int64
	begin := time.Now()
	next, step := begin, time.Second/time.Duration(rate)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for err == nil && time.Since(begin) < duration {
		select {
		case <-ctx.Done():
			err = ctx.Err()
			continue
		case <-timer.C:
		}
		var now Facts
		r.procs(&now)
		if n, spins, bad := r.spin(); bad != nil {
			err = bad
		} else if now.GOMAXPROCS.Known() && sanePs(n, spins, now.GOMAXPROCS) {
			s.GOMAXPROCS = now.GOMAXPROCS.N
			s.Samples++
			busy += int64(s.GOMAXPROCS) - int64(n)
			spinning += int64(spins)
		} // otherwise GOMAXPROCS is being changed
		// Skip missed samples: several in a row would see the same values.
		if next = next.Add(step); time.Until(next) < 0 {
			next = time.Now().Add(step)
		}
		timer.Reset(time.Until(next))
	}
	s.Took = time.Since(begin)
	if s.Samples > 0 {
		s.Busy, s.Spinning = float64(busy)/float64(s.Samples), float64(spinning)/float64(s.Samples)
	}
	if same := p.Same(); same != nil {
		err = same
	}
	return s, err
}
