// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"time"
)

// pacer keeps work that takes CPU time from taking more than a share of one CPU for
// long: others on the node wait for it otherwise.
type pacer struct {
	share float64 // of one CPU, 0 to 1; 0 = there is no bound
	since time.Duration
	begun bool
	// For tests; nil = the process's own CPU time, and sleep.
	cpu   func() time.Duration
	sleep func(context.Context, time.Duration) error
}

// stint is how much CPU time may be taken at once: about a slice of the scheduler's, and
// far above what it costs to sleep.
const stint = 5 * time.Millisecond

// rest sleeps when it is time to. The error is ctx's.
func (p *pacer) rest(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.share <= 0 || p.share >= 1 {
		return nil
	}
	cpu, sleep := p.cpu, p.sleep
	if cpu == nil {
		cpu, sleep = cpuTime, pause
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
