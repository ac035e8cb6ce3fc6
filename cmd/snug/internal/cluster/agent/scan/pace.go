// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"context"
	"time"

	"github.com/snug-go/snug/cmd/snug/internal/process/proc"
)

// pacer limits work to a share of one CPU, so that other programs on the node need not wait.
type pacer struct {
	share float64 // of one CPU, 0 to 1; 0 = no bound
	since time.Duration
	begun bool
	at    time.Time // when the CPU time was last read
	// For tests; nil = the process's own CPU time, and sleep.
	cpu   func() time.Duration
	sleep func(context.Context, time.Duration) error
}

// stint is the CPU time between two pauses: a few time slices of the scheduler, and far above
// the cost of a sleep.
const stint = 20 * time.Millisecond

// rest sleeps if a stint is used up. It returns the error of ctx.
func (p *pacer) rest(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.share <= 0 || p.share >= 1 {
		return nil
	}
	cpu, sleep := p.cpu, p.sleep
	if cpu == nil {
		now := time.Now() // costs less than the CPU time, which two Ps use up no faster than this
		if p.begun && now.Sub(p.at) < stint/2 {
			return nil
		}
		p.at, cpu, sleep = now, proc.CPUTime, pause
	}
	now := cpu()
	if !p.begun {
		p.begun, p.since = true, now
	}
	took := now - p.since
	if took < stint {
		return nil
	}
	err := sleep(ctx, time.Duration(float64(took)*(1/p.share-1)))
	p.since = cpu()
	return err
}

func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
